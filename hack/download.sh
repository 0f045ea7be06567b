#!/usr/bin/env bash
# Downloads a program that its project has released, and verifies its checksum. Compiling these programs takes minutes.
# usage: download.sh OUTPUT NAME URL[|MEMBER]   MEMBER is the path of the program in an archive
#
# URL.sha256 has the checksum, or else the file SHA256SUMS next to it. It comes from the same server, over HTTPS. So it finds a damaged
# file, and it does not protect from a compromised server. To compile instead, run `make DOWNLOAD= ...`.
# The exit code is 1 if there is no such file, if the server cannot be reached or sends less than 10 KB/s for 30 seconds,
# or if the checksum is wrong. Then make compiles the program.
set -euo pipefail

output=$1 name=$2 url=${3%%|*} member=
case $3 in *'|'*) member=${3#*|} ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fetch() {
  curl --silent --fail --location --connect-timeout 5 --speed-limit 10000 --speed-time 30 --output "$2" "$1"
}

# expected prints the published checksum. curl returns 22 if the server answers that it has no such file. If the server cannot be
# reached, it is not asked again.
expected() {
  local status=0
  fetch "$url.sha256" "$work/sum" || status=$?
  if [ "$status" = 0 ]; then
    cut -d ' ' -f 1 <"$work/sum"
  elif [ "$status" = 22 ] && fetch "${url%/*}/SHA256SUMS" "$work/sums"; then
    awk -v file="${url##*/}" '$2 == file || $2 == "*" file { print $1 }' "$work/sums"
  fi
}

command -v curl >/dev/null || exit 1
sum=$(expected)
if ! [[ $sum =~ ^[0-9a-f]{64}$ ]] || ! fetch "$url" "$work/file"; then exit 1; fi
if [ "$(sha256sum <"$work/file" | cut -d ' ' -f 1)" != "$sum" ]; then
  echo "download.sh: the checksum of $url is wrong: $name is compiled instead" >&2
  exit 1
fi
if [ -n "$member" ]; then
  tar -xzf "$work/file" -C "$work" "$member"
  mv "$work/$member" "$work/file"
fi
mkdir -p "$(dirname "$output")"
install -m 755 "$work/file" "$output"
echo "downloaded $name"
