// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// descriptive are the domains of keys that describe a workload or are set by its controller. No command needs them.
var descriptive = []string{
	"app.kubernetes.io", "apps.kubernetes.io", "argocd.argoproj.io", "batch.kubernetes.io", "checksum", "cni.projectcalico.org",
	"deployment.kubernetes.io", "helm.sh", "kubectl.kubernetes.io", "kubernetes.io", "meta.helm.sh", "prometheus.io",
	"statefulset.kubernetes.io", "topology.kubernetes.io",
}

// omittedKeys names the labels and annotations of a pod template that webhooks and controllers may act on, such as injectors and
// service meshes, and that the flags do not set.
func omittedKeys(from *metav1.ObjectMeta, labels, annotations []string) []string {
	var omitted []string
	for _, keys := range []struct {
		name   string
		values map[string]string
		flags  []string
	}{{"the label", from.Labels, labels}, {"the annotation", from.Annotations, annotations}} {
		for _, key := range slices.Sorted(maps.Keys(keys.values)) {
			domain, _, hasDomain := strings.Cut(key, "/")
			isSet := func(pair string) bool { return strings.HasPrefix(pair, key+"=") }
			if hasDomain && !slices.Contains(descriptive, domain) && !slices.ContainsFunc(keys.flags, isSet) {
				omitted = append(omitted, keys.name+" "+key)
			}
		}
	}
	return omitted
}
