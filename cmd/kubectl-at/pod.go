// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// podOptions are the flags that describe the pod.
type podOptions struct {
	from, image    string
	env            []string
	serviceAccount string
}

// isSet tells whether the flags say what the pod is made from. Otherwise the operator decides.
func (o *podOptions) isSet() bool { return o.from != "" || o.image != "" }

// template returns the pod template that the flags describe, nil for that of the operator, and warnings about it.
func (o *podOptions) template(ctx context.Context, c *cluster) (*corev1.PodTemplateSpec, []string, error) {
	if !o.isSet() {
		if len(o.env) > 0 || o.serviceAccount != "" {
			return nil, nil, errors.New("--env and --serviceaccount need --from or --image: without these, the operator decides about the pod")
		}
		return nil, nil, nil
	}
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: defaultContainerName}}}}
	var warnings []string
	if o.from != "" {
		from, err := parseReference(o.from)
		if err != nil {
			return nil, nil, err
		}
		spec, own, err := c.podSpec(ctx, from)
		if err != nil {
			return nil, nil, err
		}
		copied, missing, err := copyTemplate(spec, from.container, own)
		if err != nil {
			return nil, nil, err
		}
		template = copied
		for _, volume := range missing {
			warnings = append(warnings, fmt.Sprintf("the volume %q is left out: each pod of the %s %s has its own", volume, from.kind.Kind, from.name))
		}
	}
	if o.image != "" {
		template.Spec.Containers[0].Image = o.image
	}
	if o.serviceAccount != "" {
		template.Spec.ServiceAccountName = o.serviceAccount
	}
	return template, warnings, setEnv(&template.Spec.Containers[0], o.env)
}
