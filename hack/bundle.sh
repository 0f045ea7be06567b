#!/usr/bin/env bash
# Generates the bundle of one version into OUTPUT: bundle/ and bundle.Dockerfile.
# usage: bundle.sh KUSTOMIZATION OUTPUT, with VERSION, IMG, SCORECARD_IMG, BUSYBOX_IMG (may be empty), CHANNELS,
# DEFAULT_CHANNEL, CREATED_AT, and OPENSHIFT_VERSIONS in the environment
set -euo pipefail

root=$PWD kustomization=$1 output=$2
work=bin/bundle
rm -rf "$work"
mkdir -p "$work/overlay"
cp PROJECT "$work"

# An overlay sets this version, so the committed kustomizations do not change.
cd "$work/overlay"
kustomize=$root/bin/kustomize
"$kustomize" create --resources "../../../$kustomization"
"$kustomize" edit set image "quay.io/redhat/podset-operator=$IMG" "quay.io/redhat/podset-operator-scorecard=$SCORECARD_IMG"
if [ -n "$BUSYBOX_IMG" ]; then "$kustomize" edit set image "docker.io/library/busybox=$BUSYBOX_IMG"; fi

csv="metadata: {name: podset-operator.v0.0.0, namespace: placeholder, annotations: {containerImage: '$IMG'}}"
previous=$("$root/hack/catalog.sh" previous "$DEFAULT_CHANNEL" "$VERSION")
if [ -n "$previous" ]; then
  oldest=$("$root/hack/catalog.sh" oldest "$DEFAULT_CHANNEL")
  csv="metadata: {name: podset-operator.v0.0.0, namespace: placeholder, annotations: {containerImage: '$IMG', olm.skipRange: '>=$oldest <$VERSION'}}
spec: {replaces: podset-operator.v$previous}"
fi
"$kustomize" edit add patch --patch "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
$csv"

cd ..
"$kustomize" build overlay -o manifests.yaml
# shellcheck disable=SC2002 # operator-sdk needs a pipe
cat manifests.yaml | "$root/bin/operator-sdk" generate bundle --quiet \
  --version "$VERSION" --channels "$CHANNELS" --default-channel "$DEFAULT_CHANNEL"

# operator-sdk turns every role of the manager into permissions of the ClusterServiceVersion. These must remain manifests.
"$kustomize" build ../../config/manifests/lease -o bundle/manifests

# operator-sdk has no options for a fixed creation time, the image of the operator in relatedImages, and the OpenShift versions.
sed -i -e "s|^    createdAt: .*|    createdAt: \"$CREATED_AT\"|" \
  -e "s|^  relatedImages:|&\n  - image: $IMG\n    name: manager|" bundle/manifests/podset-operator.clusterserviceversion.yaml
# Disconnected clusters find images by digest. The base has "false", which is correct for tags.
if [[ $IMG == *@sha256:* && $BUSYBOX_IMG == *@sha256:* ]]; then
  sed -i 's|\(features.operators.openshift.io/disconnected\): "false"|\1: "true"|' bundle/manifests/podset-operator.clusterserviceversion.yaml
fi
printf '\n  # The versions of OpenShift whose catalogs may show the operator.\n  com.redhat.openshift.versions: "%s"\n' "$OPENSHIFT_VERSIONS" \
  >> bundle/metadata/annotations.yaml
sed -i "s|^# Copy files|# The versions of OpenShift whose catalogs may show the operator.\nLABEL com.redhat.openshift.versions=\"$OPENSHIFT_VERSIONS\"\n\n&|" bundle.Dockerfile

cd "$root"
mkdir -p "$output"
rm -rf "$output/bundle"
mv "$work/bundle" "$work/bundle.Dockerfile" "$output"
rm -rf "$work"
