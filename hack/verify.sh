#!/usr/bin/env bash
# Runs the make targets that generate files, and fails if one of them changes, adds, or removes a file.
# It compares the tree before and after, so uncommitted changes do not affect the result.
# usage: verify.sh TARGET...
set -euo pipefail

files=$(mktemp)
trap 'rm -f "$files"' EXIT

# snapshot prints a checksum and the name of each file that git tracks or would track. A file that was removed has no checksum.
snapshot() {
  git ls-files -z --cached --others --exclude-standard --deduplicate >"$files" || return
  { xargs -0 sha256sum <"$files" 2>/dev/null || true; } | sort -k 2
}

before=$(snapshot)
[ -n "$before" ] || { echo "verify: there is no file to verify"; exit 1; }
for target in "$@"; do make --no-print-directory "$target"; done
after=$(snapshot)

if [ "$before" != "$after" ]; then
  echo
  echo "verify: these generated files were outdated and have been regenerated; add them to the commit:"
  diff <(echo "$before") <(echo "$after") | awk '/^[<>]/ { print "  " $3 }' | sort -u
  exit 1
fi
echo "verify: all generated files are up to date"
