#!/usr/bin/env bash
# Deletes the objects of a kustomization from the current cluster. If it contains the CRDs and PodSets or Ats exist, the script only lists
# them and fails, because they would be deleted as well. With DELETE_OBJECTS=yes, it deletes them.
# usage: undeploy.sh KUSTOMIZATION, with $KUBECTL
set -euo pipefail

# shellcheck disable=SC2153 # make sets it.
read -ra kubectl <<<"$KUBECTL"
manifests=$(bin/kustomize build "$1")
for crd in podsets.app.example.com ats.cnat.d2iq.com; do
  if [ "${DELETE_OBJECTS-}" = yes ] || ! grep -qx "  name: $crd" <<<"$manifests" || [ -z "$("${kubectl[@]}" get crd $crd --ignore-not-found -o name)" ]; then
    continue
  fi
  objects=$("${kubectl[@]}" get $crd --all-namespaces --no-headers)
  if [ -n "$objects" ]; then
    echo "$objects"
    echo "undeploy: these objects exist in the cluster, and would be deleted with the CRD $crd: see docs/uninstall.md. DELETE_OBJECTS=yes deletes them" >&2
    exit 1
  fi
done
"${kubectl[@]}" delete --ignore-not-found -f - <<<"$manifests"
