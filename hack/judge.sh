#!/usr/bin/env bash
# Installs the operator of this tree, with two replicas, on the cluster in KUBECONFIG, or else on the lab in ../shared/lab, and runs the
# judge there: see docs/testing.md. With DEFECT=NAME, the operator has the defect test/judge/defects/NAME.patch. With SKEW=SECONDS, the clock
# of each manager is wrong by up to that time, forward or back.
# usage: judge.sh [JUDGE FLAG...], with CONTAINER_TOOL and E2E_REGISTRY in the environment if KUBECONFIG is set
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lab=${LAB:-$PWD/../shared/lab/lab} flags=() out=$PWD/bin/judge source=$PWD
ARCH=${ARCH:-$(go env GOARCH)}
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL VERSION IMG

if [ -z "${KUBECONFIG-}" ]; then
  [ -x "$lab" ] || { echo 'judge: set KUBECONFIG, E2E_REGISTRY, and CONTAINER_TOOL: see test/e2e/doc.go' >&2; exit 1; }
  for _ in 1 2 3; do # A kubelet that starts before containerd is ready ends at once.
    "$lab" up
    if ! "$lab" status | grep ' down$' >/dev/null; then break; fi
  done
  eval "$("$lab" env)"
  flags=(-lab "$lab")
  export CONTAINER_TOOL=buildah E2E_REGISTRY=$LAB_REGISTRY/redhat
fi
export CONTAINER_TOOL ARCH

# digest FILE... prints a short checksum, so that a node never runs an outdated image.
digest() { sha256sum "$@" | sha256sum | cut -c 1-12; }

# skew prints the flag of go build for a program whose clock is wrong. The name of its pod decides by how much.
skew() {
  local time
  time=$(go env GOROOT)/src/time
  sed 's/sec, nsec, mono := runtimeNow()/&; sec += judgeSkew/' "$time/time.go" >"$out/time.txt"
  cat >"$out/skew.txt" <<END
package time

import "syscall"

var judgeSkew = func() (skew int64) {
	name, _ := syscall.Getenv("HOSTNAME")
	for _, c := range []byte(name) {
		skew = (skew*31 + int64(c)) % (2*$SKEW + 1)
	}
	return skew - $SKEW
}()
END
  printf '{"Replace": {"%s": "%s", "%s": "%s"}}' "$time/time.go" "$out/time.txt" "$time/skew.go" "$out/skew.txt" >"$out/overlay.json"
  echo "-overlay=$out/overlay.json"
}

if kubectl get crd ats.cnat.d2iq.com >/dev/null 2>&1; then
  echo 'judge: the cluster already has the operator, which the judge would remove: see make undeploy' >&2
  exit 1
fi
mkdir -p "$out"
CGO_ENABLED=0 go build -o "$out/judge" ./test/judge
CGO_ENABLED=0 GOOS=linux GOARCH=$ARCH go build -o "$out/command" ./test/judge/command
cp test/judge/command/Dockerfile "$out/"
command=$E2E_REGISTRY/podset-operator-judge:$(digest "$out/command")
(cd "$out" && ../../hack/image.sh build "$command" Dockerfile "$ARCH" && ../../hack/image.sh push "$command")

if [ -n "${DEFECT-}" ]; then
  source=$out/source
  rm -rf "$source" && mkdir -p "$source"
  git ls-files -z | xargs -0 cp --parents -t "$source"
  # Without the ceiling, git would take the copy for a directory of this repository, and skip files that it ignores.
  (cd "$source" && GIT_CEILING_DIRECTORIES=$out git apply "$OLDPWD/test/judge/defects/$DEFECT.patch")
fi

# Without -trimpath, which the files of a release have, the packages that the tests use are not compiled again.
(cd "$source" && GOOS=linux GOARCH=$ARCH hack/build.sh "bin/image/manager-$ARCH" . . -buildvcs=false ${SKEW:+"$(skew)"})
manager=$E2E_REGISTRY/podset-operator:judge-$(digest "$source/bin/image/manager-$ARCH")
(cd "$source" && hack/image.sh build "$manager" Dockerfile "$ARCH" VERSION=judge && hack/image.sh push "$manager")
trap 'make undeploy DEPLOY=config/components/ha DELETE_OBJECTS=yes >/dev/null' EXIT # The CRDs did not exist before.
make --no-print-directory deploy IMG="$manager" DEPLOY=config/components/ha
kubectl -n podset-operator-system rollout status deployment --timeout 180s
"$out/judge" -image "$command" -journal "$out/judge.log" "${flags[@]}" "$@"
