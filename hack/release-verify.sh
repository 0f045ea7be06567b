#!/usr/bin/env bash
# Builds every file of `make release-files` and every image of the release of HEAD twice, and compares the digests. The builds have empty
# build caches of their own. They differ in what depends on the machine: the directory, whose name has a space and quotes in the second
# build, the times of the source files, the umask, the time zone, and the locale.
# usage: release-verify.sh MAKE VARIABLE...   with $CONTAINER_TOOL, which is buildah or podman
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD commit=$(git rev-parse --short HEAD)
case ${CONTAINER_TOOL##*/} in
  buildah | podman) ;;
  *) echo "release-verify: set CONTAINER_TOOL to buildah or podman: docker does not set the time of the files in an image" >&2; exit 2 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build NAME DIRECTORY [TAR FLAG...] writes the digest of each artifact, built in DIRECTORY, to $work/NAME.
build() {
  local name=$1 directory=$2 arch image
  shift 2
  mkdir -p "$directory/bin"
  git archive "$commit" | tar -x --no-same-permissions -C "$directory" "$@"
  cp -p "$root/bin/kustomize" "$root/bin/cyclonedx-gomod" "$directory/bin/" # The tools are not artifacts.
  (
    cd "$directory"
    export GOCACHE=$work/cache-$name
    make --no-print-directory -o bin/kustomize -o bin/cyclonedx-gomod release-files "${variables[@]}" >&2
    find bin/image dist/release -type f -exec sha256sum {} + | LC_ALL=C sort -k 2
    for arch in $arches; do
      make --no-print-directory -o bin/kustomize docker-build ARCH="$arch" IMG="localhost/verify-$name:manager-$arch" >&2
      digest "localhost/verify-$name:manager-$arch" "manager-$arch"
    done
    for image in bundle catalog; do
      make --no-print-directory $image-build "${image^^}_IMG=localhost/verify-$name:$image" ARCH="${arches%% *}" >&2
      digest "localhost/verify-$name:$image" "$image"
    done
  ) >"$work/$name"
  rm -rf "$work/cache-$name"
}

# digest IMAGE NAME prints the digest that a push gives the image, and removes the image.
digest() {
  "$CONTAINER_TOOL" push --quiet --digestfile "$work/digest" "$1" "oci:$work/oci:image" >&2
  printf '%s  image %s\n' "$(cat "$work/digest")" "$2"
  "$CONTAINER_TOOL" rmi "$1" >/dev/null
  rm -rf "$work/oci"
}

variables=("$@")
arches=$(printf '%s\n' "$@" | sed -n 's/^ARCHES=//p')
build first "$work/a"
# en_US orders names as no program does, if it is installed. The user of an image needs the modes that the umask 077 removes.
(umask 077 && export TZ=Pacific/Chatham LC_ALL=en_US.UTF-8 && build second "$work/it's \"another\" directory" --touch)
cat "$work/second"
if ! diff "$work/first" "$work/second" >&2; then
  echo "release-verify: the two builds differ" >&2
  exit 1
fi
echo "release-verify: $(wc -l <"$work/first") artifacts of $commit are equal in both builds"
