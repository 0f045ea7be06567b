// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
)

// selectorLabels are on every pod of the set, whatever its template says. The selector of the scale subresource is made
// of them.
func selectorLabels(set *appv1alpha1.PodSet) labels.Set {
	return labels.Set{
		pods.LabelManagedBy:     pods.ManagedBy,
		appv1alpha1.LabelPodSet: set.Name,
	}
}

// newPod is the pod of a place, made from the template that has this hash.
func newPod(o Observation, p place, hash string) *corev1.Pod {
	template := o.Set.Spec.Template
	if template == nil {
		template = defaultTemplate(o.Defaults)
	}
	pod := pods.FromTemplate(template, podName(o.Set, p), o.Set, appv1alpha1.GroupVersion.WithKind("PodSet"))
	defaults := labels.Set{"app": o.Set.Name, "version": "v0.1"}
	pod.Labels = labels.Merge(labels.Merge(defaults, pod.Labels), selectorLabels(o.Set))
	pod.Annotations[appv1alpha1.AnnotationSlot] = strconv.Itoa(p.slot)
	pod.Annotations[appv1alpha1.AnnotationAttempt] = strconv.Itoa(p.attempt)
	pod.Annotations[appv1alpha1.AnnotationTemplateHash] = hash
	return pod
}

// defaultTemplate is the pod of a PodSet without a template. It passes Pod Security "restricted" and OpenShift's
// "restricted-v2".
func defaultTemplate(d Defaults) *corev1.PodTemplateSpec {
	spec := corev1.PodSpec{
		Containers: []corev1.Container{{
			Name:    "busybox",
			Image:   d.Image,
			Command: []string{"sleep", "3600"},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{
					corev1.ResourceCPU:    resource.MustParse("1m"),
					corev1.ResourceMemory: resource.MustParse("4Mi"),
				},
				Limits: corev1.ResourceList{
					corev1.ResourceCPU:    resource.MustParse("100m"),
					corev1.ResourceMemory: resource.MustParse("32Mi"),
				},
			},
		}},
		// sleep as the first process of its container ignores SIGTERM, so waiting for it is in vain.
		TerminationGracePeriodSeconds: ptr.To[int64](1),
	}
	pods.Restrict(&spec, d.FixedUser)
	return &corev1.PodTemplateSpec{Spec: spec}
}

// HashTemplate is a hash of the user's template alone, so that neither a new default nor a new version of the operator
// changes it (rule 9). Fields that say nothing (null, {} and []) are left out first: whether they are written at all
// differs between versions of the Kubernetes API library.
func HashTemplate(template *corev1.PodTemplateSpec) string { return hashJSON(template) }

// hashJSON hashes the JSON of a value. A value that has none is a mistake in the program: a typed template always has one.
func hashJSON(value any) string {
	encoded, err := json.Marshal(value)
	var tree any
	if err == nil {
		err = json.Unmarshal(encoded, &tree)
	}
	if err == nil {
		encoded, err = json.Marshal(prune(tree))
	}
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])[:10]
}

// prune drops what says nothing from a decoded JSON value; a value that says nothing itself becomes nil.
func prune(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if v[key] = prune(item); v[key] == nil {
				delete(v, key)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = prune(v[i])
		}
	}
	return value
}
