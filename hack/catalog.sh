#!/usr/bin/env bash
# Reads and updates the versions of a channel. podset-operator/CHANNEL.yaml in $CATALOG lists them from the oldest to the newest.
# usage: catalog.sh previous CHANNEL VERSION   the newest version in CHANNEL that is older than VERSION, if any
#        catalog.sh oldest CHANNEL             the oldest version in CHANNEL
#        catalog.sh newest CHANNEL             the newest version in CHANNEL
#        catalog.sh add CHANNEL VERSION        adds VERSION to CHANNEL, and changes nothing else; safe to repeat
set -euo pipefail
export LC_ALL=C

cd "$(dirname "$0")/.."
command=$1 file=${CATALOG:-catalog}/podset-operator/$2.yaml version=${3-}

# ordered sorts a prerelease before its release, as semantic versioning does.
listed() { if [ -f "$file" ]; then sed -n 's/^- name: podset-operator\.v//p' "$file"; fi; }
ordered() { sed 's/-/~/' | sort -Vu | sed 's/~/-/'; }
previous() { { listed; echo "$1"; } | ordered | grep -Fxm1 -B1 -- "$1" | grep -Fxv -- "$1" || true; }
next() { { listed; echo "$1"; } | ordered | grep -Fxm1 -A1 -- "$1" | grep -Fxv -- "$1" || true; }

# entry VERSION PREVIOUS prints the entry of VERSION, without what it replaces if PREVIOUS is empty.
entry() {
  printf -- '- name: podset-operator.v%s\n' "$1"
  if [ -n "$2" ]; then replaces "$1" "$2"; fi
}
replaces() { printf "  replaces: podset-operator.v%s\n  skipRange: '>=%s <%s'\n" "$2" "$({ listed; echo "$2"; } | ordered | head -n 1)" "$1"; }

# add keeps the other entries as they are. The next newer version replaces the new one, so the channel has one head.
add() {
  local newer
  if [ ! -f "$file" ]; then
    printf -- 'schema: olm.channel\npackage: podset-operator\nname: %s\nentries:\n' "$(basename "$file" .yaml)" >"$file"
  fi
  if listed | grep -Fxq -- "$version"; then return; fi
  newer=$(next "$version")
  added="$(entry "$version" "$(previous "$version")")" replaced="$(replaces "$newer" "$version")" \
    awk -v newer="- name: podset-operator.v$newer" '
      /^- / { inside = $0 == newer }
      inside && $0 == newer { print ENVIRON["added"]; print; print ENVIRON["replaced"]; next }
      inside && /^  (replaces|skipRange):/ { next }
      { print }
      END { if (newer == "- name: podset-operator.v") print ENVIRON["added"] }' "$file" >"$file.new"
  mv "$file.new" "$file"
}

case $command in
  previous) previous "$version" ;;
  oldest) listed | ordered | head -n 1 ;;
  newest) listed | ordered | tail -n 1 ;;
  add) add ;;
  *) sed -n '3,6s/^# //p' "$0" >&2; exit 2 ;;
esac
