#!/usr/bin/env bash
# Writes the directory of this operator for a pull request to community-operators-prod: the bundle of $VERSION, the template of the
# file-based catalog, ci.yaml, and release-config.yaml. Then it validates what can be validated without the pipeline.
# usage: community.sh DIRECTORY, with $VERSION, $CHANNELS, and $OPENSHIFT_CATALOGS
set -euo pipefail
cd "$(dirname "$0")/.."

name=podset-operator
version=${VERSION:?set VERSION}
operator=$1/operators/$name
release=$operator/$version
csv=bundle/manifests/$name.clusterserviceversion.yaml

die() { echo "community: $*" >&2; exit 1; }

grep -qx "  version: $version" "$csv" || die "bundle/ is not that of $version: run make set-version and make bundle, or check out v$version"
rm -rf "$operator"
mkdir -p "$release" "$operator/catalog-templates"
cp -r bundle/manifests bundle/metadata bundle/tests "$release/"

# The pipeline adds the new version to the channels of the template after it has published the bundle, as release-config.yaml says.
# So the template contains the older versions only.
{
  echo "schema: olm.template.basic"
  echo "entries:"
  sed -e '1s/^/- /' -e '2,$s/^/  /' catalog/$name/package.yaml
  for file in "catalog/$name"/v*.yaml; do
    [ "$file" != "catalog/$name/v$version.yaml" ] || continue
    printf -- '- schema: olm.bundle\n  %s\n' "$(grep -m1 '^image: ' "$file")"
  done
} >"$operator/catalog-templates/basic.yaml"

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
for file in "$operator/ci.yaml" "$release/release-config.yaml" "$operator/catalog-templates/basic.yaml"; do
  [ -s "$file" ] || die "$file is empty"
done
echo "community: wrote $operator"
