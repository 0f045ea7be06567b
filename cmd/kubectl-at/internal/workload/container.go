// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Images returns the image of the first container, and those of the others with their names.
func Images(pod *corev1.PodSpec) string {
	text := pod.Containers[0].Image
	for _, container := range slices.Concat(pod.Containers[1:], pod.InitContainers) {
		text += fmt.Sprintf(", %s (container %s)", container.Image, container.Name)
	}
	return text
}

// NotFixed returns what a pod reads only when it starts, and what can have changed by then: images without a digest,
// ConfigMaps, Secrets, and volumes whose content is elsewhere.
func NotFixed(pod *corev1.PodSpec) []string {
	var names []string
	add := func(kind, name string) {
		if text := "the " + kind + " " + name; name != "" && !slices.Contains(names, text) {
			names = append(names, text)
		}
	}
	addImage := func(image string) {
		if !strings.Contains(image, "@") {
			add("image", image)
		}
	}
	for _, c := range slices.Concat(pod.Containers, pod.InitContainers) {
		addImage(c.Image)
		for _, from := range c.EnvFrom {
			add("ConfigMap", ptr.Deref(from.ConfigMapRef, corev1.ConfigMapEnvSource{}).Name)
			add("Secret", ptr.Deref(from.SecretRef, corev1.SecretEnvSource{}).Name)
		}
		for _, variable := range c.Env {
			from := ptr.Deref(variable.ValueFrom, corev1.EnvVarSource{})
			add("ConfigMap", ptr.Deref(from.ConfigMapKeyRef, corev1.ConfigMapKeySelector{}).Name)
			add("Secret", ptr.Deref(from.SecretKeyRef, corev1.SecretKeySelector{}).Name)
		}
	}
	for _, volume := range pod.Volumes {
		switch v := volume.VolumeSource; {
		case v.ConfigMap != nil:
			add("ConfigMap", v.ConfigMap.Name)
		case v.Secret != nil:
			add("Secret", v.Secret.SecretName)
		case v.Image != nil:
			addImage(v.Image.Reference)
		case v.PersistentVolumeClaim != nil:
			add("claim", v.PersistentVolumeClaim.ClaimName)
		case v.Projected != nil:
			for _, source := range v.Projected.Sources {
				add("ConfigMap", ptr.Deref(source.ConfigMap, corev1.ConfigMapProjection{}).Name)
				add("Secret", ptr.Deref(source.Secret, corev1.SecretProjection{}).Name)
			}
		case v.EmptyDir == nil && v.DownwardAPI == nil && v.Ephemeral == nil: // The volume was there before the pod.
			add("volume", volume.Name)
		}
	}
	return names
}

// SetEnv sets variables of the form NAME=VALUE in a container.
func SetEnv(container *corev1.Container, variables []string) error {
	for _, variable := range variables {
		name, value, ok := strings.Cut(variable, "=")
		if !ok || name == "" {
			return fmt.Errorf("invalid --env %q: expected NAME=VALUE", variable)
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

var (
	// interpreters run a program that is one of their arguments, and do not prepare its environment.
	interpreters = regexp.MustCompile(`^(?:ba|da|a|k|z)?sh$|^(?:python|ruby|node|java|php|perl|bundle|npm|yarn)[\d.]*$`)
	// wrappers are programs that prepare the environment of another one.
	wrappers = regexp.MustCompile(`launcher|entrypoint|vault-env|doppler|chamber|envconsul|aws-vault|summon|infisical|secrets`)
)

// Entrypoint is the wrapper of a container whose arguments begin with a program.
const Entrypoint = "the ENTRYPOINT of its image"

// Wrapper returns the words with which a container probably starts a program that follows them, or Entrypoint, or "" if
// there is no sign of such a wrapper. A command of its own takes the place of all of them.
func Wrapper(c *corev1.Container) string {
	hasProgram := len(c.Args) > 0 && !strings.HasPrefix(c.Args[0], "-")
	if len(c.Command) == 0 {
		if hasProgram {
			return Entrypoint
		}
		return ""
	}
	switch first := path.Base(c.Command[0]); {
	case interpreters.MatchString(first):
		return ""
	case slices.Contains(c.Command, "--"):
		return strings.Join(c.Command[:slices.Index(c.Command, "--")+1], " ")
	case hasProgram:
		return strings.Join(c.Command, " ")
	case wrappers.MatchString(first):
		return c.Command[0]
	}
	return ""
}

// copyContainer copies what a command needs to run in the same way as a container. Probes, ports, and hooks belong to a
// server.
func (c *copier) copyContainer(from *corev1.Container) corev1.Container {
	result := corev1.Container{
		Name:            from.Name,
		Image:           from.Image,
		ImagePullPolicy: from.ImagePullPolicy,
		WorkingDir:      from.WorkingDir,
		Command:         from.Command,
		Args:            from.Args,
		Env:             c.copyEnv(from),
		EnvFrom:         from.EnvFrom,
		Resources:       from.Resources,
		SecurityContext: from.SecurityContext,
	}
	for _, claim := range from.Resources.Claims {
		c.claimed = append(c.claimed, claim.Name)
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
