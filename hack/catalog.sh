#!/usr/bin/env bash
# Reads and updates the versions of a channel. podset-operator/CHANNEL.yaml in $CATALOG lists them from the oldest to the newest.
# usage: catalog.sh previous CHANNEL VERSION   the newest version in CHANNEL that is older than VERSION, if any
#        catalog.sh oldest CHANNEL             the oldest version in CHANNEL
#        catalog.sh add CHANNEL VERSION        adds VERSION to CHANNEL; safe to repeat
set -euo pipefail

cd "$(dirname "$0")/.."
command=$1 file=${CATALOG:-catalog}/podset-operator/$2.yaml version=${3-}

# ordered sorts a prerelease before its release, as semantic versioning does.
listed() { if [ -f "$file" ]; then sed -n 's/^- name: podset-operator\.v//p' "$file"; fi; }
ordered() { sed 's/-/~/' | sort -Vu | sed 's/~/-/'; }
previous() { { listed; echo "$1"; } | ordered | grep -Fxm1 -B1 -- "$1" | grep -Fxv -- "$1" || true; }

case $command in
  previous) previous "$version" ;;
  oldest) listed | ordered | head -n 1 ;;
  add)
    all=$({ listed; echo "$version"; } | ordered)
    oldest=$(head -n 1 <<<"$all")
    {
      printf -- 'schema: olm.channel\npackage: podset-operator\nname: %s\nentries:\n' "$(basename "$file" .yaml)"
      replaces=
      for v in $all; do
        printf -- '- name: podset-operator.v%s\n' "$v"
        if [ -n "$replaces" ]; then
          printf "  replaces: podset-operator.v%s\n  skipRange: '>=%s <%s'\n" "$replaces" "$oldest" "$v"
        fi
        replaces=$v
      done
    } > "$file.new"
    mv "$file.new" "$file"
    ;;
  *) sed -n '2,5s/^# //p' "$0" >&2; exit 2 ;;
esac
