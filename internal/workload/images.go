// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Images returns the image of the first container, and those of the others with their names.
func Images(pod *corev1.PodSpec) string {
	text := pod.Containers[0].Image
	for _, container := range slices.Concat(pod.Containers[1:], pod.InitContainers) {
		text += fmt.Sprintf(", %s (container %s)", container.Image, container.Name)
	}
	return text
}

// NotFixed returns what a pod reads only when it starts, and what can have changed by then: images without a digest, and ConfigMaps.
func NotFixed(pod *corev1.PodSpec) []string {
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, c := range slices.Concat(pod.Containers, pod.InitContainers) {
		if !strings.Contains(c.Image, "@") {
			add("the image " + c.Image)
		}
		for _, from := range c.EnvFrom {
			if from.ConfigMapRef != nil {
				add("the ConfigMap " + from.ConfigMapRef.Name)
			}
		}
		for _, variable := range c.Env {
			if from := variable.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
				add("the ConfigMap " + from.ConfigMapKeyRef.Name)
			}
		}
	}
	for _, volume := range pod.Volumes {
		if volume.ConfigMap != nil {
			add("the ConfigMap " + volume.ConfigMap.Name)
		}
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.ConfigMap != nil {
				add("the ConfigMap " + source.ConfigMap.Name)
			}
		}
	}
	return names
}
