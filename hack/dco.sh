#!/usr/bin/env bash
# Fails if a commit lacks the sign-off of its author: see CONTRIBUTING.md.
# usage: dco.sh BASE HEAD   checks the commits of HEAD that BASE does not have
set -euo pipefail

commits=$(git rev-list --no-merges "$1..$2")
missing=0
for commit in $commits; do
  author=$(git show -s --format='%an <%ae>' "$commit")
  if ! git show -s --format='%(trailers:key=Signed-off-by,valueonly)' "$commit" | grep -xF -- "$author" >/dev/null; then
    echo "no sign-off of $author: $(git show -s --format='%h %s' "$commit")"
    missing=1
  fi
done
exit $missing
