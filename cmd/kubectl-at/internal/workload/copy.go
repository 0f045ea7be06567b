// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubectl/pkg/cmd/util/podcmd"
	"k8s.io/utils/ptr"
)

// serviceAccountVolume is the prefix of the volume with the service account's token, which the API server adds to each
// pod.
const serviceAccountVolume = "kube-api-access-"

// Copy returns a pod template with one container of a pod, or the default one if containerName is "": its image,
// command, environment, volumes, resources, and security context, and the fields of the pod that determine its
// identity, permissions, network, and node. It has no probes, ports, or labels, so the application's Services send no
// traffic to its pods. The containers in with run beside it. Copy also returns what it left out and the command may
// need.
func (w *Workload) Copy(containerName string, with []string) (*corev1.PodTemplateSpec, []string, error) {
	pod := &w.Template.Spec
	container, err := podcmd.FindOrDefaultContainerByName(&corev1.Pod{ObjectMeta: w.Template.ObjectMeta, Spec: *pod}, containerName, true, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("invalid --from: %w", err)
	}
	c := &copier{from: w, container: container}
	if err := c.chooseHelpers(with); err != nil {
		return nil, nil, err
	}
	spec := corev1.PodSpec{
		Containers:                   []corev1.Container{c.copyContainer(container)},
		InitContainers:               c.copyHelpers(),
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
		if slices.Contains(c.claimed, claim.Name) {
			spec.ResourceClaims = append(spec.ResourceClaims, claim)
		}
	}
	c.omitOthers()
	return &corev1.PodTemplateSpec{Spec: *spec.DeepCopy()}, c.omitted, nil
}

// copier copies what one container of a workload needs, and collects what it omits.
type copier struct {
	from      *Workload
	container *corev1.Container  // of the command
	helpers   []corev1.Container // of --with, as init containers
	mounted   []string           // the volumes of the copy
	claimed   []string           // the resource claims of the copy
	unset     []string           // the omitted variables, as $(NAME)
	omitted   []string           // everything that is omitted, for a message
}

func (c *copier) omit(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(c.omitted, text) {
		c.omitted = append(c.omitted, text)
	}
}

// chooseHelpers finds the containers of --with. An ordinary container becomes a native sidecar, which starts before the
// command and ends after it.
func (c *copier) chooseHelpers(with []string) error {
	pod := &c.from.Template.Spec
	var names []string
	for i, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		if container.Name == c.container.Name {
			continue
		}
		names = append(names, container.Name)
		if slices.Contains(with, container.Name) {
			if i >= len(pod.InitContainers) {
				container.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
			}
			c.helpers = append(c.helpers, container)
		}
	}
	for _, name := range with {
		if !slices.Contains(names, name) {
			return fmt.Errorf("invalid --with %q: must be one of the other containers of the %s %s: %s", name, c.from.Kind, c.from.Name,
				cmp.Or(strings.Join(names, ", "), "it has none"))
		}
	}
	return nil
}

func (c *copier) isCopied(name string) bool {
	return name == c.container.Name || slices.ContainsFunc(c.helpers, func(h corev1.Container) bool { return h.Name == name })
}

// omitOthers reports the hooks of the container, the other containers of the pod, what belongs to one pod, and the
// limits of a Job.
func (c *copier) omitOthers() {
	pod := &c.from.Template.Spec
	for i, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		kind := "container"
		if i < len(pod.InitContainers) {
			kind = "init container"
		}
		if name := container.Name; !c.isCopied(name) {
			c.omit("the %s %s (--with %s copies it)", kind, name, name)
		}
	}
	hooks := cmp.Or(c.container.Lifecycle, &corev1.Lifecycle{}) // preStop is for a server that drains.
	for _, field := range []struct {
		name  string
		isSet bool
	}{
		{"the hook postStart", hooks.PostStart != nil}, {"the resources of the whole pod", pod.Resources != nil},
		{"the host name " + cmp.Or(pod.Hostname, ptr.Deref(pod.HostnameOverride, "")), pod.Hostname != "" || pod.HostnameOverride != nil},
		{"the subdomain " + pod.Subdomain, pod.Subdomain != ""}, {"shareProcessNamespace", ptr.Deref(pod.ShareProcessNamespace, false)},
		{"the scheduling gates", len(pod.SchedulingGates) > 0},
	} {
		if field.isSet {
			c.omit("%s", field.name)
		}
	}
	for _, limit := range c.from.Limits {
		c.omit("%s", limit)
	}
}

// copyHelpers copies the containers of --with. It keeps their hooks and startup probes, because the command waits for
// them. Only one pod of a node can have a host port.
func (c *copier) copyHelpers() []corev1.Container {
	var copied []corev1.Container
	for i := range c.helpers {
		from := c.helpers[i].DeepCopy()
		helper := c.copyContainer(from)
		helper.RestartPolicy, helper.StartupProbe, helper.Lifecycle, helper.Ports = from.RestartPolicy, from.StartupProbe, from.Lifecycle, from.Ports
		for j := range helper.Ports {
			helper.Ports[j].HostPort = 0
		}
		copied = append(copied, helper)
	}
	return copied
}

// copies reports whether a volume that the container uses is copied.
func (c *copier) copies(volume string) bool {
	switch {
	case slices.Contains(c.from.Claims, volume):
		c.omit("the volume %s, of which each pod has its own", volume)
		return false
	case strings.HasPrefix(volume, serviceAccountVolume):
		return false
	}
	c.mounted = append(c.mounted, volume)
	return true
}

// isOfOther reports whether a reference to resources is about a container that is not copied.
func (c *copier) isOfOther(resources *corev1.ResourceFieldSelector) bool {
	return resources != nil && resources.ContainerName != "" && !c.isCopied(resources.ContainerName)
}

// isWritten reports whether an init container of the copy can write the files of a volume.
func (c *copier) isWritten(volume string) bool {
	return slices.ContainsFunc(c.helpers, func(h corev1.Container) bool {
		return slices.ContainsFunc(h.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume })
	})
}

// copyEnv omits variables that the kubelet could not set, since it would then never start the container.
func (c *copier) copyEnv(container *corev1.Container) []corev1.EnvVar {
	var copied []corev1.EnvVar
	for _, variable := range container.Env {
		switch from := variable.ValueFrom; {
		case from != nil && c.isOfOther(from.ResourceFieldRef):
			c.omit("the variable %s of the container %s", variable.Name, from.ResourceFieldRef.ContainerName)
			c.unset = append(c.unset, "$("+variable.Name+")")
		case from != nil && from.FileKeyRef != nil && !c.isWritten(from.FileKeyRef.VolumeName): // An init container writes the file.
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

// copyVolumes returns the volumes that the copy mounts, without files about other containers.
func (c *copier) copyVolumes() []corev1.Volume {
	var copied []corev1.Volume
	for _, volume := range c.from.Template.Spec.Volumes {
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

// copyAffinity returns the node affinity, unless it selects the single node of a pod. Pod affinity depends on labels,
// which are not copied.
func (c *copier) copyAffinity() *corev1.Affinity {
	from := c.from.Template.Spec.Affinity
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
