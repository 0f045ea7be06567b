#!/usr/bin/env bash
# Shows both kinds at work, on a cluster that lives in .demo/ and goes when this script ends, however it ends.
#
#   demo.sh         stays until Ctrl-C when someone sits at a terminal, else ends like `check`
#   demo.sh check   ends after the last step
#
# Either way it fails at the first step that does not show what it must.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

mode=${1:-stay}
if [ ! -t 0 ] || [ -n "${CI:-}" ]; then mode=check; fi

demo=$PWD/.demo cluster=podset-demo
# Everything is written below .demo/: no file of the user's is read or touched.
export KUBECONFIG=$demo/kubeconfig KUBECACHEDIR=$demo/cache KUBERC=off KWOK_WORKDIR=$demo/kwok PATH=$PWD/bin:$PATH
unset WATCH_NAMESPACE

bold='' blue='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' blue=$'\033[1;34m' plain=$'\033[0m'; fi

# --- telling ------------------------------------------------------------------------------------

title() { printf '\n%s%s%s\n' "$blue" "$*" "$plain"; }

# show COMMAND prints a command line as one would type it, then runs it.
show() {
  printf '%s$ %s%s\n' "$bold" "$1" "$plain"
  eval "$1"
}

die() {
  printf '\ndemo: %s\n' "$*" >&2
  exit 1
}

# expect WHAT CONDITION... waits up to a minute for a condition.
expect() {
  local what=$1 end=$((SECONDS + 60))
  shift
  until "$@"; do
    kill -0 "$manager" 2>/dev/null || die "the manager has ended"
    [ "$SECONDS" -lt "$end" ] || die "after a minute still not so: $what"
    sleep 0.2
  done
}

# --- what the steps must show -------------------------------------------------------------------

get() { kubectl get "$@" 2>/dev/null; }

# settled N: the PodSet has N ready pods, and its status lists exactly the pods that run.
settled() {
  [ "$(get podset podset-sample -o jsonpath='{.status.readyReplicas}')" = "$1" ] &&
    [ "$(get podset podset-sample -o jsonpath='{.status.podNames[*]}')" = "$(running name)" ] &&
    [ "$(running name | wc -w)" -eq "$1" ]
}

# running FIELD prints that metadata field of the PodSet's running pods.
running() { get pods -l app.example.com/podset=podset-sample --field-selector=status.phase=Running -o jsonpath="{.items[*].metadata.$1}"; }

# replaced UID: five pods again, and none of them is the one with that UID.
replaced() { settled 5 && [[ " $(running uid) " != *" $1 "* ]]; }

# at_is PHASE RESULT EXITCODE, as the At's status has them.
at_is() { [ "$(get at at-sample -o jsonpath='{.status.phase} {.status.result} {.status.exitCode}')" = "$*" ]; }

# at_started: the At has a pod.
at_started() { [ -n "$(get at at-sample -o jsonpath='{.status.podName}')" ]; }

# --- the cluster --------------------------------------------------------------------------------

manager='' log=$demo/cluster.log

cleanup() {
  local status=$?
  trap '' INT TERM HUP # what is begun here is ended
  if [ "$status" -ne 0 ] && [ "$status" -lt 128 ] && [ -s "$log" ]; then
    printf '\nThe end of %s:\n' "${log##*/}"
    tail -n 20 "$log"
  fi >&2
  stop
}

# stop ends this demo's processes, or those of one that was killed: then only the files know them.
stop() {
  local pid
  pid=$(cat "$demo/manager.pid" 2>/dev/null) || true
  if [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null || echo manager)" = manager ]; then
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  fi
  kwokctl delete cluster --name $cluster --kubeconfig "$KUBECONFIG" >/dev/null 2>&1 || true
  rm -rf "$demo"
}

start_cluster() {
  local kwok stage stages=$PWD/hack/demo/stage-at.yaml
  kwok=$(cd hack/tools/cluster && go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)
  # A stage of our own replaces kwok's, so those it starts with are named too.
  for stage in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease pod/fast/pod-ready pod/fast/pod-delete; do
    stages+=,$kwok/kustomize/stage/$stage.yaml
  done
  # With these flags nothing is downloaded. kwokctl takes free ports.
  kwokctl create cluster --name $cluster --runtime binary --kubeconfig "$KUBECONFIG" --config "$stages" --wait 60s \
    --etcd-binary "$PWD/bin/etcd" --kwok-controller-binary "$PWD/bin/kwok" \
    --kube-apiserver-binary "$PWD/bin/kube-apiserver" --kube-scheduler-binary "$PWD/bin/kube-scheduler" \
    --kube-controller-manager-binary "$PWD/bin/kube-controller-manager"
  kwokctl scale node --name $cluster --replicas 1
  kubectl wait --for=condition=Ready node --all --timeout=60s
}

# One demo at a time in a clone; one that was killed is cleaned up after.
if ! mkdir "$demo" 2>/dev/null; then
  if kill -0 "$(cat "$demo/pid" 2>/dev/null)" 2>/dev/null; then die "another demo runs in this directory, as process $(cat "$demo/pid")"; fi
  stop
  mkdir "$demo"
fi
echo $$ >"$demo/pid"
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# --- the steps ----------------------------------------------------------------------------------

title 'Start a cluster: etcd, API server, controller manager, scheduler, and one simulated node'
start_cluster >"$log" 2>&1 || die "the cluster did not start"
show 'kubectl get nodes'

title 'Install the CRDs and start the manager'
show 'kubectl apply -f config/crd/bases'
kubectl wait --for=condition=Established -f config/crd/bases --timeout=60s >/dev/null
printf '%s$ bin/manager &%s\n' "$bold" "$plain"
log=$demo/manager.log
bin/manager --metrics-bind-address=0 --health-probe-bind-address=0 >"$log" 2>&1 &
manager=$!
echo $manager >"$demo/manager.pid"

title 'Create a PodSet of three pods, and an At that was due in 2020 and therefore runs at once'
show 'kubectl apply -f config/samples/app_v1alpha1_podset.yaml -f config/samples/cnat_v1alpha1_at.yaml'
expect '3 ready pods, listed in the status' settled 3
expect 'the At has a pod' at_started
show 'kubectl get podset,at,pods'

title 'Scale the PodSet from three pods to five'
show "kubectl patch podset podset-sample --type=json -p '[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 5}]'"
expect '5 ready pods, listed in the status' settled 5
show 'kubectl get podset,pods'

title 'Delete a pod: the operator replaces it'
victim=$(get podset podset-sample -o jsonpath='{.status.podNames[0]}')
uid=$(get pod "$victim" -o jsonpath='{.metadata.uid}')
show "kubectl delete pod $victim"
expect 'another pod in its place' replaced "$uid"
show 'kubectl get podset,pods'
show "kubectl get podset podset-sample -o jsonpath='{range .status.podNames[*]}{@}{\"\\n\"}{end}'"

title 'The At has run once'
show 'kubectl wait --for=condition=Complete at/at-sample --timeout=60s'
expect 'phase DONE, result Succeeded, exit code 0' at_is DONE Succeeded 0
show 'kubectl get at -o wide'
show 'kubectl events --for at/at-sample'

if [ "$mode" = check ]; then
  title 'Every step showed what it must'
  exit
fi
title 'The cluster stays until Ctrl-C. To look around, in another terminal:'
echo "export KUBECONFIG=$KUBECONFIG PATH=$PWD/bin:\$PATH"
trap 'exit 0' INT
wait "$manager" || die "the manager has ended"
