// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
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
	"github.com/redhat/podset-operator/internal/pods"
)

const (
	// annotationDefaultContainer names the container that kubectl logs shows if webhooks have added others.
	annotationDefaultContainer = "kubectl.kubernetes.io/default-container"
	// labelApp is a label that Services and people commonly select by. It has the name of the At unless the template sets it.
	labelApp = "app"
	// defaultContainer runs the command of an At without a template.
	defaultContainer = "busybox"
)

// The resources of an At without a template: enough for a shell and the programs of busybox. They pass the usual minimums of a LimitRange,
// and a ratio of limit to request of 10.
var (
	defaultRequests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("32Mi")}
	defaultLimits   = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("128Mi")}
)

func atKind() schema.GroupVersionKind { return cnatv1alpha1.GroupVersion.WithKind("At") }

// newPod returns the pod of an attempt. The command splits or is absent, and the template has a container: unusable has checked
// both.
func newPod(o Observation, attempt int) *corev1.Pod {
	template := o.At.Spec.Template
	if template == nil {
		template = defaultTemplate(o.Defaults)
	}
	pod := pods.FromTemplate(template, PodName(o.At, attempt), o.At, atKind())
	maps.Copy(pod.Labels, SelectorLabels(o.At))
	if _, ok := pod.Labels[labelApp]; !ok {
		pod.Labels[labelApp] = labelValue(o.At)
	}
	if _, ok := pod.Annotations[annotationDefaultContainer]; !ok {
		pod.Annotations[annotationDefaultContainer] = containerName(o.At)
	}
	pod.Annotations[cnatv1alpha1.AnnotationContainer] = containerName(o.At)
	pod.Annotations[cnatv1alpha1.AnnotationAttempt] = strconv.Itoa(attempt)
	pod.Annotations[cnatv1alpha1.AnnotationUID] = string(o.At.UID)
	pod.Annotations[cnatv1alpha1.AnnotationGeneration] = strconv.FormatInt(o.At.Generation, 10)

	spec := &pod.Spec
	spec.RestartPolicy = corev1.RestartPolicyNever
	spec.ActiveDeadlineSeconds = podDeadline(o)
	main := &spec.Containers[0]
	if o.At.Spec.Command != "" {
		words, _ := SplitCommand(o.At.Spec.Command)
		main.Command = containerCommand(words)
	}
	if main.TerminationMessagePolicy == "" {
		main.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}
	return pod
}

// SelectorLabels returns the labels of the pods of an At.
func SelectorLabels(at *cnatv1alpha1.At) map[string]string {
	return map[string]string{pods.LabelManagedBy: pods.ManagedBy, cnatv1alpha1.LabelAt: labelValue(at)}
}

// defaultTemplate returns the template of an At without one. It passes Pod Security "restricted" and OpenShift's
// "restricted-v2".
func defaultTemplate(d Defaults) *corev1.PodTemplateSpec {
	spec := corev1.PodSpec{Containers: []corev1.Container{{
		Name:      defaultContainer,
		Image:     d.Image,
		Env:       slices.Clone(d.Proxy),
		Resources: corev1.ResourceRequirements{Requests: defaultRequests.DeepCopy(), Limits: defaultLimits.DeepCopy()},
	}}}
	pods.OnLinux(&spec)
	pods.Restrict(&spec, d.FixedUser)
	return &corev1.PodTemplateSpec{Spec: spec}
}

// KeepSpec returns what a cache must keep of the spec of a pod: whether its containers can be restarted, its deadline, and, if it is the
// pod of an At and admission has renamed the container of the command, what the containers run.
func KeepSpec(pod *corev1.Pod) corev1.PodSpec {
	kept := corev1.PodSpec{RestartPolicy: pod.Spec.RestartPolicy, ActiveDeadlineSeconds: pod.Spec.ActiveDeadlineSeconds}
	if slices.ContainsFunc(pod.Spec.Containers, mayRestart) || slices.ContainsFunc(pod.Spec.InitContainers, pods.HasRestartRules) {
		kept.RestartPolicy = corev1.RestartPolicyAlways
	}
	name := pod.Annotations[cnatv1alpha1.AnnotationContainer]
	isNamed := slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	if pod.Spec.RestartPolicy == corev1.RestartPolicyNever && !isNamed {
		for _, c := range pod.Spec.Containers {
			kept.Containers = append(kept.Containers, corev1.Container{Name: c.Name, Image: c.Image, Command: c.Command})
		}
	}
	return kept
}

// renamedContainer returns the name of the container that runs the command, or "" if it is not known: the one that has its name, that is
// the only one, or the only one that runs its words or its image.
func renamedContainer(at *cnatv1alpha1.At, containers []corev1.Container) string {
	words, _ := SplitCommand(at.Spec.Command)
	command, image := containerCommand(words), ""
	if t := at.Spec.Template; t != nil && len(t.Spec.Containers) > 0 {
		image = t.Spec.Containers[0].Image
	}
	for _, matches := range []func(corev1.Container) bool{
		func(c corev1.Container) bool { return c.Name == containerName(at) },
		func(corev1.Container) bool { return true },
		func(c corev1.Container) bool { return len(command) > 0 && slices.Equal(c.Command, command) },
		func(c corev1.Container) bool { return c.Image == image },
	} {
		if found := slices.DeleteFunc(slices.Clone(containers), func(c corev1.Container) bool { return !matches(c) }); len(found) == 1 {
			return found[0].Name
		}
	}
	return ""
}

// generationOf returns the generation of the spec that a pod was created from, or 0 if it is not known.
func generationOf(pod *corev1.Pod) int64 {
	generation, err := strconv.ParseInt(pod.Annotations[cnatv1alpha1.AnnotationGeneration], 10, 64)
	if err != nil {
		return 0
	}
	return generation
}

// containerName returns the name of the container that runs the command.
func containerName(at *cnatv1alpha1.At) string {
	if t := at.Spec.Template; t != nil && len(t.Spec.Containers) > 0 {
		return t.Spec.Containers[0].Name
	}
	return defaultContainer
}

// isOfOlderAt reports whether a conflicting pod belongs to a deleted At of the same name. Two Ats of the same name never exist
// at the same time, so the garbage collector will remove that pod.
func isOfOlderAt(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == atKind().Kind && owner.Name == at.Name && owner.UID != at.UID &&
		schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group == cnatv1alpha1.GroupVersion.Group
}

// podDeadline returns the activeDeadlineSeconds of a pod that is created now: the rest of the deadline of the run, or the
// template's own if that is shorter. The kubelet counts from the start of the pod on a node.
func podDeadline(o Observation) *int64 {
	r := o.run
	var own *int64
	if o.At.Spec.Template != nil {
		own = o.At.Spec.Template.Spec.ActiveDeadlineSeconds
	}
	left := o.At.Spec.ActiveDeadlineSeconds
	if left != nil && (r.newest != nil || !r.retry.IsZero()) {
		left = ptr.To(max(int64(r.deadline(o.At).Sub(o.Now).Round(time.Second)/time.Second), 1))
	}
	if left == nil || own != nil && *own < *left {
		left = own
	}
	if left == nil {
		return nil
	}
	return ptr.To(*left) // The At belongs to a cache.
}

// gracePeriod returns how long the kubelet waits between SIGTERM and SIGKILL. The default of Kubernetes is 30 s.
func gracePeriod(at *cnatv1alpha1.At) time.Duration {
	if t := at.Spec.Template; t != nil && t.Spec.TerminationGracePeriodSeconds != nil {
		return seconds(*t.Spec.TerminationGracePeriodSeconds)
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}
