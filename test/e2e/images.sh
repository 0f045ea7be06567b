#!/usr/bin/env bash
# Builds and pushes the images of the end-to-end tests: two versions of the operator, their bundles, and a catalog for each. The first
# catalog contains the older version, the second one both. The older version is the newest release, or this tree before the first
# release. Before the first release, the CRD of At in the newer version has one optional field and one column more. Three more bundles have
# the CRDs of the newer version with one change each: OLM v1 must reject the first two (a smaller maximum, another message of a rule), and
# accept the third (a larger maximum, one value more). The last catalog contains all versions.
# Every tag contains a digest of the content, so a node never runs an outdated image.
# usage: images.sh, with E2E_REGISTRY, ARCH, CONTAINER_TOOL, and optionally BUSYBOX_IMG in the environment
# The last lines of the output are the image names: KEY=VALUE.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

root=$PWD out=$PWD/bin/e2e base=${E2E_REGISTRY:?}/podset-operator
export ARCH CONTAINER_TOOL CHANNELS=stable,candidate DEFAULT_CHANNEL=stable CREATED_AT=2026-01-01T00:00:00Z OPENSHIFT_VERSIONS=v4.18
export BUSYBOX_IMG=${BUSYBOX_IMG-}
rm -rf "$out"
mkdir -p "$out"

# digest FILE... prints a short checksum of files and directories.
digest() { find "$@" -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-12; }

# push TAGGED DIRECTORY DOCKERFILE builds an image of a directory and pushes it.
push() {
  (cd "$2" && "$root/hack/image.sh" build "$1" "$3" "$ARCH" && "$root/hack/image.sh" push "$1")
}

# source_of VERSION prints the source directory of that version.
source_of() {
  if ! git rev-parse -q --verify "refs/tags/v$1" >/dev/null; then
    echo "$root"
    return
  fi
  mkdir -p "$out/src/bin"
  git archive "v$1" | tar -x -C "$out/src"
  cp -l bin/kustomize bin/operator-sdk bin/opm "$out/src/bin/" # built from this tree
  echo "$out/src"
}

# release NAME VERSION SOURCE builds and pushes the images of one version, and writes its bundle to $out/NAME.
release() {
  local name=$1 version=$2 source=$3
  echo "--- version $version, from ${source#"$root/"}"
  cd "$source"
  make --no-print-directory "bin/image/manager-$ARCH" VERSION="$version"
  IMG=$base:v$version-$(digest "bin/image/manager-$ARCH" Dockerfile LICENSE)
  export IMG VERSION=$version
  make --no-print-directory docker-build docker-push

  hack/bundle.sh config/manifests "$out/$name"
  if [ "$name" = new ] && [ "$source" = "$(source_of "$old")" ]; then extend "$out/$name"; fi
  BUNDLE_IMG=$base-bundle:v$version-$(digest "$out/$name/bundle" "$out/$name/bundle.Dockerfile")
  push "$BUNDLE_IMG" "$out/$name" bundle.Dockerfile
  cd "$root"
}

# catalog NAME adds the version that was just built to the catalog in $CATALOG, and pushes the catalog from $out/NAME.
catalog() {
  local channel
  cp catalog/podset-operator/package.yaml "$CATALOG/podset-operator/"
  bin/opm render "$out/$1/bundle" --output yaml --migrate-level bundle-object-to-csv-metadata --alpha-image-ref-template "$BUNDLE_IMG" \
    > "$CATALOG/podset-operator/v$VERSION.yaml"
  for channel in stable candidate; do hack/catalog.sh add "$channel" "$VERSION"; done
  bin/opm validate "$CATALOG"
  cp -r "$CATALOG" "$out/$1/catalog"
  CATALOG_IMG=$base-catalog:v$VERSION-$(digest "$CATALOG" catalog.Dockerfile)
  push "$CATALOG_IMG" "$out/$1" "$root/catalog.Dockerfile"
}

# extend adds an optional field and a column to the CRD of At in the bundle DIRECTORY.
extend() {
  local crd=$1/bundle/manifests/cnat.d2iq.com_ats.yaml
  sed -i -e 's/^  - additionalPrinterColumns:$/&\n    - {jsonPath: .spec.note, name: Note, priority: 1, type: string}/' \
    -e 's/^              activeDeadlineSeconds:$/              note: {maxLength: 64, type: string}\n&/' "$crd"
  [ "$(grep -c 'note' "$crd")" = 2 ]
}

# variant NAME FILE EXPRESSION writes the bundle of the newer version, with the next patch version and one file of it changed by sed, to
# $out/NAME.
variant() {
  local newer=$VERSION file=$out/$1/bundle/manifests/$2 csv=$out/$1/bundle/manifests/podset-operator.clusterserviceversion.yaml
  VERSION=$(awk -F. '{ print $1 "." $2 "." $3 + 1 }' <<<"$newer")
  echo "--- version $VERSION: $1"
  mkdir -p "$out/$1"
  cp -r "$out/new/bundle" "$out/new/bundle.Dockerfile" "$out/$1/"
  sed -i -e "s/^\(  name: podset-operator.v\).*$/\1$VERSION/" -e "s/^  version: .*$/  version: $VERSION/" "$csv"
  sed -i "$3" "$file"
  if cmp -s "$file" "$out/new/bundle/manifests/$2"; then
    echo "images.sh: $3 does not change $2" >&2
    return 1
  fi
  BUNDLE_IMG=$base-bundle:v$VERSION-$(digest "$out/$1/bundle" "$out/$1/bundle.Dockerfile")
  push "$BUNDLE_IMG" "$out/$1" bundle.Dockerfile
}

version=$(sed -n 's/^VERSION ?= //p' Makefile)
old=$(git tag --list 'v[0-9]*' --sort=-v:refname | grep -v -- - | head -n 1 | cut -c 2- || true)
old=${old:-$version}
new=$version
if [ "$new" = "$old" ]; then new=$(awk -F. '{ print $1 "." $2 + 1 ".0" }' <<<"$old"); fi

export CATALOG=$out/catalog
mkdir -p "$CATALOG/podset-operator"
names=
for name in old new maximum message wider; do
  case $name in
    old) release old "$old" "$(source_of "$old")" ;;
    new) release new "$new" "$root" ;;
    maximum) variant maximum app.example.com_podsets.yaml 's/maximum: 10$/maximum: 5/' ;;
    message) variant message cnat.d2iq.com_ats.yaml 's/must name at least one container/must list at least one container/' ;;
    wider) variant wider cnat.d2iq.com_ats.yaml 's/maxLength: 32768$/maxLength: 65536/; s/^                - DONE$/&\n                - LOST/' ;;
  esac
  catalog $name
  names+="$name.version=$VERSION
$name.manager=$IMG
$name.bundle=$BUNDLE_IMG
$name.catalog=$CATALOG_IMG
"
done
# The image of `helm test`: kubectl alone.
mkdir -p "$out/kubectl"
cp bin/kubectl "$out/kubectl/"
printf 'FROM scratch\nCOPY kubectl /bin/kubectl\n' >"$out/kubectl/Dockerfile"
KUBECTL_IMG=$base-kubectl:$(digest "$out/kubectl")
push "$KUBECTL_IMG" "$out/kubectl" Dockerfile
names+="kubectl=$KUBECTL_IMG
"
printf '%s' "$names"
