// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// template decodes the YAML of a template as a client of the API server does.
func template(t *testing.T, text string) *corev1.PodTemplateSpec {
	t.Helper()
	template := &corev1.PodTemplateSpec{}
	if err := yaml.Unmarshal([]byte(text), template); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return template
}

// If the hash changed between versions of the operator, an upgrade would replace every pod of every user.
func TestHashTemplate(t *testing.T) {
	if got := HashTemplate(nil); got != "74234e98af" {
		t.Errorf("no template: %s", got)
	}
	for hash, text := range map[string]string{
		"927169f2c9": "spec: {containers: [{name: main, image: v1}]}",
		"b4fd80434d": "spec: {containers: [{name: main, image: v1}], volumes: [{name: a, emptyDir: {}}, {name: b, projected: {}}]}",
		"bbbba6d0cb": `
metadata: {labels: {tier: web, empty: ""}, annotations: {note: "<&>"}, finalizers: [example.com/drain]}
spec:
  terminationGracePeriodSeconds: 0
  automountServiceAccountToken: false
  securityContext: {}
  nodeSelector: {disk: ssd}
  tolerations: [{operator: Exists}]
  initContainers: [{name: init, image: i, restartPolicy: Always, args: ["", a]}]
  containers:
  - name: main
    image: v1
    ports: [{containerPort: 80, protocol: TCP}]
    env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: k, optional: false}}}, {name: B, value: b}]
    resources: {requests: {cpu: 1500m, memory: 1024Mi}, limits: {cpu: "2"}}
    readinessProbe: {httpGet: {path: /, port: http}, periodSeconds: 5}
    livenessProbe: {tcpSocket: {port: 80}}
  volumes:
  - {name: cache, emptyDir: {sizeLimit: 1Gi}}
  - {name: info, downwardAPI: {items: [{path: cpu, resourceFieldRef: {containerName: main, resource: limits.cpu, divisor: 1m}}]}}
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 1, podAffinityTerm: {topologyKey: zone, namespaceSelector: {}, labelSelector: {matchLabels: {app: a}}}}
`,
	} {
		if got := HashTemplate(template(t, text)); got != hash {
			t.Errorf("the hash has changed from %s to %s: %s", hash, got, text)
		}
	}
}

func TestHashTemplate_different(t *testing.T) {
	volume := func(source string) string { return "spec: {volumes: [{name: a" + source + "}]}" }
	term := func(fields string) string {
		return "spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone" + fields + "}]}}}"
	}
	container := func(fields string) string { return "spec: {containers: [{name: main" + fields + "}]}" }
	seen := map[string]string{}
	for _, text := range []string{
		volume(""), volume(", emptyDir: {}"), volume(", projected: {}"), volume(", downwardAPI: {}"), volume(", configMap: {}"),
		term(""), term(", namespaceSelector: {}"), term(", labelSelector: {}"), term(", labelSelector: {}, namespaceSelector: {}"),
		container(""), container(", image: v1"), container(", image: v2"), container(", securityContext: {}"),
		container(", args: [a]"), container(`, args: [a, ""]`), container(`, args: ["", a]`),
		container(", env: [{name: A}]"), container(", env: [{name: A, valueFrom: {}}]"), container(", env: [{name: A, value: a}]"),
		container(", resources: {limits: {cpu: 0}}"), container(", resources: {limits: {cpu: 1}}"), container(", resources: {requests: {cpu: 1}}"),
		container(", readinessProbe: {tcpSocket: {port: 80}}"), container(", readinessProbe: {tcpSocket: {port: a}}"),
		"spec: {securityContext: {}}", "spec: {securityContext: {runAsUser: 0}}", "spec: {securityContext: {seLinuxOptions: {}}}",
		"spec: {automountServiceAccountToken: false}", "spec: {automountServiceAccountToken: true}",
		"spec: {hostNetwork: true}", "spec: {priority: 0}", "spec: {tolerations: [{}]}", "spec: {tolerations: [{}, {}]}",
		"metadata: {labels: {tier: web}}", `metadata: {labels: {tier: ""}}`, "metadata: {annotations: {tier: web}}",
	} {
		hash := HashTemplate(template(t, text))
		if other, ok := seen[hash]; ok {
			t.Errorf("%s and %s have the same hash", text, other)
		}
		seen[hash] = text
	}
}

// Clients and libraries encode unset fields differently.
func TestHashTemplate_equal(t *testing.T) {
	for _, pair := range [][2]string{
		{"spec: {containers: [{name: a}]}", "{metadata: {creationTimestamp: null}, spec: {containers: [{name: a, resources: {}}]}}"},
		{"spec: {containers: [{name: a}]}", "spec: {containers: [{name: a, resources: {limits: {}, requests: null}, env: [], ports: null}], volumes: []}"},
		{"spec: {containers: [{name: a}]}", `spec: {containers: [{name: a, image: "", stdin: false}], hostNetwork: false, nodeName: "", securityContext: null}`},
		{"{}", "{metadata: {labels: {}, name: ''}, spec: {containers: null, nodeSelector: {}, overhead: {}}}"},
		{"{}", "{metadata: {}, spec: {containers: []}}"},
		{
			"spec: {volumes: [{name: a, ephemeral: {volumeClaimTemplate: {}}}]}",
			"spec: {volumes: [{name: a, ephemeral: {volumeClaimTemplate: {metadata: {creationTimestamp: null}, spec: {resources: {}}}}}]}",
		},
		{
			"spec: {containers: [{name: a, env: [{name: B, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]}]}",
			`spec: {containers: [{name: a, env: [{name: B, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "0"}}}]}]}`,
		},
		{
			"spec: {containers: [{name: a, env: [{name: B, valueFrom: {configMapKeyRef: {key: k}}}]}]}",
			`spec: {containers: [{name: a, env: [{name: B, valueFrom: {configMapKeyRef: {key: k, name: ""}}}]}]}`,
		},
		{"spec: {affinity: {podAffinity: {}}}", "spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: []}}}"},
		{"spec: {containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}}}]}", "spec: {containers: [{resources: {limits: {memory: 1024Mi, cpu: 1000m}}, name: a}]}"},
	} {
		if one, two := template(t, pair[0]), template(t, pair[1]); HashTemplate(one) != HashTemplate(two) {
			t.Errorf("different hashes:\n%s\n%s", pair[0], pair[1])
		}
	}
}

// The types represent one type of the Kubernetes API in two versions of its library.
func TestHashTemplate_library(t *testing.T) {
	type inner struct {
		A string `json:"a"`
	}
	type older struct {
		Name     string `json:"name"`
		Always   string `json:"always"`
		Resource inner  `json:"resource,omitempty"`
	}
	type Handler struct {
		A string `json:"a,omitempty"`
		B *inner `json:"b,omitempty"`
	}
	type newer struct {
		Text     string            `json:"text"`
		Number   int               `json:"number"`
		Struct   inner             `json:"struct,omitempty"`
		Pointer  *inner            `json:"pointer"`
		List     []inner           `json:"list"`
		Map      map[string]string `json:"map"`
		Resource inner             `json:"resource,omitzero"`
		Always   string            `json:"always,omitempty"`
		Handler  `json:",inline"`
		Name     string `json:"name"`
	}
	if hashOf(&older{Name: "a"}) != hashOf(&newer{Name: "a"}) {
		t.Error("fields that are new and absent change the hash")
	}
}

func TestHashTemplate_panic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a template that cannot be encoded got a hash")
		}
	}()
	hashOf(func() {})
}
