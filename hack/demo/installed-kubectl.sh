#!/usr/bin/env bash
# Succeeds if the installed kubectl works with the cluster of the demo: it may be one minor version older or newer.
# usage: installed-kubectl.sh MINOR   the minor version of the cluster
set -euo pipefail

minor=$(kubectl version --client -o json 2>/dev/null | sed -n 's/^ *"minor": "\([0-9]*\).*/\1/p' | head -n 1)
[ -n "$minor" ] && [ "$minor" -ge $(($1 - 1)) ] && [ "$minor" -le $(($1 + 1)) ]
