// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// overlay changes names, images, labels, annotations, and one container. The three kinds have the same template.
const overlay = `
namePrefix: dev-
resources: [objects.yaml]
configurations: [kustomizeconfig.yaml]
configMapGenerator: [{name: configmap, literals: [A=b]}]
secretGenerator: [{name: secret, literals: [A=b]}]
images: [{name: busybox, newTag: "1.36"}]
labels: [{pairs: {team: shop}, includeTemplates: true}]
commonAnnotations: {owner: shop}
replicas: [{name: podset, count: 7}]
patches:
- target: {kind: Deployment|PodSet|At}
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/resources
      value: {limits: {cpu: "1"}}
`

// template refers to everything whose name kustomize can change.
const template = `{
  metadata: {labels: {app: shop}, annotations: {a: b}},
  spec: {
    serviceAccountName: account, priorityClassName: priority, imagePullSecrets: [{name: secret}],
    containers: [` + container + `, {name: side, image: busybox}], initContainers: [` + container + `],
    volumes: [
      {name: a, configMap: {name: configmap}}, {name: b, secret: {secretName: secret}}, {name: c, persistentVolumeClaim: {claimName: claim}},
      {name: d, projected: {sources: [{configMap: {name: configmap}}, {secret: {name: secret}}]}}]}}`

const container = `{
      name: main, image: busybox, envFrom: [{configMapRef: {name: configmap}}, {secretRef: {name: secret}}],
      env: [
        {name: A, valueFrom: {configMapKeyRef: {name: configmap, key: A}}},
        {name: B, valueFrom: {secretKeyRef: {name: secret, key: A}}}]}`

const objects = `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: account}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: claim}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: priority}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: autoscaler}
spec: {scaleTargetRef: {apiVersion: app.example.com/v1alpha1, kind: PodSet, name: podset}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: deployment}, spec: {template: ` + template + `}}
---
{apiVersion: app.example.com/v1alpha1, kind: PodSet, metadata: {name: podset}, spec: {template: ` + template + `}}
---
{apiVersion: cnat.d2iq.com/v1alpha1, kind: At, metadata: {name: at}, spec: {schedule: now, template: ` + template + `}}
`

// With the configuration that config/samples has, kustomize treats a pod template as that of a Deployment.
func TestKustomize(t *testing.T) {
	configuration, err := os.ReadFile("../../config/samples/kustomizeconfig.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"kustomization.yaml": overlay, "objects.yaml": objects, "kustomizeconfig.yaml": string(configuration)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	specs := map[string]map[string]any{}
	for _, resource := range built.Resources() {
		object, err := resource.Map()
		if err != nil {
			t.Fatal(err)
		}
		if spec, ok := object["spec"].(map[string]any); ok {
			specs[resource.GetKind()] = spec
		}
	}
	want := specs["Deployment"]["template"]
	for _, kind := range []string{"PodSet", "At"} {
		if diff := cmp.Diff(want, specs[kind]["template"]); diff != "" {
			t.Errorf("the template of the Deployment (-) and of the %s (+) differ:\n%s", kind, diff)
		}
	}
	if specs["PodSet"]["replicas"] != 7 {
		t.Errorf("replicas is %v, want 7", specs["PodSet"]["replicas"])
	}
	if target, _ := specs["HorizontalPodAutoscaler"]["scaleTargetRef"].(map[string]any); target["name"] != "dev-podset" {
		t.Errorf("the autoscaler scales %v", target)
	}
}
