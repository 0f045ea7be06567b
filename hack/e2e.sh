#!/usr/bin/env bash
# Runs the end-to-end tests on the cluster in KUBECONFIG, or else on the lab in ../shared/lab if it exists: see test/e2e/doc.go.
# usage: e2e.sh [GO TEST FLAG...]; with E2E=optional it prints one line and succeeds if there is no cluster
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lab=$PWD/../shared/lab/lab

# missing REASON prints the reason and ends the script.
missing() {
  if [ "${E2E-}" = optional ]; then
    echo "e2e: skipped: $1"
    exit 0
  fi
  cat >&2 <<END
e2e: $1.
The end-to-end tests need a Kubernetes cluster with Operator Lifecycle Manager and without the operator, and a registry from
which the cluster can pull:
    KUBECONFIG=... E2E_REGISTRY=registry.example.com/me CONTAINER_TOOL=docker make test-e2e
See test/e2e/doc.go.
END
  exit 1
}

# any STATE reports whether a program of the lab is up, or down. With -q, grep would end before the lab has printed everything, and the
# pipe would fail.
any() { "$lab" status | grep " $1\$" >/dev/null; }

# start_lab starts the lab unless it is running, installs OLM, and sets the environment. At the end, it stops the lab if it started it.
start_lab() {
  [ "$(id -u)" = 0 ] || missing 'no cluster: KUBECONFIG is not set, and the lab needs root'
  command -v apt-get >/dev/null || missing 'no cluster: KUBECONFIG is not set, and the lab needs Debian'
  if any down; then trap '"$lab" down' EXIT; fi
  for _ in 1 2 3; do # A kubelet that starts before containerd is ready ends at once.
    "$lab" up
    if ! any down; then break; fi
  done
  if any down; then
    echo 'e2e: the lab does not start:' >&2
    "$lab" status >&2
    exit 1
  fi
  eval "$("$lab" env)"
  if ! kubectl get crd subscriptions.operators.coreos.com >/dev/null 2>&1; then "$lab" olm; fi
  if [ -n "${OLMV1-}" ]; then "$lab" build-olmv1 "$OLMV1"; fi # The tests allow less time than it takes to compile it.
  kubectl -n olm rollout status deployment/olm-operator deployment/catalog-operator --timeout 120s
  # While it is unavailable, no namespace can be deleted.
  kubectl wait --for=condition=Available apiservice/v1.packages.operators.coreos.com --timeout 120s
  export CONTAINER_TOOL=buildah E2E_REGISTRY=${E2E_REGISTRY:-$LAB_REGISTRY/redhat} E2E_INDEX_IMAGE=$LAB_INDEX_IMAGE
  export E2E_JUDGE_COUNTER=10.13.0.1:7070 # the bridge of the pods
  export E2E_OLMV1_INSTALL="$lab olmv1 ${OLMV1-}"
  export E2E_SCORECARD_UNTAR_IMAGE=quay.io/operator-framework/scorecard-untar:lab
  export E2E_SCORECARD_STORAGE_IMAGE=quay.io/operator-framework/scorecard-storage:lab
}

if [ -n "${KUBECONFIG-}" ]; then
  [ -n "${E2E_REGISTRY-}" ] || missing 'E2E_REGISTRY is not set: the images need a registry'
  [ -n "${CONTAINER_TOOL-}" ] || missing 'CONTAINER_TOOL is not set: the images need a tool to build them'
elif [ -x "$lab" ]; then
  start_lab
else
  missing 'no cluster: KUBECONFIG is not set'
fi

ARCH=${ARCH:-$(go env GOARCH)}
export ARCH
# The tests remove what they have created.
export DELETE_OBJECTS=yes
# The variables of this make must not reach the make commands below and in the tests.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL VERSION IMG BUNDLE_IMG CATALOG_IMG
make --no-print-directory bin/kubectl bin/kustomize bin/operator-sdk bin/opm plugin
go test -tags e2e -count 1 -timeout 40m "$@" ./test/e2e
