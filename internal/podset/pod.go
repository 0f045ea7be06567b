// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
)

// selectorLabels returns the labels of every pod of the set. They take precedence over the template, because they are
// the selector of the scale subresource.
func selectorLabels(set *appv1alpha1.PodSet) labels.Set {
	return labels.Set{
		pods.LabelManagedBy:     pods.ManagedBy,
		appv1alpha1.LabelPodSet: set.Name,
	}
}

// newPod returns the pod of a slot and attempt. hash is the hash of the template.
func newPod(o Observation, p slotAttempt, hash string) *corev1.Pod {
	template := o.Set.Spec.Template
	if template == nil {
		template = defaultTemplate(o.Set, o.Defaults)
	}
	pod := pods.FromTemplate(template, podName(o.Set, p), o.Set, appv1alpha1.GroupVersion.WithKind("PodSet"))
	pod.Labels = labels.Merge(pod.Labels, selectorLabels(o.Set))
	pod.Labels[appv1alpha1.LabelSlot] = strconv.Itoa(p.slot)
	pod.Annotations[appv1alpha1.AnnotationSlot] = strconv.Itoa(p.slot)
	pod.Annotations[appv1alpha1.AnnotationAttempt] = strconv.Itoa(p.attempt)
	pod.Labels[appv1alpha1.LabelTemplateHash] = hash
	pod.Annotations[appv1alpha1.AnnotationTemplateHash] = hash
	if pod.Spec.Subdomain != "" && pod.Spec.Hostname == "" { // rule 17
		pod.Spec.Hostname = strings.ReplaceAll(pod.Name, ".", "-")
	}
	return pod
}

// defaultTemplate returns the template of a PodSet without one. It passes Pod Security "restricted", OpenShift's
// "restricted-v2", and policies that require a read-only root. A process that sleeps needs little, so that many such
// pods fit on a small node. The labels are those of the tutorial (rule 16).
func defaultTemplate(set *appv1alpha1.PodSet, d Defaults) *corev1.PodTemplateSpec {
	spec := corev1.PodSpec{
		ImagePullSecrets: d.PullSecrets,
		Containers: []corev1.Container{{
			Name:    "busybox",
			Image:   d.Image,
			Command: []string{"sleep", "3600"},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{
					corev1.ResourceCPU:    resource.MustParse("10m"),
					corev1.ResourceMemory: resource.MustParse("32Mi"),
				},
				Limits: corev1.ResourceList{
					corev1.ResourceCPU:    resource.MustParse("100m"),
					corev1.ResourceMemory: resource.MustParse("32Mi"),
				},
			},
		}},
		// As the first process of its container, sleep ignores SIGTERM, so a longer grace period is useless.
		TerminationGracePeriodSeconds: ptr.To[int64](1),
		// It reads no variables of Services.
		EnableServiceLinks: ptr.To(false),
		// The scheduler spreads the pods of a ReplicaSet by default, but not those of a kind that it does not know. It
		// would ignore nodes without the label of a second key, such as the zone.
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew:           1,
			TopologyKey:       corev1.LabelHostname,
			WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{appv1alpha1.LabelPodSet: set.Name}},
		}},
	}
	pods.OnLinux(&spec)
	pods.Restrict(&spec, d.FixedUser)
	spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem = ptr.To(true)
	return &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels.Set{"app": set.Name, "version": "v0.1"}}, Spec: spec}
}
