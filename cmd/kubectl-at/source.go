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
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

// source is a kind that --from takes without asking the API server for it.
type source struct {
	kind  schema.GroupVersionKind
	names []string // in lower case, the longest form first
}

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

// reference is KIND/NAME[:CONTAINER]. The kind is empty if only the API server knows it.
type reference struct {
	resource        string
	kind            schema.GroupVersionKind
	name, container string
}

// referencePattern has the kind, the name, and the container. kubectl takes and prints KIND/NAME, and takes KIND NAME.
var referencePattern = regexp.MustCompile(`^\s*([^/:\s]+)(?:/|\s+)([^/:\s]+)(?::([^/:\s]+))?\s*$`)

// parseReference reads the value of --from.
func parseReference(text string) (reference, error) {
	match := referencePattern.FindStringSubmatch(text)
	if match == nil {
		return reference{}, fmt.Errorf("invalid --from %q: expected KIND/NAME or KIND/NAME:CONTAINER, such as deploy/web", text)
	}
	from := reference{resource: match[1], kind: findKind(match[1]), name: match[2], container: match[3]}
	if from.kind == atKind && from.container != "" {
		return reference{}, fmt.Errorf("invalid --from %q: expected at/%s, because an At is repeated as it is", text, from.name)
	}
	return from, nil
}

// findKind returns the kind of a resource as kubectl names it: deploy, deployment.apps, or deployments.v1.apps, in any case. It is empty
// if it is not one of the sources.
func findKind(resource string) schema.GroupVersionKind {
	name, group, qualified := strings.Cut(strings.ToLower(resource), ".")
	for _, s := range sources {
		if slices.Contains(s.names, name) && (!qualified || group == s.kind.Group || group == s.kind.Version+"."+s.kind.Group) {
			return s.kind
		}
	}
	return schema.GroupVersionKind{}
}

// workload is what --from names, as far as it describes pods.
type workload struct {
	kind, name string
	template   corev1.PodTemplateSpec
	claims     []string // names of the volumes that each pod has for itself
	deadline   *int64   // of a Job, in seconds, or nil if there is none
}

// workload reads what --from names. The pod template of most kinds, also of other projects, is in spec.template.
func (p *plugin) workload(ctx context.Context, c *cluster, from reference) (*workload, error) {
	if from.kind.Empty() {
		kind, err := p.find(c, from.resource)
		if meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("invalid --from \"%s/%s\": the cluster has no kind %q", from.resource, from.name, from.resource)
		}
		if err != nil {
			return nil, err
		}
		from.kind = kind
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(from.kind)
	if err := c.Get(ctx, c.key(from.name), object); err != nil {
		return nil, err
	}
	return workloadOf(object)
}

// workloadOf returns the pod template of an object, and what belongs to it.
func workloadOf(object *unstructured.Unstructured) (*workload, error) {
	w := &workload{kind: object.GetKind(), name: object.GetName()}
	spec := []string{"spec"} // of what has the template
	if w.kind == "CronJob" {
		spec = []string{"spec", "jobTemplate", "spec"}
	}
	var template any = object.Object
	if w.kind != "Pod" {
		template, _, _ = unstructured.NestedFieldNoCopy(object.Object, append(slices.Clone(spec), "template")...)
	}
	fields, _ := template.(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &w.template); err != nil || len(w.template.Spec.Containers) == 0 {
		return nil, fmt.Errorf("the %s %s has no pod template in spec.template; use one of its pods or its ReplicaSet: --from pod/NAME, --from rs/NAME", w.kind, w.name)
	}
	w.template.Name = w.name
	if seconds, found, _ := unstructured.NestedInt64(object.Object, append(slices.Clone(spec), "activeDeadlineSeconds")...); found {
		w.deadline = &seconds
	}
	claims, _, _ := unstructured.NestedSlice(object.Object, "spec", "volumeClaimTemplates")
	for _, claim := range claims {
		if fields, ok := claim.(map[string]any); ok {
			name, _, _ := unstructured.NestedString(fields, "metadata", "name")
			w.claims = append(w.claims, name)
		}
	}
	return w, nil
}
