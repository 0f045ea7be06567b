#!/usr/bin/env bash
# Installs the chart into the current cluster, runs its test and the samples, upgrades and uninstalls it. The cluster must not have the
# operator, and must be able to run IMAGE:TAG.
# usage: chart-check.sh IMAGE TAG [HELM FLAG...]
set -euxo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

release=podset-operator namespace=podset-operator-system
flags=(--namespace "$namespace" --wait --timeout 3m --set "image.repository=$1,image.tag=$2,test.enabled=true" "${@:3}")

kubectl create namespace $namespace
kubectl label namespace $namespace pod-security.kubernetes.io/enforce=restricted
helm install $release charts/podset-operator "${flags[@]}"
helm test $release --namespace $namespace --timeout 3m

kubectl create namespace chart-check
kubectl config set-context --current --namespace chart-check
kubectl apply -f config/samples/app_v1alpha1_podset.yaml -f config/samples/cnat_v1alpha1_at.yaml
kubectl wait --for=jsonpath='{.status.result}'=Succeeded at/at-sample --timeout=3m
kubectl wait --for=condition=Available podset/podset-sample --timeout=3m
pods=$(kubectl get pods -l app.example.com/podset=podset-sample -o jsonpath='{.items[*].metadata.uid}')

# An upgrade updates the CRDs, restarts no pod of a PodSet, and no At runs again. A rollback neither.
kubectl patch crd ats.cnat.d2iq.com --type json -p '[{"op":"remove","path":"/spec/names/categories"}]'
helm upgrade $release charts/podset-operator "${flags[@]}" --set replicas=2,networkPolicy.enabled=true
test -n "$(kubectl get crd ats.cnat.d2iq.com -o jsonpath='{.spec.names.categories}')"
helm test $release --namespace $namespace --timeout 3m
helm rollback $release --namespace $namespace --wait --timeout 3m
test "$pods" = "$(kubectl get pods -l app.example.com/podset=podset-sample -o jsonpath='{.items[*].metadata.uid}')"
test "$(kubectl get at at-sample -o jsonpath='{.status.attempts}')" = 1

# The CRDs and the objects stay.
helm uninstall $release --namespace $namespace --wait
test -z "$(kubectl get all,clusterroles,clusterrolebindings,validatingadmissionpolicies -n $namespace -l app.kubernetes.io/instance=$release -o name)"
kubectl get podset/podset-sample at/at-sample
kubectl delete namespace chart-check $namespace
kubectl delete crd podsets.app.example.com ats.cnat.d2iq.com
