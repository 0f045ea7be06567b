// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload reads an object that runs an application, such as a Deployment, and copies what a one-time command
// needs to run beside it.
package workload

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Workload is an object that describes pods.
type Workload struct {
	Kind, Name string
	Template   corev1.PodTemplateSpec
	Claims     []string // names of the volumes that each pod has for itself
	Limits     []string // how often and how long it runs, for a message
}

// Of returns the pod template of an object, which is in spec.template for most kinds, including those of other
// projects, and the rest of the workload.
func Of(object *unstructured.Unstructured) (*Workload, error) {
	w := &Workload{Kind: object.GetKind(), Name: object.GetName()}
	spec := []string{"spec"} // of the object that has the template
	if w.Kind == "CronJob" {
		spec = []string{"spec", "jobTemplate", "spec"}
	}
	var template any = object.Object
	if w.Kind != "Pod" {
		template, _, _ = unstructured.NestedFieldNoCopy(object.Object, append(slices.Clone(spec), "template")...)
	}
	fields, _ := template.(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &w.Template); err != nil || len(w.Template.Spec.Containers) == 0 {
		return nil, fmt.Errorf("the %s %s has no pod template in spec.template; use one of its pods or its ReplicaSet: --from pod/NAME, --from rs/NAME", w.Kind, w.Name)
	}
	w.Template.Name = w.Name
	for _, parent := range [][]string{{"spec"}, spec, append(slices.Clone(spec), "template", "spec")} {
		fields, _, _ := unstructured.NestedMap(object.Object, parent...)
		w.addLimits(fields)
	}
	claims, _, _ := unstructured.NestedSlice(object.Object, "spec", "volumeClaimTemplates")
	for _, claim := range claims {
		if fields, ok := claim.(map[string]any); ok {
			name, _, _ := unstructured.NestedString(fields, "metadata", "name")
			w.Claims = append(w.Claims, name)
		}
	}
	return w, nil
}

// limits are the fields of Jobs, CronJobs, and pods that decide how often and how long a command runs, the flag for an
// At, and the value that means the same as for an At.
var limits = []struct{ field, flag, same string }{
	{"activeDeadlineSeconds", "--deadline", ""}, {"startingDeadlineSeconds", "--starting-deadline", ""}, {"ttlSecondsAfterFinished", "--ttl", ""},
	{"backoffLimit", "--retries", "0"}, {"podFailurePolicy", "--retry-exit-codes", ""}, {"restartPolicy", "", "Never"},
	{"completions", "", "1"}, {"parallelism", "", "1"}, {"completionMode", "", "NonIndexed"}, {"concurrencyPolicy", "", "Allow"},
}

func (w *Workload) addLimits(fields map[string]any) {
	for _, limit := range limits {
		value, text := fields[limit.field], limit.field
		if _, isObject := value.(map[string]any); !isObject {
			text += fmt.Sprintf(" %v", value)
		}
		if limit.flag != "" {
			text += " (" + limit.flag + " sets it)"
		}
		// A pod that always restarts is a service.
		if value != nil && value != "Always" && fmt.Sprint(value) != limit.same && !slices.Contains(w.Limits, text) {
			w.Limits = append(w.Limits, text)
		}
	}
}

// descriptive are the domains of keys that describe a workload or are set by its controller. No command needs them.
var descriptive = []string{
	"app.example.com", "app.kubernetes.io", "apps.kubernetes.io", "argocd.argoproj.io", "batch.kubernetes.io", "checksum", "cnat.d2iq.com",
	"cni.projectcalico.org", "deployment.kubernetes.io", "helm.sh", "kubectl.kubernetes.io", "kubernetes.io", "meta.helm.sh", "prometheus.io",
	"statefulset.kubernetes.io", "topology.kubernetes.io",
}

// OmittedKeys returns the labels and annotations of a pod template that webhooks and controllers, such as injectors and
// service meshes, may act on, and that the flags do not set.
func (w *Workload) OmittedKeys(labels, annotations []string) []string {
	var omitted []string
	for _, keys := range []struct {
		name   string
		values map[string]string
		flags  []string
	}{{"the label", w.Template.Labels, labels}, {"the annotation", w.Template.Annotations, annotations}} {
		for _, key := range slices.Sorted(maps.Keys(keys.values)) {
			domain, _, hasDomain := strings.Cut(key, "/")
			isSet := func(pair string) bool { return strings.HasPrefix(pair, key+"=") }
			if hasDomain && !slices.Contains(descriptive, domain) && !slices.ContainsFunc(keys.flags, isSet) {
				omitted = append(omitted, keys.name+" "+key)
			}
		}
	}
	return omitted
}

// metadataField has the kind and the key of a label or an annotation in a fieldPath.
var metadataField = regexp.MustCompile(`^metadata\.(label|annotation)s\['(.*)'\]$`)

// omitMetadata reports a label or an annotation that something in the copy reads, and that is not copied.
func (c *copier) omitMetadata(field *corev1.ObjectFieldSelector, reader string) {
	if match := metadataField.FindStringSubmatch(field.FieldPath); match != nil {
		c.omit("the %s %s that %s reads", match[1], match[2], reader)
	}
}
