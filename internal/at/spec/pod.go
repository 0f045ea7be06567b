// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
)

const (
	// annotationDefaultContainer sets the container that kubectl logs shows if webhooks have added others.
	annotationDefaultContainer = "kubectl.kubernetes.io/default-container"
	// labelApp is the label of the tutorial, with the name of the At. Services and PodDisruptionBudgets commonly select
	// by it, so only a pod without a template has it.
	labelApp = "app"
)

// The resources of an At without a template: enough for a shell and the programs of busybox. They pass the usual
// minimums of a LimitRange, and a ratio of limit to request of 10.
var (
	defaultRequests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("32Mi")}
	defaultLimits   = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("128Mi")}
)

// Defaults are the values from the operator's environment that pods use.
type Defaults struct {
	// Image is the image of an At without a template.
	Image string
	// PullSecrets are the secrets with which the image is pulled. If there are none, those of the service account are
	// used.
	PullSecrets []corev1.LocalObjectReference
	// FixedUser makes the pod of an At without a template run as a fixed user. It is false on OpenShift, which gives
	// each namespace its own.
	FixedUser bool
	// Proxy are the proxy variables of the container of an At without a template. A user's template sets its own.
	Proxy []corev1.EnvVar
}

// NewPod returns the pod of an attempt, with the gate that keeps it from starting. The template must have a container.
// A command that does not split is left out: the operator checks it before, and admission rejects it.
func NewPod(at *cnatv1alpha1.At, defaults Defaults, attempt int) *corev1.Pod {
	template := at.Spec.Template
	if template == nil {
		template = defaultTemplate(at, defaults)
	}
	pod := pods.FromTemplate(template, PodName(at, attempt), at, cnatv1alpha1.GroupVersion.WithKind("At"))
	maps.Copy(pod.Labels, SelectorLabels(at))
	pod.Labels[cnatv1alpha1.LabelUID] = string(at.UID)
	if _, ok := pod.Annotations[annotationDefaultContainer]; !ok {
		pod.Annotations[annotationDefaultContainer] = ContainerName(&at.Spec)
	}
	pod.Annotations[cnatv1alpha1.AnnotationContainer] = ContainerName(&at.Spec)
	pod.Annotations[cnatv1alpha1.AnnotationAttempt] = strconv.Itoa(attempt + 1)
	pod.Annotations[cnatv1alpha1.AnnotationGeneration] = strconv.FormatInt(at.Generation, 10)

	spec := &pod.Spec
	spec.RestartPolicy = corev1.RestartPolicyNever
	spec.SchedulingGates = append(spec.SchedulingGates, corev1.PodSchedulingGate{Name: cnatv1alpha1.StartGate})
	main := &spec.Containers[0]
	if words, _ := CommandWords(&at.Spec); len(words) > 0 {
		main.Command = ContainerCommand(words)
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers[:1]} {
		for i := range containers {
			containers[i].TerminationMessagePolicy = cmp.Or(containers[i].TerminationMessagePolicy, corev1.TerminationMessageFallbackToLogsOnError)
		}
	}
	return pod
}

// defaultTemplate returns the template of an At without one. It passes Pod Security "restricted" and OpenShift's
// "restricted-v2".
func defaultTemplate(at *cnatv1alpha1.At, d Defaults) *corev1.PodTemplateSpec {
	// A namespace with 2000 Services would otherwise exceed the size of the environment.
	spec := corev1.PodSpec{ImagePullSecrets: d.PullSecrets, EnableServiceLinks: ptr.To(false), Containers: []corev1.Container{{
		Name:      DefaultContainer,
		Image:     d.Image,
		Env:       slices.Clone(d.Proxy),
		Resources: corev1.ResourceRequirements{Requests: defaultRequests.DeepCopy(), Limits: defaultLimits.DeepCopy()},
	}}}
	pods.OnLinux(&spec)
	pods.Restrict(&spec, d.FixedUser)
	return &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{labelApp: LabelValue(at)}}, Spec: spec}
}
