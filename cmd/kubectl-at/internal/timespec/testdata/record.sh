#!/usr/bin/env bash
# Records what at(1) answers to the words in at.tsv. To add words, add a line with zone, time, and words. It needs Debian's packages at and
# faketime, and root for at's spool directory, from which it removes its jobs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# The time of a setuid program cannot be faked, so at is copied.
copy=$(mktemp -d)
trap 'rm -r "$copy"' EXIT
cp "$(command -v at)" "$copy/at"

# answer ZONE TIME WORD... prints the time that at(1) understands, or - if it understands none. faketime's time stands still.
answer() {
  local zone=$1 now job
  now=$(date -d "$2" +%s)
  shift 2
  job=$(TZ=$zone FAKETIME_FMT=%s faketime -f "$now" "$copy/at" -f /dev/null "$@" 2>&1 | sed -n 's/^job \([0-9]*\) at .*/\1/p') || true
  [ -n "$job" ] || { echo - && return; }
  date -u -d "@$(atq -o %s | awk -v job="$job" '$1 == job { print $2 }')" +%Y-%m-%dT%H:%M:%SZ
  atrm "$job"
}

while IFS= read -r line; do
  case $line in
    '# What at(1)'*) echo "# What at(1) of Debian, version $(dpkg-query -f '${Version}' -W at), answers: record.sh records it." ;;
    '#'*) echo "$line" ;;
    *)
      IFS=$'\t' read -r zone now words _ rest <<<"$line"
      # shellcheck disable=SC2086 # Each word is an argument.
      printf '%s\t%s\t%s\t%s%s\n' "$zone" "$now" "$words" "$(answer "$zone" "$now" $words)" "${rest:+$'\t'$rest}" ;;
  esac
done <at.tsv >"$copy/at.tsv"
cp "$copy/at.tsv" at.tsv
