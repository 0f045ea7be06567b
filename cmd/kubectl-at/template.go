// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// defaultContainerName is the name of the container of --image.
const defaultContainerName = "main"

// serviceAccountVolume is how the volume of the service account's token begins, which the API server adds to each pod.
const serviceAccountVolume = "kube-api-access-"

// copyTemplate returns a pod template with one container of a pod: its image, command, environment, volumes, resources, and
// security context, and of the pod what determines who it is, what it may do, what it sees of the network, and where it may run. It
// has no probes, ports, or labels, so no Service of the application sends traffic to its pods. Volumes of the names in own are left out, and
// returned if the container mounts them: each pod of a StatefulSet has its own.
func copyTemplate(from *corev1.PodSpec, containerName string, own []string) (*corev1.PodTemplateSpec, []string, error) {
	container, err := findContainer(from, containerName)
	if err != nil {
		return nil, nil, err
	}
	var missing []string
	leftOut := func(volume string) bool {
		if slices.Contains(own, volume) {
			missing = append(missing, volume)
			return true
		}
		return strings.HasPrefix(volume, serviceAccountVolume)
	}
	result := copyContainer(container)
	mounted := map[string]bool{}
	for _, mount := range container.VolumeMounts {
		if !leftOut(mount.Name) {
			result.VolumeMounts = append(result.VolumeMounts, mount)
			mounted[mount.Name] = true
		}
	}
	for _, device := range container.VolumeDevices {
		if !leftOut(device.Name) {
			result.VolumeDevices = append(result.VolumeDevices, device)
			mounted[device.Name] = true
		}
	}
	spec := corev1.PodSpec{
		Containers:                   []corev1.Container{result},
		ServiceAccountName:           from.ServiceAccountName,
		AutomountServiceAccountToken: from.AutomountServiceAccountToken,
		ImagePullSecrets:             from.ImagePullSecrets,
		SecurityContext:              from.SecurityContext,
		NodeSelector:                 from.NodeSelector,
		Tolerations:                  from.Tolerations,
		RuntimeClassName:             from.RuntimeClassName,
		HostUsers:                    from.HostUsers,
		EnableServiceLinks:           from.EnableServiceLinks,
		DNSPolicy:                    from.DNSPolicy,
		DNSConfig:                    from.DNSConfig,
		HostAliases:                  from.HostAliases,
	}
	for _, claim := range from.ResourceClaims {
		if slices.ContainsFunc(container.Resources.Claims, func(c corev1.ResourceClaim) bool { return c.Name == claim.Name }) {
			spec.ResourceClaims = append(spec.ResourceClaims, claim)
		}
	}
	for _, volume := range from.Volumes {
		if mounted[volume.Name] {
			spec.Volumes = append(spec.Volumes, volume)
		}
	}
	return &corev1.PodTemplateSpec{Spec: *spec.DeepCopy()}, missing, nil
}

// copyContainer copies what the command needs to run as the container does. Probes, ports, and hooks belong to a server.
func copyContainer(from *corev1.Container) corev1.Container {
	return corev1.Container{
		Name:            from.Name,
		Image:           from.Image,
		ImagePullPolicy: from.ImagePullPolicy,
		WorkingDir:      from.WorkingDir,
		Command:         from.Command,
		Args:            from.Args,
		Env:             from.Env,
		EnvFrom:         from.EnvFrom,
		Resources:       from.Resources,
		SecurityContext: from.SecurityContext,
	}
}

// findContainer returns the container of a name, or the first.
func findContainer(spec *corev1.PodSpec, name string) (*corev1.Container, error) {
	var names []string
	for i := range spec.Containers {
		if name == "" || spec.Containers[i].Name == name {
			return &spec.Containers[i], nil
		}
		names = append(names, spec.Containers[i].Name)
	}
	return nil, fmt.Errorf("--from: there is no container %q; there is %s", name, strings.Join(names, ", "))
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
