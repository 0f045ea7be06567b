// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
)

func TestComplete_image(t *testing.T) {
	o := podOptions{from: "deploy/web", image: "web:2"}
	template, err := o.complete(&corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "web:1", ImagePullPolicy: corev1.PullNever, Args: []string{"serve"}}}}}, false)
	if main := template.Spec.Containers[0]; err != nil || main.ImagePullPolicy != "" || main.Args != nil || main.Image != "web:2" {
		t.Errorf("got %+v, %v", template, err)
	}
}

func TestParseReference(t *testing.T) {
	for text, want := range map[string]string{
		"deployments.v1.apps/web": "deployments.v1.apps web ",
		"deploy web":              "deploy web ",
		"sts/db:postgres":         "sts db postgres",
		"web":                     `invalid --from "web": expected KIND/NAME or KIND/NAME:CONTAINER, such as deploy/web`,
		"deploy/web:":             `invalid --from "deploy/web:": expected KIND/NAME or KIND/NAME:CONTAINER, such as deploy/web`,
		"deploy/":                 `invalid --from "deploy/": expected KIND/NAME or KIND/NAME:CONTAINER, such as deploy/web`,
		"deploy/a/b":              `invalid --from "deploy/a/b": expected KIND/NAME or KIND/NAME:CONTAINER, such as deploy/web`,
		"at/a:main":               `invalid --from "at/a:main": expected at/a, because an At is repeated as it is`,
	} {
		r, err := parseReference(text)
		got := r.kind + " " + r.name + " " + r.container
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// Rollouts are those of Argo: one has a template of its own, another refers to a Deployment.
func TestFrom_otherKinds(t *testing.T) {
	s := newShell(t)
	s.kubeconfig = adminKubeconfig
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "rollouts.argoproj.io"},
		"spec": map[string]any{
			"group": "argoproj.io", "scope": "Namespaced",
			"names": map[string]any{"plural": "rollouts", "singular": "rollout", "kind": "Rollout", "shortNames": []any{"ro"}},
			"versions": []any{map[string]any{"name": "v1alpha1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			}}},
		},
	}}
	if err := admin.Create(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	if err := admin.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "settings"}}); err != nil {
		t.Fatal(err)
	}
	template := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web:1"}}}}
	for name, spec := range map[string]map[string]any{"web": {"template": template}, "reference": {"workloadRef": map[string]any{"name": "web"}}} {
		rollout := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": map[string]any{"namespace": s.namespace, "name": name}, "spec": spec,
		}}
		if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return admin.Create(ctx, rollout) == nil, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for from, want := range map[string]result{
		"rollout/web":                       {out: "web:1"},
		"rollouts.argoproj.io/web":          {out: "web:1"},
		"rollouts.v1alpha1.argoproj.io/web": {out: "web:1"},
		"ro web:web":                        {out: "web:1"},
		"ro/reference":                      {errOut: "invalid --from \"ro/reference\": the Rollout reference has no pod template in spec.template; use one of its pods or its ReplicaSet: --from pod/NAME, --from rs/NAME\n", code: 1},
		"cm/settings":                       {errOut: "invalid --from \"cm/settings\": the ConfigMap settings has no pod template in spec.template; use one of its pods or its ReplicaSet: --from pod/NAME, --from rs/NAME\n", code: 1},
		"dc/web":                            {errOut: "the server doesn't have a resource type \"dc\"\n", code: 1},
		"ro/no-such":                        {errOut: "rollouts.argoproj.io \"no-such\" not found\n", code: 1},
	} {
		s.expect(want, "", "now", "--from", from, "--dry-run=client", "-o", "jsonpath={.spec.template.spec.containers[0].image}", "--cache-dir", t.TempDir())
	}
}
