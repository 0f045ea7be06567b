#!/usr/bin/env bash
# Runs the make targets that generate files, and fails if one of them changes, adds, or removes a file.
# It compares the tree before and after, so uncommitted changes do not affect the result.
# usage: verify.sh TARGET...
set -euo pipefail

# snapshot prints a checksum and the name of each file that git tracks or would track.
snapshot() { git ls-files -z --cached --others --exclude-standard --deduplicate | xargs -0 sha256sum 2>/dev/null | sort -k 2 || true; }

before=$(snapshot)
for target in "$@"; do make --no-print-directory "$target"; done
after=$(snapshot)

if [ "$before" != "$after" ]; then
  echo
  echo "verify: these generated files were outdated and have been regenerated; add them to the commit:"
  diff <(echo "$before") <(echo "$after") | awk '/^[<>]/ { print "  " $3 }' | sort -u
  exit 1
fi
echo "verify: all generated files are up to date"
