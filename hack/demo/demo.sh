#!/usr/bin/env bash
# Shows both kinds on a local cluster in .demo/, whose node is simulated. The cluster is always removed when this script ends.
#
#   demo.sh         keeps the cluster until Ctrl-C if standard input is a terminal, else ends like `check`
#   demo.sh check   ends after the last step
#   demo.sh run COMMAND [ARG...]   runs the command on the cluster, without a manager, instead of the steps: the tests of the documentation
#
# It fails at the first step that does not show the expected result.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

mode=${1:-stay}
if [ "$mode" != run ] && { [ ! -t 0 ] || [ -n "${CI:-}" ]; }; then mode=check; fi

demo=$PWD/.demo cluster=podset-demo
# All files are below .demo/. The demo does not read or change files of the user.
export KUBECONFIG=$demo/kubeconfig KUBECACHEDIR=$demo/cache KUBERC=off KWOK_WORKDIR=$demo/kwok PATH=$PWD/bin:$PATH
unset WATCH_NAMESPACE

bold='' blue='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' blue=$'\033[1;34m' plain=$'\033[0m'; fi

# --- output -------------------------------------------------------------------------------------

title() { printf '\n%s%s%s\n' "$blue" "$*" "$plain"; }

# show COMMAND prints a command line, then runs it.
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
    [ "$SECONDS" -lt "$end" ] || die "not seen within a minute: $what"
    sleep 0.2
  done
}

# --- expected results ---------------------------------------------------------------------------

get() { kubectl get "$@" 2>/dev/null; }

# settled N succeeds if the PodSet has N ready pods and its status lists exactly the running pods.
settled() {
  [ "$(get podset podset-sample -o jsonpath='{.status.readyReplicas}')" = "$1" ] &&
    [ "$(get podset podset-sample -o jsonpath='{.status.podNames[*]}')" = "$(running name)" ] &&
    [ "$(running name | wc -w)" -eq "$1" ]
}

# running FIELD prints this metadata field of the running pods of the PodSet.
running() { get pods -l app.example.com/podset=podset-sample --field-selector=status.phase=Running -o jsonpath="{.items[*].metadata.$1}"; }

# replaced UID succeeds if there are five pods again and none of them has this UID.
replaced() { settled 5 && [[ " $(running uid) " != *" $1 "* ]]; }

# The command that shows the pods with their slots. The age tells a pod from its replacement.
pods='kubectl get pods -l app.example.com/podset=podset-sample -L app.example.com/slot'

# at_is NAME PHASE RESULT EXITCODE succeeds if the status of the At has these values.
at_is() { [ "$(get at "$1" -o jsonpath='{.status.phase} {.status.result} {.status.exitCode}')" = "${*:2}" ]; }

# --- the cluster --------------------------------------------------------------------------------

manager='' log=$demo/cluster.log

cleanup() {
  local status=$?
  trap '' INT TERM HUP # the cleanup must not be interrupted
  if [ "$status" -ne 0 ] && [ "$status" -lt 128 ] && [ -s "$log" ]; then
    printf '\nThe end of %s:\n' "${log##*/}"
    tail -n 20 "$log"
  fi >&2
  stop
}

# stop ends the processes of this demo. It reads the process IDs from files, so it can also end those of a demo that was killed.
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

# write_logs writes the log of the pod migrate-pod, because the simulated node runs no commands. No other pod has a log.
write_logs() {
  local line
  while IFS= read -r line; do printf '%s stdout F %s\n' "$(date -u +%FT%TZ)" "$line"; done >"$demo/migrate.log" <<'END'
== 20261125090000 AddIndexToOrders: migrating =================================
-- add_index(:orders, :customer_id)
   -> 0.0213s
== 20261125090000 AddIndexToOrders: migrated (0.0214s) ========================
END
  cat >"$demo/logs.yaml" <<END
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Logs
metadata: {name: migrate-pod, namespace: demo}
spec:
  logs:
  - logsFile: $demo/migrate.log
END
}

start_cluster() {
  local kwok stage stages=$PWD/hack/demo/stage-at.yaml,$demo/logs.yaml
  write_logs
  kwok=$(cd hack/tools/cluster && go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)
  # Custom stages replace the default stages of kwok, so this list includes the default ones.
  for stage in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease pod/fast/pod-ready pod/fast/pod-delete; do
    stages+=,$kwok/kustomize/stage/$stage.yaml
  done
  # With these flags, kwokctl downloads nothing. It uses free ports. Without the controller manager, nothing would delete the pods of a deleted
  # PodSet or At, and namespaces would have no service account for pods.
  kwokctl create cluster --name $cluster --runtime binary --kubeconfig "$KUBECONFIG" --config "$stages" --wait 60s \
    --etcd-binary "$PWD/bin/etcd" --kwok-controller-binary "$PWD/bin/kwok" \
    --kube-apiserver-binary "$PWD/bin/kube-apiserver" --kube-scheduler-binary "$PWD/bin/kube-scheduler" \
    --kube-controller-manager-binary "$PWD/bin/kube-controller-manager"
  kwokctl scale node --name $cluster --replicas 1
  kubectl wait --for=condition=Ready node --all --timeout=60s
}

# Only one demo can run in a clone at a time. The next one cleans up after a demo that was killed.
if ! mkdir "$demo" 2>/dev/null; then
  if kill -0 "$(cat "$demo/pid" 2>/dev/null)" 2>/dev/null; then die "another demo is running in this directory as process $(cat "$demo/pid")"; fi
  stop
  mkdir "$demo"
fi
echo $$ >"$demo/pid"
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# --- the steps ----------------------------------------------------------------------------------

if [ "$mode" != run ]; then
  echo 'The node of this demo is simulated and runs nothing. Every image exists, every command, even false, succeeds after 3 seconds, and the'
  echo 'only log, that of migrate, is a file. The API server, the scheduler, the garbage collector, and the operator are real.'
  if [ "$mode" != "${1:-stay}" ]; then echo 'Without a terminal, the demo ends by itself.'; fi
fi
title 'Start a cluster: etcd, API server, controller manager, scheduler, and one simulated node'
start_cluster >"$log" 2>&1 || die "the cluster did not start"
show 'kubectl get nodes'

title 'Install the CRDs and start the manager'
show 'kubectl apply -f config/crd/bases'
kubectl wait --for=condition=Established -f config/crd/bases --timeout=60s >/dev/null
if [ "$mode" = run ]; then
  "${@:2}"
  exit
fi
printf '%s$ bin/manager &%s\n' "$bold" "$plain"
log=$demo/manager.log
bin/manager --metrics-bind-address=0 --health-probe-bind-address=0 >"$log" 2>&1 &
manager=$!
echo $manager >"$demo/manager.pid"

# The steps have a namespace of their own, so that their objects are not in the way of a reader of the tutorial.
kubectl create namespace demo >/dev/null
kubectl config set-context --current --namespace demo >/dev/null

title 'The application: a Deployment'
show 'kubectl create deployment web --image=registry.example.com/shop:1.4'

title 'Schedule one command, with the image and the environment of an application'
show 'kubectl at tomorrow 02:00 --name migrate --from deploy/web -- bin/rails db:migrate'
show 'kubectl at list'

title 'Run it now instead, wait for its end, and read its exit code and its log'
show 'kubectl at reschedule migrate now'
show 'kubectl at wait migrate; echo "exit code $?"'
show 'kubectl at logs migrate'
show 'kubectl at list'
expect 'phase DONE, result Succeeded, exit code 0' at_is migrate DONE Succeeded 0
kubectl apply -f config/samples/app_v1alpha1_podset.yaml >/dev/null
expect '3 ready pods, listed in the status' settled 3

title 'Scale a PodSet from three pods to five, and delete a pod: another one takes its place'
show 'kubectl scale podset/podset-sample --replicas=5'
expect '5 ready pods, listed in the status' settled 5
show 'kubectl get podset'
victim=$(get pods -l app.example.com/podset=podset-sample,app.example.com/slot=2 -o jsonpath='{.items[0].metadata.name}')
uid=$(get pod "$victim" -o jsonpath='{.metadata.uid}')
sleep 5 # Then the ages of the pods differ.
show "kubectl delete pod $victim"
expect 'another pod in its place' replaced "$uid"
show "$pods"

title 'The status has the names of the pods'
show "kubectl get podset podset-sample -o jsonpath='{range .status.podNames[*]}{@}{\"\\n\"}{end}'"

title 'An At as YAML: it was due in 2020, and therefore runs at once'
show 'kubectl apply -f config/samples/cnat_v1alpha1_at.yaml'
show 'kubectl wait --for=condition=Complete at/at-sample --timeout=60s'
expect 'phase DONE, result Succeeded, exit code 0' at_is at-sample DONE Succeeded 0
show 'kubectl get at at-sample -o wide'
show 'kubectl events --for at/at-sample'

if [ "$mode" = check ]; then
  title 'Every step showed the expected result'
  exit
fi
kubectl config set-context --current --namespace default >/dev/null
title 'The cluster runs until Ctrl-C. To use it in another terminal (the objects above are in the namespace demo):'
echo "export KUBECONFIG=$KUBECONFIG PATH=$PWD/bin:\$PATH"
trap 'exit 0' INT
wait "$manager" || die "the manager has ended"
