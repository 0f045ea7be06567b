// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

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
