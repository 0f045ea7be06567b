#!/usr/bin/env bash
# Lets the manager of a kustomization run only on nodes of the architectures for which its image was built here: bin/image/built has the
# image that was built last. With another image or another affinity, the kustomization stays as it is.
# usage: admit.sh DIRECTORY
set -euo pipefail

[ -f bin/image/built ] || exit 0
read -r image arches <bin/image/built
cd "$1"
kustomize=../../kustomize
"$kustomize" build | awk -v image="$image" '$1 == "image:" && $2 == image { found = 1 } END { exit !found }' || exit 0

arch=/spec/template/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions/1
cp kustomization.yaml before
"$kustomize" edit add patch --kind Deployment --patch \
  '[{"op":"test","path":"'$arch'/key","value":"kubernetes.io/arch"},{"op":"replace","path":"'$arch'/values","value":["'"${arches// /\",\"}"'"]}]'
"$kustomize" build >/dev/null 2>&1 || mv before kustomization.yaml
