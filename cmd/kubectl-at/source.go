// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// source is a kind that --from takes.
type source struct {
	kind  schema.GroupVersionKind
	names []string // in lower case, the longest form first
}

var atKind = cnatv1alpha1.GroupVersion.WithKind("At")

var sources = []source{
	{appsv1.SchemeGroupVersion.WithKind("Deployment"), []string{"deployments", "deployment", "deploy"}},
	{appsv1.SchemeGroupVersion.WithKind("StatefulSet"), []string{"statefulsets", "statefulset", "sts"}},
	{appsv1.SchemeGroupVersion.WithKind("DaemonSet"), []string{"daemonsets", "daemonset", "ds"}},
	{appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), []string{"replicasets", "replicaset", "rs"}},
	{corev1.SchemeGroupVersion.WithKind("ReplicationController"), []string{"replicationcontrollers", "replicationcontroller", "rc"}},
	{batchv1.SchemeGroupVersion.WithKind("Job"), []string{"jobs", "job"}},
	{batchv1.SchemeGroupVersion.WithKind("CronJob"), []string{"cronjobs", "cronjob", "cj"}},
	{appv1alpha1.GroupVersion.WithKind("PodSet"), []string{"podsets", "podset", "pset"}},
	{corev1.SchemeGroupVersion.WithKind("Pod"), []string{"pods", "pod", "po"}},
	{atKind, []string{"ats", "at"}},
}

// reference is KIND/NAME[:CONTAINER].
type reference struct {
	kind            schema.GroupVersionKind
	name, container string
}

// referencePattern has the kind, the name, and the container. kubectl takes and prints KIND/NAME, and takes KIND NAME.
var referencePattern = regexp.MustCompile(`^\s*([^/:\s]+)(?:/|\s+)([^/:\s]+)(?::([^/:\s]+))?\s*$`)

// parseReference reads the value of --from.
func parseReference(text string) (reference, error) {
	match := referencePattern.FindStringSubmatch(text)
	if match == nil {
		return reference{}, fmt.Errorf("--from %s: it is KIND/NAME or KIND/NAME:CONTAINER, such as deploy/web", text)
	}
	from := reference{kind: findKind(match[1]), name: match[2], container: match[3]}
	if from.kind.Empty() {
		var known []string
		for _, s := range sources {
			known = append(known, s.names[len(s.names)-1])
		}
		return reference{}, fmt.Errorf("--from %s: the kind %q has no pod template; it can be %s", text, match[1], strings.Join(known, ", "))
	}
	if from.kind == atKind && from.container != "" {
		return reference{}, fmt.Errorf("--from %s: an At is repeated as it is, without a container: at/%s", text, from.name)
	}
	return from, nil
}

// findKind returns the kind of a resource as kubectl names it: deploy, deployment.apps, or deployments.v1.apps, in any case. It is empty
// if --from does not take the kind.
func findKind(resource string) schema.GroupVersionKind {
	name, group, qualified := strings.Cut(strings.ToLower(resource), ".")
	for _, s := range sources {
		if slices.Contains(s.names, name) && (!qualified || group == s.kind.Group || group == s.kind.Version+"."+s.kind.Group) {
			return s.kind
		}
	}
	return schema.GroupVersionKind{}
}

// nameOf returns the name of an At that is given as NAME, or as kubectl prints it: at/NAME or at.cnat.d2iq.com/NAME.
func nameOf(argument string) (string, error) {
	kind, name, qualified := strings.Cut(argument, "/")
	switch {
	case !qualified:
		return argument, nil
	case findKind(kind) == atKind && name != "" && !strings.Contains(name, "/"):
		return name, nil
	}
	return "", fmt.Errorf("%q is not the name of an At: it is NAME or at/NAME", argument)
}

// workload is what --from names, as far as it describes pods.
type workload struct {
	template corev1.PodTemplateSpec
	claims   []string // names of the volumes that each pod has for itself
	deadline *int64   // of a Job, in seconds, or nil if there is none
}

// workload reads what --from names.
func (c *cluster) workload(ctx context.Context, from reference) (*workload, error) {
	obj, err := scheme.New(from.kind)
	if err != nil {
		return nil, err
	}
	object := obj.(client.Object)
	if err := c.Get(ctx, c.key(from.name), object); err != nil {
		return nil, err
	}
	w := &workload{}
	var template *corev1.PodTemplateSpec
	switch o := object.(type) {
	case *appsv1.Deployment:
		template = &o.Spec.Template
	case *appsv1.StatefulSet:
		template = &o.Spec.Template
		for _, claim := range o.Spec.VolumeClaimTemplates {
			w.claims = append(w.claims, claim.Name)
		}
	case *appsv1.DaemonSet:
		template = &o.Spec.Template
	case *appsv1.ReplicaSet:
		template = &o.Spec.Template
	case *corev1.ReplicationController:
		template = o.Spec.Template
	case *batchv1.Job:
		template, w.deadline = &o.Spec.Template, o.Spec.ActiveDeadlineSeconds
	case *batchv1.CronJob:
		template, w.deadline = &o.Spec.JobTemplate.Spec.Template, o.Spec.JobTemplate.Spec.ActiveDeadlineSeconds
	case *appv1alpha1.PodSet:
		template = o.Spec.Template
	case *corev1.Pod:
		template = &corev1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}
	}
	if template == nil {
		return nil, fmt.Errorf("--from: the %s %s has no pod template", from.kind.Kind, from.name)
	}
	w.template = *template
	w.template.Name = from.name
	return w, nil
}
