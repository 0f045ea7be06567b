#!/usr/bin/env bash
# Builds and pushes images with docker, podman, or buildah ($CONTAINER_TOOL). The images are FROM scratch and run no commands
# during the build, so any machine can build them for any architecture without a network.
# With $SOURCE_DATE_EPOCH, buildah and podman give all files and the image that time, so the same content has the same digest.
# usage: image.sh build IMAGE DOCKERFILE ARCH [BUILD ARG...]
#        image.sh push IMAGE
#        image.sh manifest IMAGE ARCH...   pushes IMAGE-ARCH for each ARCH, then IMAGE as their manifest list
set -euo pipefail

tool=${CONTAINER_TOOL:?set CONTAINER_TOOL to docker, podman, or buildah} command=$1 image=$2
shift 2

# stage DOCKERFILE ARCH copies what DOCKERFILE copies to $stage, with modes that do not depend on the umask: the user of an image is not
# the user who builds it.
stage() {
  local source
  stage=$(mktemp -d)
  trap 'rm -rf "$stage"' EXIT
  while read -r source; do
    mkdir -p "$stage/$(dirname "$source")"
    cp -R "$source" "$stage/$source"
  done < <(sed -n "s/\${TARGETARCH}/$2/; s/^COPY \(.*\) [^ ]*\$/\1/p" "$1")
  chmod -R u=rwX,go=rX "$stage"
}

build() { # DOCKERFILE ARCH [BUILD ARG...]
  local dockerfile=$1 arch=$2 flags=() arg
  shift 2
  stage "$dockerfile" "$arch"
  for arg in "TARGETARCH=$arch" "$@"; do flags+=(--build-arg "$arg"); done
  if [ "$tool" != docker ] && [ -n "${SOURCE_DATE_EPOCH-}" ]; then flags+=(--timestamp "$SOURCE_DATE_EPOCH"); fi
  # With attestations, an image of docker is a manifest list, and a manifest list cannot contain another one.
  BUILDX_NO_DEFAULT_ATTESTATIONS=1 "$tool" build --platform "linux/$arch" "${flags[@]}" -f "$dockerfile" -t "$image" "$stage"
}

manifest() { # ARCH...
  local arch
  for arch in "$@"; do "$tool" push "$image-$arch"; done
  if [ "$tool" = docker ]; then
    docker manifest rm "$image" >/dev/null 2>&1 || true
    docker manifest create "$image" "${@/#/$image-}"
    docker manifest push --purge "$image"
    return
  fi
  "$tool" manifest rm "$image" >/dev/null 2>&1 || "$tool" rmi "$image" >/dev/null 2>&1 || true
  "$tool" manifest create "$image"
  for arch in "$@"; do "$tool" manifest add "$image" "docker://$image-$arch"; done
  "$tool" manifest push --all "$image" "docker://$image"
}

case $command in
  build) build "$@" ;;
  push) "$tool" push "$image" ;;
  manifest) manifest "$@" ;;
  *) sed -n '5,7s/^# //p' "$0" >&2; exit 2 ;;
esac
