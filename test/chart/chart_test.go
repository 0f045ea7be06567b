// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart compares the Helm chart with the kustomizations, object by object.
package chart

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// root is the path of the repository from this directory.
const root = "../.."

type object = map[string]any

// objects are objects by kind, namespace, and name.
type objects map[string]object

func (o objects) add(t *testing.T, text string) {
	t.Helper()
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		var decoded object
		if err := yaml.Unmarshal([]byte(document), &decoded); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		if len(decoded) == 0 {
			continue
		}
		o[key(decoded)] = decoded
	}
}

func key(o object) string {
	metadata := o["metadata"].(object)
	namespace, _ := metadata["namespace"].(string)
	return o["kind"].(string) + " " + namespace + "/" + metadata["name"].(string)
}

func kustomized(t *testing.T, directory string) objects {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	found := objects{}
	found.add(t, string(text))
	return found
}

// rendered returns the objects of the chart, or the tests of `helm test` if hooks is true.
func rendered(t *testing.T, release, namespace, values string, hooks bool) (objects, error) {
	t.Helper()
	installed, tests, err := render(t, release, namespace, values)
	if hooks {
		return tests, err
	}
	return installed, err
}

// render returns the objects of the chart and the tests of `helm test`, for a cluster that also serves some API versions.
func render(t *testing.T, release, namespace, values string, served ...string) (installed, tests objects, err error) {
	t.Helper()
	return renderChart(t, load(t), release, namespace, values, served...)
}

func load(t *testing.T) *helmchart.Chart {
	t.Helper()
	loaded, err := loader.LoadDir(filepath.Join(root, "charts/podset-operator"))
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func renderChart(t *testing.T, chart *helmchart.Chart, release, namespace, values string, served ...string) (installed, tests objects, err error) {
	t.Helper()
	decoded := object{}
	if err := yaml.Unmarshal([]byte(values), &decoded); err != nil {
		t.Fatal(err)
	}
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, IsInstall: true}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(slices.Clone(capabilities.APIVersions), served...)
	input, err := chartutil.ToRenderValues(chart, decoded, options, capabilities)
	if err != nil {
		return nil, nil, err
	}
	files, err := engine.Render(chart, input)
	if err != nil {
		return nil, nil, err
	}
	installed, tests = objects{}, objects{}
	for name, text := range files {
		switch {
		case !strings.HasSuffix(name, ".yaml"):
		case strings.Contains(name, "/tests/"):
			tests.add(t, text)
		default:
			installed.add(t, text)
		}
	}
	return installed, tests, nil
}

// convention removes what only Helm's conventions require: labels on every object of the chart, and the annotation that keeps CRDs.
func convention(t *testing.T, release string, all objects) {
	t.Helper()
	want := map[string]string{
		"app.kubernetes.io/instance": release, "app.kubernetes.io/name": "podset-operator", "app.kubernetes.io/managed-by": "Helm",
		"app.kubernetes.io/version": "", "helm.sh/chart": "",
	}
	for name, o := range all {
		metadata := o["metadata"].(object)
		labels, _ := metadata["labels"].(object)
		for label, value := range want {
			if got, _ := labels[label].(string); got == "" || (value != "" && got != value) {
				t.Errorf("%s has the label %s=%q", name, label, got)
			}
			delete(labels, label)
		}
		if len(labels) == 0 {
			delete(metadata, "labels")
		}
		if o["kind"] == "CustomResourceDefinition" {
			if metadata["annotations"].(object)["helm.sh/resource-policy"] != "keep" {
				t.Errorf("helm uninstall deletes %s", name)
			}
			delete(metadata["annotations"].(object), "helm.sh/resource-policy")
		}
	}
}

// unlabeled removes the labels that convention removes from the objects of the chart. Only CRDs have none, because they do not belong to an
// installation.
func unlabeled(t *testing.T, all objects) {
	t.Helper()
	for name, o := range all {
		metadata := o["metadata"].(object)
		labels, _ := metadata["labels"].(object)
		for _, label := range []string{"app.kubernetes.io/instance", "app.kubernetes.io/name"} {
			if got, _ := labels[label].(string); (got != "podset-operator") != (o["kind"] == "CustomResourceDefinition") {
				t.Errorf("%s has the label %s=%q", name, label, got)
			}
			delete(labels, label)
		}
		if len(labels) == 0 {
			delete(metadata, "labels")
		}
	}
}

// The chart and config/default have the same objects with the same content. The exceptions are the labels that convention removes, and the
// Namespace: helm creates it with --create-namespace, without labels.
func TestChart(t *testing.T) {
	const system = "Namespace /podset-operator-system"
	for name, test := range map[string]struct {
		values string
		also   string                    // a kustomization with more objects
		change func(*testing.T, objects) // what the values change in the kustomization
		base   string
	}{
		"default values":               {},
		"two replicas":                 {values: "replicas: 2", base: "config/components/ha"},
		"with a network policy":        {values: "networkPolicy: {enabled: true}", also: "config/components/network-policy"},
		"with a flow schema":           {values: "flowSchema: {enabled: true}", also: "config/components/flow-schema"},
		"without the admission policy": {values: "policy: {enabled: false}", change: remove("ValidatingAdmissionPolicy")},
		"with monitoring": {
			values: "metrics: {serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}}", also: "config/monitoring/prometheus",
			change: func(_ *testing.T, o objects) {
				ofRelease(o["PrometheusRule podset-operator-system/podset-operator-rules"])
			},
		},
		"without metrics": {values: "metrics: {enabled: false}", change: func(t *testing.T, o objects) {
			remove("Service ", "-metrics-")(t, o)
			manager := container(o)
			manager["args"] = append(manager["args"].([]any), "--metrics-bind-address=0")
			manager["ports"] = manager["ports"].([]any)[1:]
		}},
		"without CRDs":            {values: "crds: {install: false}", change: remove("CustomResourceDefinition")},
		"without roles":           {values: "rbac: {create: false}", change: remove("Role ", "RoleBinding ")},
		"without roles for users": {values: "rbac: {userRoles: false}", change: remove("-editor-role", "-viewer-role")},
		"without aggregation": {values: "rbac: {aggregate: false}", change: func(_ *testing.T, o objects) {
			for _, o := range o {
				if strings.HasSuffix(key(o), "-editor-role") || strings.HasSuffix(key(o), "-viewer-role") {
					delete(o["metadata"].(object), "labels")
				}
			}
		}},
		"as a tenant": {
			values: "{watchNamespaces: [podset-operator-system], crds: {install: false}, metrics: {enabled: false}, policy: {enabled: false}, " +
				"rbac: {clusterRole: podset-operator-namespace-manager, userRoles: false}}",
			base: "config/components/namespaced",
			change: func(_ *testing.T, o objects) {
				env := container(o)["env"].([]any)
				env[len(env)-1] = object{"name": "WATCH_NAMESPACE", "value": "podset-operator-system"}
				binding := o["RoleBinding podset-operator-system/podset-operator-manager-rolebinding"]
				delete(o, key(binding))
				binding["metadata"].(object)["name"] = "podset-operator-manager-rolebinding-" + hashOfTenants
				o[key(binding)] = binding
			},
		},
		"with other images": {
			values: "{image: {repository: r/i, tag: v9}, busyboxImage: r/b:1}",
			change: func(_ *testing.T, o objects) {
				container(o)["image"] = "r/i:v9"
				for _, variable := range container(o)["env"].([]any) {
					if variable.(object)["name"] == "RELATED_IMAGE_BUSYBOX" {
						variable.(object)["value"] = "r/b:1"
					}
				}
			},
		},
		"for two namespaces": {values: "watchNamespaces: [team-a, team-b]", change: watches("team-a", "team-b")},
		"for nodes": {
			values: "{nodeSelector: {a: b}, tolerations: [{key: c}], imagePullSecrets: [{name: d}], resources: {limits: {memory: 1Gi}}}",
			change: func(_ *testing.T, o objects) {
				pod := podSpec(o)
				pod["nodeSelector"], pod["tolerations"] = object{"a": "b"}, append([]any{object{"key": "c"}}, pod["tolerations"].([]any)...)
				pod["imagePullSecrets"] = []any{object{"name": "d"}}
				container(o)["resources"].(object)["limits"] = object{"memory": "1Gi"}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := kustomized(t, filepath.Join(root, "config/default"))
			if test.base != "" {
				want = kustomized(t, filepath.Join(root, test.base))
			}
			// Some clusters exclude namespaces with this label from all admission webhooks.
			if label := find(want[system], "metadata", "labels", "control-plane"); label != nil {
				t.Errorf("%s has the label control-plane: %v", system, label)
			}
			delete(want, system)
			if test.also != "" {
				maps.Copy(want, kustomized(t, filepath.Join(root, test.also)))
			}
			unlabeled(t, want)
			if policy := want["ValidatingAdmissionPolicy /podset-operator-manager-pods"]; policy != nil {
				find(policy, "spec", "matchConditions", "0").(object)["expression"] = byManager("podset-operator-system", "podset-operator-controller-manager")
			}
			if test.change != nil {
				test.change(t, want)
			}
			got, err := rendered(t, "podset-operator", "podset-operator-system", test.values, false)
			if err != nil {
				t.Fatal(err)
			}
			convention(t, "podset-operator", got)
			names := maps.Clone(want)
			maps.Copy(names, got)
			for name := range names {
				if diff := cmp.Diff(want[name], got[name]); diff != "" {
					t.Errorf("%s: the kustomization (-) and the chart (+) differ; run make chart:\n%s", name, diff)
				}
			}
		})
	}
}

// hashOfTenants is that of the name podset-operator-namespace-manager: the name of a binding follows its role, which cannot change.
const hashOfTenants = "bd816c82"

// byManager is the condition of the policy manager-pods in the chart. That of the kustomization knows neither the namespace nor a prefix.
func byManager(namespace, account string) string {
	return "request.userInfo.username == 'system:serviceaccount:" + namespace + ":" + account + "'"
}

// remove removes the objects whose key contains one of these texts. Each must remove something.
func remove(texts ...string) func(*testing.T, objects) {
	return func(t *testing.T, o objects) {
		t.Helper()
		for _, text := range texts {
			before := len(o)
			maps.DeleteFunc(o, func(name string, _ object) bool { return strings.Contains(name, text) })
			if len(o) == before {
				t.Errorf("no object is named like %q", text)
			}
		}
	}
}

// watches limits the operator to some namespaces, which then have its role and binding, instead of the whole cluster.
func watches(namespaces ...string) func(*testing.T, objects) {
	return func(_ *testing.T, o objects) {
		for _, name := range []string{"ClusterRole /podset-operator-manager-role", "ClusterRoleBinding /podset-operator-manager-rolebinding"} {
			inCluster := o[name]
			delete(o, name)
			for _, namespace := range namespaces {
				limited := maps.Clone(inCluster)
				limited["kind"] = strings.TrimPrefix(inCluster["kind"].(string), "Cluster")
				limited["metadata"] = object{"name": inCluster["metadata"].(object)["name"], "namespace": namespace}
				if role, ok := limited["roleRef"].(object); ok {
					limited["roleRef"] = maps.Clone(role)
					limited["roleRef"].(object)["kind"] = "Role"
				}
				o[key(limited)] = limited
			}
		}
		env := container(o)["env"].([]any)
		container(o)["env"] = append(env, object{"name": "WATCH_NAMESPACE", "value": strings.Join(namespaces, ",")})
	}
}

// ofRelease limits the alerts to a namespace, because the metrics of two releases have the same job.
func ofRelease(rules object) {
	for _, group := range rules["spec"].(object)["groups"].([]any) {
		for _, rule := range group.(object)["rules"].([]any) {
			alert := rule.(object)
			alert["expr"] = strings.ReplaceAll(alert["expr"].(string), `job="podset-operator"`, `job="podset-operator",namespace="podset-operator-system"`)
		}
	}
}

func podSpec(o objects) object {
	deployment := o["Deployment podset-operator-system/podset-operator-controller-manager"]
	return deployment["spec"].(object)["template"].(object)["spec"].(object)
}

func container(o objects) object { return podSpec(o)["containers"].([]any)[0].(object) }

func TestValues_mistakes(t *testing.T) {
	for _, values := range []string{
		"image: {digest: v0.1.0}", "extraArgs: {a: b}", "extraEnv: [{name: a, value: 1}]", "extraEnv: [{value: a}]", "networkPolicy: {apiServerPorts: []}", "podLabels: {a: 1}", "replica: 2", "image: quay.io/redhat/podset-operator", "watchNamespaces: team-a", "watchNamespaces: [Team]",
		"serviceAccount: {create: false}", "livenessProbe: {enabled: false}", "metrics: {enable: false}", "metrics: {enabled: 'false'}", "metrics: {service: {ipFamilyPolicy: Both}}", "tolerationSeconds: 10s",
	} {
		if _, err := rendered(t, "podset-operator", "podset-operator-system", values, false); err == nil {
			t.Errorf("the chart accepts %s", values)
		}
	}
}
