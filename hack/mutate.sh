#!/usr/bin/env bash
# Changes operators in the code of packages, one at a time, and reports the changes that neither the unit tests nor the simulation
# detect: see docs/testing.md.
# usage: mutate.sh DIRECTORY...
set -euo pipefail

root=$PWD
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | tar --null --create --files-from - | tar --extract --directory "$copy" # Gremlins copies the directory, and bin is large.
cd "$copy"
for directory in "$@"; do
  printf '\n== %s\n' "$directory"
  # Otherwise a test that fails anyway would kill every mutant.
  PATH=$root/hack/mutate:$PATH nice -n 10 go test "./$directory" || { echo "mutate: the tests fail without a mutant"; exit 1; }
  PATH=$root/hack/mutate:$PATH nice -n 10 "$root/bin/gremlins" unleash --workers 1 --invert-logical --timeout-coefficient 1000 --output-statuses lvt "./$directory"
done
