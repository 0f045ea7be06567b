#!/usr/bin/env bash
# Writes the files of this operator for a pull request to community-operators-prod, or to community-operators: the bundle of $VERSION, release-config.yaml, and, if they
# do not exist, ci.yaml and the template of the file-based catalog. Then it validates what can be validated without the pipeline.
# It changes no file that exists: the pipeline adds versions to the template, people edit ci.yaml, and a published version is final.
# usage: community.sh DIRECTORY, with $VERSION, $CHANNELS, $OPENSHIFT_VERSIONS, and $OPENSHIFT_CATALOGS. DIRECTORY is a clone of
# one of them, in which the script finds the versions and the catalogs that exist, or another directory. community-operators has one catalog, latest.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

name=podset-operator
version=${VERSION:?set VERSION}
channel=${CHANNELS%%,*}
operator=$1/operators/$name
release=$operator/$version
csv=bundle/manifests/$name.clusterserviceversion.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

die() { echo "community: $*" >&2; exit 1; }

grep -qx "  version: $version" "$csv" || die "bundle/ is not that of $version: run make set-version and make bundle, or check out v$version"
case $version in *-*) die "prereleases are only in the catalog of this repository" ;; esac

# The other versions of the channel in DIRECTORY.
published=$(grep -lsE "channels: \[(.*, )?${channel}[],]" "$operator"/*/release-config.yaml | sed 's|/release-config.yaml||; s|.*/||' |
  grep -Fxv -- "$version" | sort -V || true)

# The pipeline appends a version to the channel. If the newest version does not replace all others, the channel has two heads.
newest=$({ hack/catalog.sh newest "$channel"; echo "$published"; echo "$version"; } | sort -V | tail -n 1)
[ "$newest" = "$version" ] ||
  die "the channel $channel has $newest, which is newer than $version and cannot replace it: release a version newer than $newest"

{
  echo "catalog_templates:"
  echo "- template_name: basic.yaml"
  echo "  channels: [${CHANNELS//,/, }]"
  if [ -n "$published" ]; then
    echo "  replaces: $name.v$(tail -n 1 <<<"$published")"
  else
    grep '^  replaces: ' "$csv" || true
  fi
  sed -n 's/^    olm.skipRange: /  skipRange: /p' "$csv"
} >"$work/release-config.yaml"
cp -r bundle/manifests bundle/metadata bundle/tests "$work/"
if [ -e "$release" ]; then
  diff -r "$release" "$work" >&2 || die "$release differs: a published version is final; if this one is not published, remove it first"
fi
mkdir -p "$release"
cp -r "$work/." "$release/"

# The pipeline creates the channels in the template after it has published the first bundle, and adds each later version to them. So
# only the first version has a template, and it contains only the package.
template=$operator/catalog-templates/basic.yaml
if [ ! -e "$template" ] && { [ -d "$1/catalogs" ] || [ "$(hack/catalog.sh oldest "$channel")" = "$version" ]; }; then
  mkdir -p "${template%/*}"
  {
    echo "schema: olm.template.basic"
    echo "entries:"
    sed -e '1s/^/- /' -e '2,$s/^/  /' catalog/$name/package.yaml
  } >"$template"
fi

if [ -d "$1/catalogs/latest" ]; then
  OPENSHIFT_CATALOGS=latest
elif [ -d "$1/catalogs" ]; then
  # $OPENSHIFT_VERSIONS is the first version, or a range.
  last=${OPENSHIFT_VERSIONS#*-}
  if [ "$last" = "$OPENSHIFT_VERSIONS" ]; then last=v999; fi
  OPENSHIFT_CATALOGS=$(for catalog in "$1"/catalogs/v*; do
    if printf '%s\n' "${OPENSHIFT_VERSIONS%%-*}" "${catalog##*/}" "$last" | sort -CV; then echo "${catalog##*/}"; fi
  done | sort -V | xargs)
fi
if [ ! -e "$operator/ci.yaml" ]; then
  cat >"$operator/ci.yaml" <<END
fbc:
  enabled: true
  version_promotion_strategy: never # to another version of OpenShift: see com.redhat.openshift.versions
  catalog_mapping:
  - template_name: basic.yaml
    catalog_names: [${OPENSHIFT_CATALOGS// /, }]
    type: olm.template.basic
END
fi
for catalog in $OPENSHIFT_CATALOGS; do
  grep -qw -- "$catalog" "$operator/ci.yaml" || echo "community: $operator/ci.yaml does not name the catalog $catalog" >&2
done

grep -q '^reviewers:' "$operator/ci.yaml" || echo "community: $operator/ci.yaml has no reviewers: add the GitHub names of those who may approve later versions" >&2
if grep -q 'noreply' "$csv"; then echo "community: the address of the maintainers in $csv is not read: see RELEASING.md" >&2; fi

bin/operator-sdk bundle validate "$release" --select-optional suite=operatorframework
bin/operator-sdk bundle validate "$release" --select-optional name=community
bin/opm validate catalog
echo "community: wrote $operator"
