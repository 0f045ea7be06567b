#!/usr/bin/env bash
# Builds one Go program and prints its progress, because compiling Kubernetes for the first time takes minutes.
# usage: build.sh OUTPUT DIRECTORY PACKAGE [GO BUILD FLAG...]
set -euo pipefail

name=$1 output=$PWD/$1 directory=$2 package=$3
shift 3

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# progress counts the lines of `go build -v`, which prints one line for each downloaded module and each compiled package. On a
# terminal, it rewrites its line at most every second. Otherwise it prints a line at most every minute.
progress() {
  local every=60 end='\n' modules=0 packages=0 next line
  if [ -t 1 ]; then every=1 end='\r'; fi
  next=$every
  while read -r line; do
    case $line in
      "go: downloading "*) modules=$((modules + 1)) ;;
      *) packages=$((packages + 1)) ;;
    esac
    if [ "$SECONDS" -ge "$next" ]; then
      printf "building %s: %d s, %d modules downloaded, %d packages compiled$end" "$name" $SECONDS $modules $packages
      next=$((SECONDS + every))
    fi
  done
  if [ -t 1 ]; then printf '\033[K'; fi
}

if ! (cd "$directory" && CGO_ENABLED=0 go build -v -mod=readonly "$@" -o "$output" "$package") 2>&1 | tee "$log" | progress; then
  grep -v '^go: downloading ' "$log" >&2
  exit 1
fi
printf 'built %s in %d s\n' "$name" $SECONDS
