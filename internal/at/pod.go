// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/atspec"
	"github.com/redhat/podset-operator/internal/pods"
)

const (
	// annotationDefaultContainer sets the container that kubectl logs shows if webhooks have added others.
	annotationDefaultContainer = "kubectl.kubernetes.io/default-container"
	// labelApp is the label of the tutorial, with the name of the At. Services and PodDisruptionBudgets commonly select by it, so only a pod
	// without a template has it.
	labelApp = "app"
)

// The resources of an At without a template: enough for a shell and the programs of busybox. They pass the usual minimums of a LimitRange,
// and a ratio of limit to request of 10.
var (
	defaultRequests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("32Mi")}
	defaultLimits   = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("128Mi")}
)

func atKind() schema.GroupVersionKind { return cnatv1alpha1.GroupVersion.WithKind("At") }

// newPod returns the pod of an attempt, with the gate that keeps it from starting. problem has checked that the command splits or is absent,
// and that the template has a container.
func newPod(v *View, attempt int) *corev1.Pod {
	template := v.At.Spec.Template
	if template == nil {
		template = defaultTemplate(v.At, v.defaults)
	}
	pod := pods.FromTemplate(template, atrun.PodName(v.At, attempt), v.At, atKind())
	maps.Copy(pod.Labels, atrun.SelectorLabels(v.At))
	if _, ok := pod.Annotations[annotationDefaultContainer]; !ok {
		pod.Annotations[annotationDefaultContainer] = atspec.ContainerName(&v.At.Spec)
	}
	pod.Annotations[cnatv1alpha1.AnnotationContainer] = atspec.ContainerName(&v.At.Spec)
	pod.Annotations[cnatv1alpha1.AnnotationAttempt] = strconv.Itoa(attempt)
	pod.Annotations[cnatv1alpha1.AnnotationGeneration] = strconv.FormatInt(v.At.Generation, 10)

	if v.isUninterrupted() {
		pod.Annotations[annotationDoNotDisrupt], pod.Annotations[annotationSafeToEvict] = "true", "false"
	}

	spec := &pod.Spec
	spec.RestartPolicy = corev1.RestartPolicyNever
	spec.ActiveDeadlineSeconds = podDeadline(v)
	spec.SchedulingGates = append(spec.SchedulingGates, corev1.PodSchedulingGate{Name: cnatv1alpha1.StartGate})
	main := &spec.Containers[0]
	if words, _ := commandOf(&v.At.Spec); len(words) > 0 {
		main.Command = atspec.ContainerCommand(words)
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers[:1]} {
		for i := range containers {
			containers[i].TerminationMessagePolicy = cmp.Or(containers[i].TerminationMessagePolicy, corev1.TerminationMessageFallbackToLogsOnError)
		}
	}
	return pod
}

// commandOf returns the words of spec.command, or nil if the template has the command.
func commandOf(spec *cnatv1alpha1.AtSpec) ([]string, error) {
	if spec.Command == "" && spec.Template != nil {
		return nil, nil
	}
	return atspec.SplitCommand(spec.Command)
}

// defaultTemplate returns the template of an At without one. It passes Pod Security "restricted" and OpenShift's
// "restricted-v2".
func defaultTemplate(at *cnatv1alpha1.At, d Defaults) *corev1.PodTemplateSpec {
	// A namespace with 2000 Services would otherwise exceed the size of the environment.
	spec := corev1.PodSpec{ImagePullSecrets: d.PullSecrets, EnableServiceLinks: ptr.To(false), Containers: []corev1.Container{{
		Name:      atspec.DefaultContainer,
		Image:     d.Image,
		Env:       slices.Clone(d.Proxy),
		Resources: corev1.ResourceRequirements{Requests: defaultRequests.DeepCopy(), Limits: defaultLimits.DeepCopy()},
	}}}
	pods.OnLinux(&spec)
	pods.Restrict(&spec, d.FixedUser)
	return &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{labelApp: atrun.LabelValue(at)}}, Spec: spec}
}

// podDeadline returns the activeDeadlineSeconds of a pod: the rest of the deadline of the run when the attempt is due, or the template's own
// if that is shorter. The kubelet counts from the start of the pod on a node.
func podDeadline(v *View) *int64 {
	var own *int64
	if v.At.Spec.Template != nil {
		own = v.At.Spec.Template.Spec.ActiveDeadlineSeconds
	}
	left := v.At.Spec.ActiveDeadlineSeconds
	if deadline := v.deadline(); !deadline.IsZero() {
		due := v.Now
		if retry := v.At.Status.RetryTime; retry != nil && retry.After(due) {
			due = retry.Time
		}
		left = ptr.To(max(int64(deadline.Sub(due).Round(time.Second)/time.Second), 1))
	}
	if left == nil || own != nil && *own < *left {
		left = own
	}
	if left == nil {
		return nil
	}
	return ptr.To(*left) // The At belongs to a cache.
}

// gracePeriod returns how long the kubelet waits between SIGTERM and SIGKILL. The cache drops the default of Kubernetes.
func gracePeriod(pod *corev1.Pod) time.Duration {
	return atspec.Seconds(ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds))
}
