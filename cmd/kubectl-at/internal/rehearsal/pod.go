// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rehearsal decides what a rehearsal of an At sends, and what the state of its pod shows. It is pure.
//
// The pod of a rehearsal is that of the At, but the program of each container cannot be executed: the node pulls the
// images, mounts the volumes, and sets up the user and the working directory, and the container runtime refuses the
// last step. Init containers are containers of this pod, because those after the first would otherwise not be reached.
package rehearsal

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/pods"
)

const (
	// noProgram cannot be executed in any image, because /dev/null is not a directory.
	noProgram = "/dev/null/rehearsal"
	// lookName is the container that copies busybox into the volume of the same name.
	lookName    = "rehearsal"
	lookMount   = "/.rehearsal"
	lookProgram = lookMount + "/busybox"
	nobody      = 65534
)

// lookScript looks for a program as the container runtime and the kernel do. It executes nothing but busybox.
//
//go:embed look.sh
var lookScript string

// NewPod returns the pod of a rehearsal. If it is left, the kubelet ends it after the limit, and the garbage collector
// deletes it with the At. With an image that has a static busybox, the containers look for their programs.
func NewPod(at *cnatv1alpha1.At, limit time.Duration, image string) *corev1.Pod {
	pod := spec.NewPod(at, spec.Defaults{}, 0)
	pod.Name = spec.LabelValue(at) + "-rehearsal"
	pod.Labels, pod.Finalizers = map[string]string{cnatv1alpha1.LabelRehearsal: spec.LabelValue(at)}, nil
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: cnatv1alpha1.GroupVersion.String(), Kind: "At", Name: at.Name, UID: at.UID}}
	for _, key := range []string{cnatv1alpha1.AnnotationAttempt, cnatv1alpha1.AnnotationContainer, cnatv1alpha1.AnnotationGeneration} {
		delete(pod.Annotations, key)
	}
	spec, command := &pod.Spec, pod.Spec.Containers[0]
	spec.SchedulingGates, spec.ReadinessGates = nil, nil
	spec.PriorityClassName, spec.Priority, spec.PreemptionPolicy = "", nil, nil // It must not preempt other pods.
	spec.ActiveDeadlineSeconds, spec.TerminationGracePeriodSeconds = ptr.To(int64(limit/time.Second)), ptr.To[int64](1)
	joinInitContainers(pod)
	for i := range spec.Containers {
		c := &spec.Containers[i]
		c.Command, c.Args = programOf(c, image != ""), nil
		c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle = nil, nil, nil, nil
		c.RestartPolicy, c.RestartPolicyRules, c.Stdin, c.StdinOnce, c.TTY = nil, nil, false, false, false
		c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}
	if image != "" {
		addLook(spec, image, &command)
	}
	return pod
}

// programOf returns the command of a container: the look for its program, or what cannot be executed. An absolute path
// with a slash behind it is such a command, and the runtime says whether the file exists. In a volume, it may exist
// only later.
func programOf(c *corev1.Container, look bool) []string {
	program := append(c.Command, "")[0]
	if look {
		return append(spec.ContainerCommand([]string{lookProgram, "sh", "-c", lookScript, lookProgram}), program)
	}
	isMounted := func(m corev1.VolumeMount) bool {
		return strings.HasPrefix(program+"/", strings.TrimSuffix(m.MountPath, "/")+"/")
	}
	if !strings.HasPrefix(program, "/") || slices.ContainsFunc(c.VolumeMounts, isMounted) {
		return []string{noProgram}
	}
	return []string{program + "/"}
}

// joinInitContainers makes the init containers containers. The first one requests what they need above the containers,
// so that the pod needs as much of a node as before.
func joinInitContainers(pod *corev1.Pod) {
	whole, spec := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}), &pod.Spec
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if pods.IsSidecar(c) {
			continue
		}
		c.Ports = nil
		for _, list := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
			for name := range list {
				list[name] = resource.Quantity{}
			}
		}
	}
	spec.InitContainers, spec.Containers = nil, append(spec.InitContainers, spec.Containers...)
	joined, first := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}), &spec.Containers[0].Resources
	for name, more := range whole {
		if more.Sub(joined[name]); more.Sign() <= 0 {
			continue
		}
		request := first.Requests[name]
		request.Add(more)
		if first.Requests == nil {
			first.Requests = corev1.ResourceList{}
		}
		first.Requests[name] = request
		if limit, ok := first.Limits[name]; ok && limit.Cmp(request) < 0 {
			first.Limits[name] = request
		}
	}
}

// addLook adds the container that copies busybox to where the others find it, with the user and at most the permissions
// of the command.
func addLook(spec *corev1.PodSpec, image string, command *corev1.Container) {
	mount := corev1.VolumeMount{Name: lookName, MountPath: lookMount}
	for i := range spec.Containers {
		spec.Containers[i].VolumeMounts = append(spec.Containers[i].VolumeMounts, mount)
	}
	security, ofPod := ptr.Deref(command.SecurityContext.DeepCopy(), corev1.SecurityContext{}), ptr.Deref(spec.SecurityContext, corev1.PodSecurityContext{})
	security.Privileged, security.AllowPrivilegeEscalation = nil, ptr.To(false)
	security.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
	if ptr.Deref(cmp.Or(security.RunAsNonRoot, ofPod.RunAsNonRoot), false) && cmp.Or(security.RunAsUser, ofPod.RunAsUser) == nil {
		security.RunAsUser = ptr.To[int64](nobody) // That of the image of busybox is root.
	}
	spec.InitContainers = []corev1.Container{{
		Name: lookName, Image: image, Command: []string{"/bin/busybox", "cp", "/bin/busybox", lookProgram},
		VolumeMounts: []corev1.VolumeMount{mount}, Resources: command.Resources, SecurityContext: &security,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: lookName, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
}
