#!/usr/bin/env bash
# The steps of a release that need more than one command. $VERSION is the version.
# usage: release.sh check                            fails unless this commit is the release of $VERSION
#        release.sh files DIRECTORY ARCH...          collects the files of the release, and writes SBOMs and checksums
#        release.sh sign DIRECTORY MANAGER IMAGE...  signs the files and the pushed images, and attests SBOMs and provenance
# Without $COSIGN_KEY, cosign signs keyless, with the identity of the workflow.
set -euo pipefail
cd "$(dirname "$0")/.."

command=${1-}
shift || true

check() {
  local missing=() tag entry
  tag=$(git tag --points-at HEAD --list "v$VERSION")
  [ -n "$tag" ] || missing+=("the tag v$VERSION on this commit")
  grep -qF "## [$VERSION]" CHANGELOG.md || missing+=("a section [$VERSION] in CHANGELOG.md")
  grep -qx "  version: $VERSION" bundle/manifests/podset-operator.clusterserviceversion.yaml || missing+=("the bundle of $VERSION")
  [ -f "catalog/podset-operator/v$VERSION.yaml" ] || missing+=("catalog/podset-operator/v$VERSION.yaml")
  while read -r entry; do
    git rev-parse -q --verify "refs/tags/$entry" >/dev/null || missing+=("the tag $entry: the catalog contains this version")
  done < <(sed -n 's/^- name: podset-operator\.//p' catalog/podset-operator/*.yaml | sort -u | grep -vFx "v$VERSION")
  if [ ${#missing[@]} -gt 0 ]; then
    printf 'release-check: missing: %s\n' "${missing[@]}" >&2
    return 1
  fi
}

files() { # DIRECTORY ARCH...
  local directory=$1 arch
  shift
  rm -rf "$directory"
  mkdir -p "$directory"
  cp dist/install.yaml dist/policy.yaml dist/plugin/*.tar.gz "$directory/"
  cp dist/plugin/.krew.yaml "$directory/at.yaml"
  for arch in "$@"; do
    go run ./hack/sbom podset-operator "v$VERSION" "bin/image/manager-$arch" >"$directory/manager-$arch.spdx.json"
  done
  (cd "$directory" && sha256sum -- * >checksums.txt)
}

# provenance prints how the release was built, as a SLSA provenance predicate, version 1.
provenance() {
  local repository=${GITHUB_SERVER_URL:-https://github.com}/${GITHUB_REPOSITORY:-redhat/podset-operator}
  cat <<END
{
  "buildDefinition": {
    "buildType": "$repository/blob/v$VERSION/RELEASING.md",
    "externalParameters": {"version": "$VERSION"},
    "resolvedDependencies": [{"uri": "git+$repository@refs/tags/v$VERSION", "digest": {"gitCommit": "$(git rev-parse HEAD)"}}]
  },
  "runDetails": {
    "builder": {"id": "${GITHUB_WORKFLOW_REF:-local}"},
    "metadata": {"invocationId": "${GITHUB_RUN_ID:-local}/${GITHUB_RUN_ATTEMPT:-1}"}
  }
}
END
}

sign() { # DIRECTORY MANAGER IMAGE...; MANAGER-ARCH is the image of the manager for ARCH
  local directory=$1 manager=$2 image digest flags=(--yes) sbom arch
  shift
  if [ -n "${COSIGN_KEY-}" ]; then # Signatures with a key need no certificate and no transparency log.
    bin/cosign signing-config create --out dist/signing-config.json
    flags+=(--key "$COSIGN_KEY" --signing-config dist/signing-config.json)
  fi
  rm -f "$directory/images.txt"
  bin/cosign sign-blob "${flags[@]}" --bundle "$directory/checksums.txt.sigstore.json" "$directory/checksums.txt"
  provenance >"$directory/provenance.json"
  for image in "$@"; do
    # A tag can move, so the signature is that of the digest.
    digest=$(bin/cosign triangulate --type digest "$image")
    bin/cosign sign "${flags[@]}" --recursive "$digest"
    bin/cosign attest "${flags[@]}" --type slsaprovenance1 --predicate "$directory/provenance.json" "$digest"
    printf '%s\n' "$digest" >>"$directory/images.txt"
  done
  # Each architecture has a program of its own, and so an image and an SBOM of its own.
  for sbom in "$directory"/manager-*.spdx.json; do
    arch=${sbom##*/manager-} arch=${arch%.spdx.json}
    digest=$(bin/cosign triangulate --type digest "$manager-$arch")
    bin/cosign attest "${flags[@]}" --type spdxjson --predicate "$sbom" "$digest"
    printf '%s\n' "$digest" >>"$directory/images.txt"
  done
}

case $command in
  check | files | sign) "$command" "$@" ;;
  *) sed -n '3,6s/^# //p' "$0" >&2; exit 2 ;;
esac
