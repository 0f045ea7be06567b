#!/usr/bin/env bash
# The steps of a release that need more than one command. $VERSION is the version, and $REPOSITORY_URL the repository on GitHub.
# usage: release.sh check                    fails unless this commit is the release of $VERSION
#        release.sh files DIRECTORY ARCH...  collects the files of the release, and writes SBOMs and checksums
#        release.sh notes                    prints the notes of $VERSION: its section of CHANGELOG.md, with links that work elsewhere
#        release.sh sign DIRECTORY MANAGER IMAGE...
#          signs the files and the pushed images, and attests SBOMs and provenance
# Without $COSIGN_KEY, cosign signs keyless, with the identity of the workflow.
set -euo pipefail
export LC_ALL=C # files in a directory are listed in the same order on each machine
cd "$(dirname "$0")/.."

command=${1-}
shift || true

check() {
  local missing=() tag entry go
  tag=$(git tag --points-at HEAD --list "v$VERSION")
  [ -n "$tag" ] || missing+=("the tag v$VERSION on this commit")
  notes >/dev/null 2>&1 || missing+=("the changes of [$VERSION] in CHANGELOG.md")
  grep -qx "  version: $VERSION" bundle/manifests/podset-operator.clusterserviceversion.yaml || missing+=("the bundle of $VERSION")
  [ -f "catalog/podset-operator/v$VERSION.yaml" ] || missing+=("catalog/podset-operator/v$VERSION.yaml")
  while read -r entry; do
    git rev-parse -q --verify "refs/tags/$entry" >/dev/null || missing+=("the tag $entry: the catalog contains this version")
  done < <(sed -n 's/^- name: podset-operator\.//p' catalog/podset-operator/*.yaml | sort -u | grep -vFx "v$VERSION")
  released_go || missing+=("$go")
  if grep -q 'No version is released yet' docs/install.md; then missing+=("docs/install.md that does not say that no version is released"); fi
  # The workflow signs as its own repository, so the URLs in the files must be those of this repository.
  local actual=${GITHUB_SERVER_URL-}/${GITHUB_REPOSITORY-}
  [ "$actual" = / ] || [ "$actual" = "$REPOSITORY_URL" ] || missing+=("REPOSITORY_URL = $actual in hack/make/release.mk")
  if [ ${#missing[@]} -gt 0 ]; then
    printf 'release-check: missing: %s\n' "${missing[@]}" >&2
    return 1
  fi
}

# released_go fails if Go is not the toolchain of go.mod, or if that is not the newest patch. $go is the reason. Without a network, only the
# workflow fails.
released_go() {
  local toolchain newest
  toolchain=$(sed -n 's/^toolchain //p' go.mod)
  go="the toolchain of go.mod, ${toolchain:-which has none}: this is $(go env GOVERSION)"
  [ "$(go env GOVERSION)" = "$toolchain" ] || return
  newest=$(curl --silent --fail --location --max-time 30 'https://go.dev/dl/?mode=json' |
    sed -n "s/.*\"version\": \"\(${toolchain%.*}\.[0-9]*\)\".*/\1/p" | sort -Vu | tail -n 1) || true
  if [ -z "$newest" ] && [ -z "${GITHUB_ACTIONS-}" ]; then
    echo "release-check: go.dev does not answer, or no longer has ${toolchain%.*}: it is not known whether $toolchain is the newest patch" >&2
    return
  fi
  go="the newest patch of Go: run go get toolchain@${newest:-go...}"
  [ "$newest" = "$toolchain" ]
}

# notes prints the section of $VERSION in CHANGELOG.md. Its links lead to the files of the tag.
notes() {
  awk -v heading="## [$VERSION]" 'index($0, "## ") == 1 { inside = index($0, heading) == 1; next } inside' CHANGELOG.md |
    sed -E -e "s#\]\(([^):]+)\)#]($REPOSITORY_URL/blob/v$VERSION/\1)#g" -e '/./,$!d' | grep '' || {
    echo "release-notes: CHANGELOG.md has no section [$VERSION], or an empty one" >&2
    return 1
  }
}

files() { # DIRECTORY ARCH...
  local directory=$1 arch
  shift
  rm -rf "$directory"
  mkdir -p "$directory"
  cp dist/install.yaml dist/policy.yaml "dist/podset-operator-$VERSION.tgz" "$directory/"
  cp dist/plugin/*.tar.gz dist/plugin/*.cdx.json "$directory/"
  cp dist/plugin/.krew.yaml "$directory/at.yaml"
  for arch in "$@"; do
    bin/cyclonedx-gomod bin -json -std -noserial -notimestamp -version "v$VERSION" -output "$directory/manager-$arch.cdx.json" "bin/image/manager-$arch"
  done
  (cd "$directory" && sha256sum -- * >checksums.txt)
}

# provenance prints how the release was built, as a SLSA provenance predicate, version 1. Its IDs are URIs.
provenance() {
  local commit builder="$REPOSITORY_URL/blob/v$VERSION/RELEASING.md#sign-with-your-own-key" invocation
  invocation="urn:uuid:$(cat /proc/sys/kernel/random/uuid)"
  if [ -n "${GITHUB_WORKFLOW_REF-}" ]; then
    builder=$GITHUB_SERVER_URL/$GITHUB_WORKFLOW_REF
    invocation=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID/attempts/$GITHUB_RUN_ATTEMPT
  fi
  commit=$(git rev-parse HEAD)
  cat <<END
{
  "buildDefinition": {
    "buildType": "$REPOSITORY_URL/blob/v$VERSION/RELEASING.md",
    "externalParameters": {"version": "$VERSION"},
    "resolvedDependencies": [{"uri": "git+$REPOSITORY_URL@refs/tags/v$VERSION", "digest": {"gitCommit": "$commit"}}]
  },
  "runDetails": {
    "builder": {"id": "$builder"},
    "metadata": {"invocationId": "$invocation"}
  }
}
END
}

sign() { # DIRECTORY MANAGER IMAGE...; MANAGER-ARCH is the image for ARCH
  local directory=$1 manager=$2 image digest file name provenance=dist/provenance.json flags=(--yes)
  shift
  if [ -n "${COSIGN_KEY-}" ]; then # Signatures with a key need no certificate and no transparency log.
    bin/cosign signing-config create --out dist/signing-config.json
    flags+=(--key "$COSIGN_KEY" --signing-config dist/signing-config.json)
  fi
  rm -f "$directory/images.txt"
  provenance >$provenance
  # The attestation contains the provenance, under the name that OpenSSF Scorecard looks for. checksums.txt lists the other files, so it is also the provenance of these.
  bin/cosign attest-blob "${flags[@]}" --type slsaprovenance1 --predicate $provenance \
    --bundle "$directory/checksums.txt.intoto.jsonl" "$directory/checksums.txt"
  for image in "$@"; do
    # A tag can move, so the signature is that of the digest.
    digest=$(bin/cosign triangulate --type digest "$image")
    bin/cosign sign "${flags[@]}" --recursive "$digest"
    bin/cosign attest "${flags[@]}" --type slsaprovenance1 --predicate $provenance "$digest"
    printf '%s\n' "$digest" >>"$directory/images.txt"
  done
  # Each architecture has a program of its own, and so an image and an SBOM of its own.
  for file in "$directory"/manager-*.cdx.json; do
    name=$(basename "$file" .cdx.json)
    digest=$(bin/cosign triangulate --type digest "$manager-${name#*-}")
    bin/cosign attest "${flags[@]}" --type cyclonedx --predicate "$file" "$digest"
    printf '%s\n' "$digest" >>"$directory/images.txt"
  done
  for file in checksums.txt images.txt; do
    bin/cosign sign-blob "${flags[@]}" --bundle "$directory/$file.sigstore.json" "$directory/$file"
  done
}

case $command in
  check | files | notes | sign) "$command" "$@" ;;
  *) sed -n '3,8s/^# //p' "$0" >&2; exit 2 ;;
esac
