#!/usr/bin/env bash
# Builds the kubectl plugin of $VERSION for each platform, and writes an archive and an SBOM for each, checksums.txt, and .krew.yaml.
# The same commit always produces the same files.
# usage: plugin-release.sh DIRECTORY OS/ARCH..., with $VERSION, $LDFLAGS, and $REPOSITORY_URL
set -euo pipefail

directory=$1
shift
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

rm -rf "$directory"
mkdir -p "$directory"
sed "s/@VERSION@/$VERSION/; s|@URL@|$REPOSITORY_URL|; /^#/d" hack/krew.yaml >"$directory/.krew.yaml"

for platform in "$@"; do
  os=${platform%/*} arch=${platform#*/} program=kubectl-at
  if [ "$os" = windows ]; then program=kubectl-at.exe; fi
  archive=kubectl-at_v${VERSION}_${os}_$arch.tar.gz
  rm -rf "${stage:?}"/*
  CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=false -ldflags "$LDFLAGS" -o "$stage/$program" ./cmd/kubectl-at
  bin/cyclonedx-gomod bin -json -std -noserial -notimestamp -version "v$VERSION" -output "$directory/${archive%.tar.gz}.cdx.json" "$stage/$program"
  install -m 755 cmd/kubectl-at/kubectl_complete-at "$stage/"
  install -m 644 LICENSE "$stage/"
  tar --sort=name --mode=u=rwX,go=rX --owner=0 --group=0 --numeric-owner --mtime=@0 -C "$stage" -c "$program" kubectl_complete-at LICENSE | gzip -n >"$directory/$archive"
  sum=$(sha256sum "$directory/$archive" | cut -d ' ' -f 1)
  printf '%s  %s\n' "$sum" "$archive" >>"$directory/checksums.txt"
  cat >>"$directory/.krew.yaml" <<END
    - selector:
        matchLabels:
          os: $os
          arch: $arch
      uri: $REPOSITORY_URL/releases/download/v$VERSION/$archive
      sha256: $sum
      bin: $program
END
  echo "built $directory/$archive"
done
