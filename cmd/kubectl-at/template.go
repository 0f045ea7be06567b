// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubectl/pkg/cmd/util/podcmd"
)

// defaultContainerName is the name of the container of --image.
const defaultContainerName = "main"

// serviceAccountVolume is how the volume of the service account's token begins, which the API server adds to each pod.
const serviceAccountVolume = "kube-api-access-"

// copyTemplate returns a pod template with one container of a pod: its image, command, environment, volumes, resources, and
// security context, and of the pod what determines who it is, what it may do, what it sees of the network, and where it may run. It
// has no probes, ports, or labels, so no Service of the application sends traffic to its pods. It also returns what is left out and
// the command may need.
func copyTemplate(from *workload, containerName string) (*corev1.PodTemplateSpec, []string, error) {
	pod := &from.template.Spec
	container, err := podcmd.FindOrDefaultContainerByName(&corev1.Pod{ObjectMeta: from.template.ObjectMeta, Spec: *pod}, containerName, true, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("--from: %w", err)
	}
	c := &copier{from: from, container: container}
	spec := corev1.PodSpec{
		Containers:                   []corev1.Container{c.copyContainer()},
		ServiceAccountName:           pod.ServiceAccountName,
		AutomountServiceAccountToken: pod.AutomountServiceAccountToken,
		ImagePullSecrets:             pod.ImagePullSecrets,
		SecurityContext:              pod.SecurityContext,
		NodeSelector:                 pod.NodeSelector,
		Affinity:                     c.copyAffinity(),
		Tolerations:                  pod.Tolerations,
		PriorityClassName:            pod.PriorityClassName,
		RuntimeClassName:             pod.RuntimeClassName,
		OS:                           pod.OS,
		HostUsers:                    pod.HostUsers,
		HostNetwork:                  pod.HostNetwork,
		HostPID:                      pod.HostPID,
		HostIPC:                      pod.HostIPC,
		EnableServiceLinks:           pod.EnableServiceLinks,
		DNSPolicy:                    pod.DNSPolicy,
		DNSConfig:                    pod.DNSConfig,
		HostAliases:                  pod.HostAliases,
		Volumes:                      c.copyVolumes(),
	}
	if grace := pod.TerminationGracePeriodSeconds; grace != nil && *grace != corev1.DefaultTerminationGracePeriodSeconds {
		spec.TerminationGracePeriodSeconds = grace
	}
	if pod.SchedulerName != corev1.DefaultSchedulerName {
		spec.SchedulerName = pod.SchedulerName
	}
	for _, claim := range pod.ResourceClaims {
		if slices.ContainsFunc(container.Resources.Claims, func(c corev1.ResourceClaim) bool { return c.Name == claim.Name }) {
			spec.ResourceClaims = append(spec.ResourceClaims, claim)
		}
	}
	c.omitContainers()
	c.omitLimits()
	return &corev1.PodTemplateSpec{Spec: *spec.DeepCopy()}, c.omitted, nil
}

// copier copies what one container of a workload needs, and collects what it leaves out.
type copier struct {
	from      *workload
	container *corev1.Container
	mounted   []string // the volumes of the copy
	unset     []string // the variables that are left out, as $(NAME)
	omitted   []string // all that is left out, for a message
}

func (c *copier) omit(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(c.omitted, text) {
		c.omitted = append(c.omitted, text)
	}
}

// omitContainers names the other containers of the pod.
func (c *copier) omitContainers() {
	for i := range c.from.template.Spec.InitContainers {
		if name := c.from.template.Spec.InitContainers[i].Name; name != c.container.Name {
			c.omit("the init container %s", name)
		}
	}
	for i := range c.from.template.Spec.Containers {
		if name := c.from.template.Spec.Containers[i].Name; name != c.container.Name {
			c.omit("the container %s", name)
		}
	}
	if c.from.template.Spec.Resources != nil {
		c.omit("the resources of the whole pod")
	}
}

// omitLimits names the host name, which is that of one pod, and the deadline, which --deadline sets.
func (c *copier) omitLimits() {
	if name := c.from.template.Spec.Hostname; name != "" {
		c.omit("the host name %s", name)
	}
	for _, deadline := range []*int64{c.from.deadline, c.from.template.Spec.ActiveDeadlineSeconds} {
		if deadline != nil {
			c.omit("the deadline of %ds", *deadline)
		}
	}
}

// copyContainer copies what the command needs to run as the container does. Probes, ports, and hooks belong to a server.
func (c *copier) copyContainer() corev1.Container {
	from := c.container
	result := corev1.Container{
		Name:            from.Name,
		Image:           from.Image,
		ImagePullPolicy: from.ImagePullPolicy,
		WorkingDir:      from.WorkingDir,
		Command:         from.Command,
		Args:            from.Args,
		Env:             c.copyEnv(),
		EnvFrom:         from.EnvFrom,
		Resources:       from.Resources,
		SecurityContext: from.SecurityContext,
	}
	for _, mount := range from.VolumeMounts {
		switch {
		case slices.ContainsFunc(c.unset, func(name string) bool { return strings.Contains(mount.SubPathExpr, name) }):
			c.omit("the volume at %s", mount.MountPath)
		case c.copies(mount.Name):
			result.VolumeMounts = append(result.VolumeMounts, mount)
		}
	}
	for _, device := range from.VolumeDevices {
		if c.copies(device.Name) {
			result.VolumeDevices = append(result.VolumeDevices, device)
		}
	}
	return result
}

// copies reports whether a volume that the container uses is copied.
func (c *copier) copies(volume string) bool {
	switch {
	case slices.Contains(c.from.claims, volume):
		c.omit("the volume %s, of which each pod has its own", volume)
		return false
	case strings.HasPrefix(volume, serviceAccountVolume):
		return false
	}
	c.mounted = append(c.mounted, volume)
	return true
}

// isOfOther reports whether a reference to resources is to those of a container that is not copied.
func (c *copier) isOfOther(resources *corev1.ResourceFieldSelector) bool {
	return resources != nil && resources.ContainerName != "" && resources.ContainerName != c.container.Name
}

// copyEnv leaves out variables that the kubelet could not set, since it would then never start the container.
func (c *copier) copyEnv() []corev1.EnvVar {
	var copied []corev1.EnvVar
	for _, variable := range c.container.Env {
		switch from := variable.ValueFrom; {
		case from != nil && c.isOfOther(from.ResourceFieldRef):
			c.omit("the variable %s of the container %s", variable.Name, from.ResourceFieldRef.ContainerName)
			c.unset = append(c.unset, "$("+variable.Name+")")
		case from != nil && from.FileKeyRef != nil: // An init container writes the file.
			c.omit("the variable %s of the volume %s", variable.Name, from.FileKeyRef.VolumeName)
			c.unset = append(c.unset, "$("+variable.Name+")")
		default:
			copied = append(copied, variable)
			if from != nil && from.FieldRef != nil {
				c.omitMetadata(from.FieldRef, "the variable "+variable.Name)
			}
		}
	}
	return copied
}

// metadataField has the kind and the key of a label or an annotation in a fieldPath.
var metadataField = regexp.MustCompile(`^metadata\.(label|annotation)s\['(.*)'\]$`)

// omitMetadata names a label or an annotation that something in the copy reads, and that is not copied.
func (c *copier) omitMetadata(field *corev1.ObjectFieldSelector, reader string) {
	if match := metadataField.FindStringSubmatch(field.FieldPath); match != nil {
		c.omit("the %s %s that %s reads", match[1], match[2], reader)
	}
}

// copyVolumes returns the volumes that the copy mounts, without files about other containers.
func (c *copier) copyVolumes() []corev1.Volume {
	var copied []corev1.Volume
	for _, volume := range c.from.template.Spec.Volumes {
		if !slices.Contains(c.mounted, volume.Name) {
			continue
		}
		volume = *volume.DeepCopy()
		isOfOther := func(file corev1.DownwardAPIVolumeFile) bool {
			if c.isOfOther(file.ResourceFieldRef) {
				c.omit("the file %s of the container %s in the volume %s", file.Path, file.ResourceFieldRef.ContainerName, volume.Name)
				return true
			}
			if file.FieldRef != nil {
				c.omitMetadata(file.FieldRef, "the file "+file.Path)
			}
			return false
		}
		if volume.DownwardAPI != nil {
			volume.DownwardAPI.Items = slices.DeleteFunc(volume.DownwardAPI.Items, isOfOther)
		}
		if volume.Projected != nil {
			for i := range volume.Projected.Sources {
				if source := &volume.Projected.Sources[i]; source.DownwardAPI != nil {
					source.DownwardAPI.Items = slices.DeleteFunc(source.DownwardAPI.Items, isOfOther)
				}
			}
		}
		copied = append(copied, volume)
	}
	return copied
}

// copyAffinity returns the node affinity, unless it names the one node of a pod. The affinity to other pods depends on labels, which are
// not copied.
func (c *copier) copyAffinity() *corev1.Affinity {
	from := c.from.template.Spec.Affinity
	if from == nil {
		return nil
	}
	if from.PodAffinity != nil && len(from.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		c.omit("the required pod affinity")
	}
	if from.PodAntiAffinity != nil && len(from.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		c.omit("the required pod anti-affinity")
	}
	if from.NodeAffinity == nil {
		return nil
	}
	if required := from.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil &&
		slices.ContainsFunc(required.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool { return len(t.MatchFields) > 0 }) {
		c.omit("the affinity to a node by its name")
		return nil
	}
	return &corev1.Affinity{NodeAffinity: from.NodeAffinity}
}

// setEnv sets variables of the form NAME=VALUE in a container.
func setEnv(container *corev1.Container, variables []string) error {
	for _, variable := range variables {
		name, value, ok := strings.Cut(variable, "=")
		if !ok || name == "" {
			return fmt.Errorf("--env %s: it is NAME=VALUE", variable)
		}
		replaced := false
		for i := range container.Env {
			if container.Env[i].Name == name { // In its place: a variable can refer to those before it.
				container.Env[i], replaced = corev1.EnvVar{Name: name, Value: value}, true
			}
		}
		if !replaced {
			container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
		}
	}
	return nil
}
