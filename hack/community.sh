#!/usr/bin/env bash
# Writes the directory of this operator for a pull request to community-operators-prod: the bundle of $VERSION, release-config.yaml,
# ci.yaml, and, for the first version, the template of the file-based catalog. Then it validates what can be validated without the
# pipeline.
# usage: community.sh DIRECTORY, with $VERSION, $CHANNELS, $DEFAULT_CHANNEL, and $OPENSHIFT_CATALOGS
set -euo pipefail
cd "$(dirname "$0")/.."

name=podset-operator
version=${VERSION:?set VERSION}
operator=$1/operators/$name
release=$operator/$version
csv=bundle/manifests/$name.clusterserviceversion.yaml

die() { echo "community: $*" >&2; exit 1; }

grep -qx "  version: $version" "$csv" || die "bundle/ is not that of $version: run make set-version and make bundle, or check out v$version"
case $version in *-*) die "prereleases are only in the catalog of this repository" ;; esac
rm -rf "$operator"
mkdir -p "$release"
cp -r bundle/manifests bundle/metadata bundle/tests "$release/"

# The pipeline creates the channels in the template after it has published the first bundle, and adds each later version to them. So
# only the first version has a template, and it contains only the package.
template=$operator/catalog-templates/basic.yaml
if [ "$(hack/catalog.sh oldest "$DEFAULT_CHANNEL")" = "$version" ]; then
  mkdir -p "${template%/*}"
  {
    echo "schema: olm.template.basic"
    echo "entries:"
    sed -e '1s/^/- /' -e '2,$s/^/  /' catalog/$name/package.yaml
  } >"$template"
fi

{
  echo "catalog_templates:"
  echo "- template_name: basic.yaml"
  echo "  channels: [${CHANNELS//,/, }]"
  previous=$(sed -n 's/^  replaces: //p' "$csv")
  if [ -n "$previous" ]; then echo "  replaces: $previous"; fi
  range=$(sed -n "s/^    olm.skipRange: //p" "$csv")
  if [ -n "$range" ]; then echo "  skipRange: $range"; fi
} >"$release/release-config.yaml"

cat >"$operator/ci.yaml" <<END
fbc:
  enabled: true
  catalog_mapping:
  - template_name: basic.yaml
    catalog_names: [${OPENSHIFT_CATALOGS// /, }]
    type: olm.template.basic
END

bin/operator-sdk bundle validate "$release" --select-optional suite=operatorframework
bin/operator-sdk bundle validate "$release" --select-optional name=community
bin/opm validate catalog
echo "community: wrote $operator"
