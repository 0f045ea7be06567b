// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

// source is a kind that --from takes.
type source struct {
	kind  schema.GroupVersionKind
	names []string // in lower case, the longest form first
}

var sources = []source{
	{appsv1.SchemeGroupVersion.WithKind("Deployment"), []string{"deployments", "deployment", "deploy"}},
	{appsv1.SchemeGroupVersion.WithKind("StatefulSet"), []string{"statefulsets", "statefulset", "sts"}},
	{appsv1.SchemeGroupVersion.WithKind("DaemonSet"), []string{"daemonsets", "daemonset", "ds"}},
	{appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), []string{"replicasets", "replicaset", "rs"}},
	{batchv1.SchemeGroupVersion.WithKind("Job"), []string{"jobs", "job"}},
	{batchv1.SchemeGroupVersion.WithKind("CronJob"), []string{"cronjobs", "cronjob", "cj"}},
	{appv1alpha1.GroupVersion.WithKind("PodSet"), []string{"podsets", "podset", "pset"}},
	{corev1.SchemeGroupVersion.WithKind("Pod"), []string{"pods", "pod", "po"}},
}

// reference is KIND/NAME[:CONTAINER].
type reference struct {
	kind            schema.GroupVersionKind
	name, container string
}

// parseReference reads the value of --from.
func parseReference(text string) (reference, error) {
	kind, rest, _ := strings.Cut(text, "/")
	name, container, hasContainer := strings.Cut(rest, ":")
	if kind == "" || name == "" || strings.Contains(name, "/") || hasContainer && container == "" {
		return reference{}, fmt.Errorf("--from %s: it is KIND/NAME or KIND/NAME:CONTAINER, such as deploy/web", text)
	}
	var known []string
	for _, s := range sources {
		if slices.Contains(s.names, strings.ToLower(kind)) {
			return reference{s.kind, name, container}, nil
		}
		known = append(known, s.names[len(s.names)-1])
	}
	return reference{}, fmt.Errorf("--from %s: the kind %q has no pod template; it can be %s", text, kind, strings.Join(known, ", "))
}

// podSpec returns what the pods of a workload are made from, and the names of volumes that each of its pods has for itself.
func (c *cluster) podSpec(ctx context.Context, from reference) (*corev1.PodSpec, []string, error) {
	obj, err := scheme.New(from.kind)
	if err != nil {
		return nil, nil, err
	}
	object := obj.(client.Object)
	if err := c.Get(ctx, c.key(from.name), object); err != nil {
		return nil, nil, err
	}
	switch o := object.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template.Spec, nil, nil
	case *appsv1.StatefulSet:
		var own []string
		for _, claim := range o.Spec.VolumeClaimTemplates {
			own = append(own, claim.Name)
		}
		return &o.Spec.Template.Spec, own, nil
	case *appsv1.DaemonSet:
		return &o.Spec.Template.Spec, nil, nil
	case *appsv1.ReplicaSet:
		return &o.Spec.Template.Spec, nil, nil
	case *batchv1.Job:
		return &o.Spec.Template.Spec, nil, nil
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template.Spec, nil, nil
	case *appv1alpha1.PodSet:
		if o.Spec.Template == nil {
			return nil, nil, fmt.Errorf("--from: the PodSet %s has no template", from.name)
		}
		return &o.Spec.Template.Spec, nil, nil
	case *corev1.Pod:
		return &o.Spec, nil, nil
	}
	return nil, nil, fmt.Errorf("--from: %s has no pod template", from.kind.Kind) // every source is above
}
