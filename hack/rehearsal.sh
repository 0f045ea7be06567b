#!/usr/bin/env bash
# Rehearses RELEASING.md: releases a version from a clean clone of this commit to the registry of the end-to-end tests, with signatures by a
# key of its own, verifies them, and then prepares the next version, and runs the end-to-end tests from the one to the other. These install
# each of the versions in every documented way, upgrade while an At becomes due, and try a downgrade.
# usage: rehearsal.sh FIRST NEXT [GO TEST FLAG...], with KUBECONFIG, E2E_REGISTRY, CONTAINER_TOOL, and the variables of test/e2e/doc.go
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

first=$1 next=$2
shift 2
: "${KUBECONFIG:?see test/e2e/doc.go}" "${E2E_REGISTRY:?see test/e2e/doc.go}" "${CONTAINER_TOOL:?see test/e2e/doc.go}"
# The variables of this make must not reach those of the clone.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL VERSION IMG BUNDLE_IMG CATALOG_IMG CHANNELS CREATED_AT SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clone=$work/podset-operator
variables=("IMAGE_BASE=$E2E_REGISTRY/podset-operator" "CONTAINER_TOOL=$CONTAINER_TOOL")
for variable in ARCHES PLUGIN_PLATFORMS; do
  if [ -n "${!variable-}" ]; then variables+=("$variable=${!variable}"); fi
done

step() { printf '=== %s (after %d s)\n' "$*" $SECONDS; }
run() { make --no-print-directory "$@" "${variables[@]}"; }

# prepare VERSION commits and tags a version as RELEASING.md says, with a section of the change log.
prepare() {
  step "prepare $1"
  make --no-print-directory set-version VERSION="$1"
  make --no-print-directory generate catalog crd-baseline
  grep -qF "## [$1]" CHANGELOG.md || sed -i "s/^## \[Unreleased\]/&\n\n## [$1]\n\nRehearsed./" CHANGELOG.md
  sed -i 's/^\*\*No version is released yet,\*\* so build/Build/' docs/install.md
  git add -A
  git diff --cached --quiet || git commit --quiet -m "chore: release v$1"
  git tag --annotate "v$1" --message "v$1"
  make --no-print-directory release-check
}

# verify runs the commands of RELEASING.md for users.
verify() {
  local identity=(--key "$work/cosign.pub" --insecure-ignore-tlog) digest type=slsaprovenance1 named
  cd dist/release
  # Provenance is attested to the images, which images.txt lists first, and an SBOM to those of one architecture.
  named=$(($(wc -l <images.txt) - $(find . -name 'manager-*.cdx.json' | wc -l)))
  sha256sum --check --quiet checksums.txt
  "$clone/bin/cosign" verify-blob "${identity[@]}" --bundle checksums.txt.sigstore.json checksums.txt
  "$clone/bin/cosign" verify-blob "${identity[@]}" --bundle images.txt.sigstore.json images.txt
  "$clone/bin/cosign" verify-blob-attestation "${identity[@]}" --type slsaprovenance1 --bundle checksums.txt.intoto.jsonl checksums.txt
  while read -r digest; do
    "$clone/bin/cosign" verify "${identity[@]}" "$digest" >/dev/null
    if ((named-- == 0)); then type=cyclonedx; fi
    "$clone/bin/cosign" verify-attestation "${identity[@]}" --type $type "$digest" >/dev/null
    echo "verified: $digest, $type"
  done <images.txt
  cd "$clone"
  bin/helm show chart "oci://$E2E_REGISTRY/charts/podset-operator" --version "$first"
}

step "clone $(git rev-parse --short HEAD)"
git clone --quiet --no-tags . "$clone"
mkdir "$clone/bin"
# Compiled tools, so that they are not compiled again. What is released is built in the clone.
for tool in controller-gen crd-ref-docs kustomize kubectl operator-sdk opm cosign cyclonedx-gomod helm; do
  if [ -e "bin/$tool" ]; then cp -L --preserve=timestamps "bin/$tool" "$clone/bin/" && touch "$clone/bin/$tool"; fi
done
cd "$clone"
git config user.name rehearsal
git config user.email rehearsal@example.com
prepare "$first"
step "build the files of $first"
run release-files
cat dist/release/checksums.txt
step "push the images and the chart of $first"
run docker-buildx bundle-build bundle-push catalog-build catalog-push chart-push
step "sign"
make --no-print-directory bin/cosign
(cd "$work" && COSIGN_PASSWORD='' "$clone/bin/cosign" generate-key-pair)
COSIGN_PASSWORD='' run release-sign COSIGN_KEY="$work/cosign.key"
step "verify"
verify
git checkout --quiet . # what the build of the images changed
prepare "$next"
step "install, upgrade from $first to $next, and downgrade"
hack/e2e.sh "$@"
step "rehearsed"
