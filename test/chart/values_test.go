// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// find returns the value at a path such as "spec template spec containers 0 image", or nil.
func find(value any, path ...string) any {
	for _, step := range path {
		switch v := value.(type) {
		case object:
			value = v[step]
		case []any:
			i := slices.Index([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}, step)
			if i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

const (
	digest   = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	operator = "Deployment ns/r-podset-operator-controller-manager"
	inPod    = "spec template spec "
	inMain   = inPod + "containers 0 "
	inRules  = "spec groups 0 rules "
)

// Each value changes what its name describes.
func TestValues(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{}
	for _, c := range []struct{ values, object, path, want string }{
		{"enabled: true", operator, inMain + "image", "quay.io/redhat/podset-operator:v0.1.0"},
		{"global: {imageRegistry: mirror.corp:5000}", operator, inMain + "image", "mirror.corp:5000/redhat/podset-operator:v0.1.0"},
		{"global: {imageRegistry: mirror.corp:5000/}", operator, inMain + "env 1 value", "mirror.corp:5000/library/busybox:1.36"},
		{"{global: {imageRegistry: mirror.corp}, busyboxImage: 'busybox:1.36'}", operator, inMain + "env 1 value", "mirror.corp/busybox:1.36"},
		{"{global: {imageRegistry: mirror.corp}, image: {registry: other.corp}}", operator, inMain + "image", "mirror.corp/redhat/podset-operator:v0.1.0"},
		{"{global: {imageRegistry: mirror.corp}, test: {enabled: true}}", "Pod ns/r-podset-operator-test", "spec containers 0 image", "mirror.corp/kubectl:v1.37.1"},
		{"{global: {imagePullSecrets: [a, {name: b}]}, imagePullSecrets: [{name: a}]}", operator, inPod + "imagePullSecrets", "[{name: a}, {name: b}]"},
		{"{global: {imagePullSecrets: [a]}, test: {enabled: true}}", "Pod ns/r-podset-operator-test", "spec imagePullSecrets", "[{name: a}]"},
		{"{global: {imagePullSecrets: [a, {name: b}]}, imagePullSecrets: [c]}", operator, inMain + "args", "[--leader-elect, '--default-image-pull-secrets=a,b']"},
		{"nameOverride: ats", "Deployment ns/r-ats-controller-manager", "metadata name", "r-ats-controller-manager"},
		{"fullnameOverride: ats", "Deployment ns/ats-controller-manager", "metadata name", "ats-controller-manager"},
		{"namespaceOverride: other", "Deployment other/r-podset-operator-controller-manager", "kind", "Deployment"},
		{"namespaceOverride: other", "RoleBinding other/r-podset-operator-leader-election-rolebinding", "subjects 0 namespace", "other"},
		{"namespaceOverride: other", operator, "kind", "null"},
		{"commonLabels: {team: a, app.kubernetes.io/name: other}", "ClusterRole /r-podset-operator-manager-role", "metadata labels team", "a"},
		{"commonLabels: {team: a, app.kubernetes.io/name: other}", operator, "metadata labels app.kubernetes.io/name", "podset-operator"},
		{"commonLabels: {team: a}", operator, "spec template metadata labels team", "a"},
		{"commonLabels: {team: a}", operator, "spec selector matchLabels team", "null"},
		{"image: {registry: mirror.corp}", operator, inMain + "image", "mirror.corp/redhat/podset-operator:v0.1.0"},
		{"image: {repository: 'r.corp:5000/x', tag: v9}", operator, inMain + "image", "r.corp:5000/x:v9"},
		{"image: {tag: v9, digest: '" + digest + "'}", operator, inMain + "image", "quay.io/redhat/podset-operator@" + digest},
		{"image: {pullPolicy: Always}", operator, inMain + "imagePullPolicy", "Always"},
		{"busyboxImage: r/b:1", operator, inMain + "env 1 value", "r/b:1"},
		{"imagePullSecrets: [{name: a}]", operator, inPod + "imagePullSecrets", "[{name: a}]"},
		{"crds: {keep: false}", "CustomResourceDefinition /ats.cnat.d2iq.com", "metadata annotations helm.sh/resource-policy", "null"},
		{"crds: {install: false}", "CustomResourceDefinition /ats.cnat.d2iq.com", "kind", "null"},
		{"replicas: 1", "PodDisruptionBudget ns/r-podset-operator-controller-manager", "kind", "null"},
		{"replicas: 2", "PodDisruptionBudget ns/r-podset-operator-controller-manager", "spec maxUnavailable", "1"},
		{"replicas: 0", operator, "spec replicas", "0"},
		{"{replicas: 2, podDisruptionBudget: {enabled: false}}", "PodDisruptionBudget ns/r-podset-operator-controller-manager", "kind", "null"},
		{"watchNamespaces: [a, b]", "Role b/r-podset-operator-manager-role", "kind", "Role"},
		{"extraArgs: [--zap-log-level=debug]", operator, inMain + "args", "[--leader-elect, --zap-log-level=debug]"},
		{"extraEnv: [{name: HTTPS_PROXY, value: 'http://proxy:3128'}]", operator, inMain + "env 3", "{name: HTTPS_PROXY, value: 'http://proxy:3128'}"},
		{"extraEnvFrom: [{configMapRef: {name: a}}]", operator, inMain + "envFrom", "[{configMapRef: {name: a}}]"},
		{"extraVolumes: [{name: a, emptyDir: {}}]", operator, inPod + "volumes", "[{name: a, emptyDir: {}}]"},
		{"extraVolumeMounts: [{name: a, mountPath: /a}]", operator, inMain + "volumeMounts", "[{name: a, mountPath: /a}]"},
		{"extraContainers: [{name: a}]", operator, inPod + "containers 1 name", "a"},
		{"extraObjects: [{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: '{{ .Release.Namespace }}'}}]", "Secret ns/a", "kind", "Secret"},
		{"extraObjects: ['{kind: Secret, metadata: {name: {{ .Release.Name }}}}']", "Secret /r", "kind", "Secret"},
		{"podLabels: {team: a, control-plane: other}", operator, "spec template metadata labels", "{team: a, app.kubernetes.io/name: podset-operator, control-plane: controller-manager}"},
		{"podAnnotations: {team: a}", operator, "spec template metadata annotations team", "a"},
		{"deploymentAnnotations: {team: a}", operator, "metadata annotations team", "a"},
		{"priorityClassName: system-cluster-critical", operator, inPod + "priorityClassName", "system-cluster-critical"},
		{"revisionHistoryLimit: 0", operator, "spec revisionHistoryLimit", "0"},
		{"terminationGracePeriodSeconds: 30", operator, inPod + "terminationGracePeriodSeconds", "30"},
		{"strategy: {type: Recreate}", operator, "spec strategy type", "Recreate"},
		{"resources: {limits: {memory: 1Gi}}", operator, inMain + "resources limits memory", "1Gi"},
		{"hostNetwork: true", operator, inPod + "hostNetwork", "true"},
		{"hostNetwork: true", operator, "spec strategy", "{rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}"},
		{"{hostNetwork: true, strategy: {type: Recreate}}", operator, "spec strategy", "{type: Recreate}"},
		{"dnsPolicy: None", operator, inPod + "dnsPolicy", "None"},
		{"dnsConfig: {nameservers: [192.0.2.1]}", operator, inPod + "dnsConfig nameservers", "[192.0.2.1]"},
		{"hostAliases: [{ip: 192.0.2.1, hostnames: [a]}]", operator, inPod + "hostAliases 0 ip", "192.0.2.1"},
		{"runtimeClassName: gvisor", operator, inPod + "runtimeClassName", "gvisor"},
		{"nodeSelector: {a: b}", operator, inPod + "nodeSelector a", "b"},
		{"tolerations: [{key: a}]", operator, inPod + "tolerations 0 key", "a"},
		{"tolerationSeconds: 60", operator, inPod + "tolerations 1 tolerationSeconds", "60"},
		{"tolerationSeconds: 0", operator, inPod + "tolerations 0 tolerationSeconds", "0"},
		{"tolerationSeconds: null", operator, inPod + "tolerations", "null"},
		{"{tolerationSeconds: null, tolerations: [{key: a}]}", operator, inPod + "tolerations", "[{key: a}]"},
		{"affinity: {podAffinity: {a: b}}", operator, inPod + "affinity podAffinity a", "b"},
		{"affinity: null", operator, inPod + "affinity", "null"},
		{"{replicas: 2, topologySpreadConstraints: [{maxSkew: 2}]}", operator, inPod + "topologySpreadConstraints", "[{maxSkew: 2}]"},
		{"podSecurityContext: {fsGroup: 1}", operator, inPod + "securityContext fsGroup", "1"},
		{"securityContext: {privileged: false}", operator, inMain + "securityContext privileged", "false"},
		{"livenessProbe: {timeoutSeconds: 9}", operator, inMain + "livenessProbe", "{httpGet: {path: /healthz, port: probes}, initialDelaySeconds: 15, periodSeconds: 20, timeoutSeconds: 9}"},
		{"readinessProbe: {timeoutSeconds: 9}", operator, inMain + "readinessProbe timeoutSeconds", "9"},
		{"livenessProbe: null", operator, inMain + "livenessProbe", "null"},
		{"readinessProbe: null", operator, inMain + "readinessProbe", "null"},
		{"probePort: 9081", operator, inMain + "args", "[--leader-elect, '--health-probe-bind-address=:9081']"},
		{"probePort: 9081", operator, inMain + "ports 1 containerPort", "9081"},
		{"serviceAccount: {automount: false}", "ServiceAccount ns/r-podset-operator-controller-manager", "automountServiceAccountToken", "false"},
		{"serviceAccount: {automount: false}", operator, inPod + "automountServiceAccountToken", "true"},
		{"serviceAccount: {name: a, annotations: {b: c}}", "ServiceAccount ns/a", "metadata annotations b", "c"},
		{"serviceAccount: {name: a}", "ClusterRoleBinding /r-podset-operator-metrics-auth-rolebinding", "subjects 0 name", "a"},
		{"serviceAccount: {create: false, name: default}", operator, inPod + "serviceAccountName", "default"},
		{"serviceAccount: {labels: {team: a}}", "ServiceAccount ns/r-podset-operator-controller-manager", "metadata labels team", "a"},
		{"serviceAccount: {create: false, name: a}", "ServiceAccount ns/a", "kind", "null"},
		{"rbac: {create: false}", "RoleBinding ns/r-podset-operator-leader-election-rolebinding", "kind", "null"},
		{"rbac: {clusterRole: a}", "ClusterRoleBinding /r-podset-operator-manager-rolebinding-ca978112", "roleRef name", "a"},
		{"rbac: {clusterRole: a}", "ClusterRoleBinding /r-podset-operator-manager-rolebinding", "kind", "null"},
		{"rbac: {aggregate: false}", "ClusterRole /r-podset-operator-at-editor-role", "metadata labels rbac.authorization.k8s.io/aggregate-to-edit", "null"},
		{"rbac: {userRoles: false}", "ClusterRole /r-podset-operator-at-editor-role", "kind", "null"},
		{"metrics: {port: 9443}", operator, inMain + "args", "[--leader-elect, '--metrics-bind-address=:9443']"},
		{"metrics: {port: 9443}", operator, inMain + "ports 0 containerPort", "9443"},
		{"metrics: {service: {annotations: {a: b}}}", "Service ns/r-podset-operator-controller-manager-metrics-service", "metadata annotations a", "b"},
		{"metrics: {service: {ipFamilyPolicy: PreferDualStack}}", "Service ns/r-podset-operator-controller-manager-metrics-service", "spec ipFamilyPolicy", "PreferDualStack"},
		{"metrics: {service: {ipFamilies: [IPv6, IPv4]}}", "Service ns/r-podset-operator-controller-manager-metrics-service", "spec ipFamilies", "[IPv6, IPv4]"},
		{"metrics: {service: {type: NodePort}}", "Service ns/r-podset-operator-controller-manager-metrics-service", "spec type", "NodePort"},
		{"metrics: {service: {labels: {a: b}}}", "Service ns/r-podset-operator-controller-manager-metrics-service", "metadata labels a", "b"},
		{"metrics: {secure: false}", operator, inMain + "args", "[--leader-elect, --metrics-secure=false]"},
		{"metrics: {secure: false}", "Service ns/r-podset-operator-controller-manager-metrics-service", "spec ports 0 name", "http"},
		{"metrics: {secure: false}", "ClusterRoleBinding /r-podset-operator-metrics-auth-rolebinding", "kind", "null"},
		{"metrics: {secure: false, serviceMonitor: {enabled: true}}", "ServiceMonitor ns/r-podset-operator-metrics", "spec endpoints", "[{port: http, path: /metrics, scheme: http}]"},
		{"metrics: {secure: false, serviceMonitor: {enabled: true}}", "Secret ns/r-podset-operator-metrics-token", "kind", "null"},
		{"metrics: {serviceMonitor: {enabled: true, annotations: {a: b}}}", "ServiceMonitor ns/r-podset-operator-metrics", "metadata annotations a", "b"},
		{"metrics: {dashboard: {enabled: true}}", "ConfigMap ns/r-podset-operator-dashboard", "metadata labels grafana_dashboard", "'1'"},
		{"metrics: {dashboard: {enabled: true, namespace: m, annotations: {grafana_folder: a}}}", "ConfigMap m/r-podset-operator-dashboard", "metadata annotations", "{grafana_folder: a}"},
		{"metrics: {enabled: false, dashboard: {enabled: true}}", "ConfigMap ns/r-podset-operator-dashboard", "kind", "null"},
		{"metrics: {prometheusRule: {enabled: true}}", "PrometheusRule ns/r-podset-operator-rules", inRules + "0 alert", "PodSetOperatorDown"},
		{"metrics: {prometheusRule: {enabled: true}}", "PrometheusRule ns/r-podset-operator-rules", inRules + "0 labels", "{namespace: ns, severity: warning}"},
		{"metrics: {prometheusRule: {enabled: true, disabled: [PodSetOperatorDown]}}", "PrometheusRule ns/r-podset-operator-rules", inRules + "0 alert", "PodSetOperatorErrors"},
		{"metrics: {prometheusRule: {enabled: true, alertLabels: {severity: page}}}", "PrometheusRule ns/r-podset-operator-rules", inRules + "1 labels", "{severity: page}"},
		{"metrics: {prometheusRule: {enabled: true, annotations: {a: b}}}", "PrometheusRule ns/r-podset-operator-rules", "metadata annotations a", "b"},
		{"metrics: {serviceMonitor: {enabled: true}}", "ServiceMonitor ns/r-podset-operator-metrics", "spec endpoints 0 tlsConfig", "{insecureSkipVerify: true}"},
		{"metrics: {serviceMonitor: {enabled: true, tlsConfig: {serverName: a}}}", "ServiceMonitor ns/r-podset-operator-metrics", "spec endpoints 0 tlsConfig", "{serverName: a}"},
		{"metrics: {serviceMonitor: {enabled: true, relabelings: [{action: a}]}}", "ServiceMonitor ns/r-podset-operator-metrics", "spec endpoints 0 relabelings", "[{action: a}]"},
		{"metrics: {serviceMonitor: {enabled: true, metricRelabelings: [{action: a}]}}", "ServiceMonitor ns/r-podset-operator-metrics", "spec endpoints 0 metricRelabelings", "[{action: a}]"},
		{"metrics: {serviceMonitor: {enabled: true, namespace: m}}", "ServiceMonitor m/r-podset-operator-metrics", "spec namespaceSelector", "{matchNames: [ns]}"},
		{"metrics: {serviceMonitor: {enabled: true, namespace: m}}", "Secret m/r-podset-operator-metrics-token", "metadata annotations", "{kubernetes.io/service-account.name: r-podset-operator-metrics-client}"},
		{"metrics: {serviceMonitor: {enabled: true, namespace: m}}", "ClusterRoleBinding /r-podset-operator-metrics-client", "subjects 0 namespace", "m"},
		{"metrics: {prometheusRule: {enabled: true, namespace: m}}", "PrometheusRule m/r-podset-operator-rules", "kind", "PrometheusRule"},
		{"metrics: {serviceMonitor: {enabled: true, labels: {release: kps}, interval: 30s, scrapeTimeout: 9s}}", "ServiceMonitor ns/r-podset-operator-metrics", "metadata labels release", "kps"},
		{"metrics: {serviceMonitor: {enabled: true, interval: 30s, tlsConfig: {serverName: a}}}", "ServiceMonitor ns/r-podset-operator-metrics", "spec endpoints 0 interval", "30s"},
		{"metrics: {enabled: false, serviceMonitor: {enabled: true}}", "ServiceMonitor ns/r-podset-operator-metrics", "kind", "null"},
		{"metrics: {prometheusRule: {enabled: true, labels: {release: kps}}}", "PrometheusRule ns/r-podset-operator-rules", "metadata labels release", "kps"},
		{"policy: {enabled: false}", "ValidatingAdmissionPolicy /r-podset-operator-pod-creators", "kind", "null"},
		{"flowSchema: {enabled: true}", "FlowSchema /r-podset-operator-lease", "spec rules 0 subjects 0 serviceAccount", "{name: r-podset-operator-controller-manager, namespace: ns}"},
		{"flowSchema: {enabled: true}", "FlowSchema /r-podset-operator-lease", "spec rules 0 resourceRules 0 namespaces", "[ns]"},
		{"{flowSchema: {enabled: true}, serviceAccount: {name: a}}", "FlowSchema /r-podset-operator-lease", "spec rules 0 subjects 0 serviceAccount name", "a"},
		{"networkPolicy: {enabled: true, apiServerPorts: [7443]}", "NetworkPolicy ns/r-podset-operator-controller-manager", "spec egress", "[{ports: [{port: 7443, protocol: TCP}]}]"},
		{"networkPolicy: {enabled: true, metricsFrom: [{podSelector: {}}]}", "NetworkPolicy ns/r-podset-operator-controller-manager", "spec ingress 0 from", "[{podSelector: {}}]"},
		{"{networkPolicy: {enabled: true}, metrics: {enabled: false}}", "NetworkPolicy ns/r-podset-operator-controller-manager", "spec ingress", "null"},
		{"test: {enabled: false}", "Pod ns/r-podset-operator-test", "kind", "null"},
		{"test: {enabled: true, runAsUser: 1000680000}", "Pod ns/r-podset-operator-test", "spec securityContext runAsUser", "1000680000"},
		{"test: {enabled: true, runAsUser: null}", "Pod ns/r-podset-operator-test", "spec securityContext runAsUser", "null"},
		{"{test: {enabled: true}, nodeSelector: {a: b}, tolerations: [{key: c}]}", "Pod ns/r-podset-operator-test", "spec nodeSelector a", "b"},
		{"{test: {enabled: true}, nodeSelector: {a: b}, tolerations: [{key: c}]}", "Pod ns/r-podset-operator-test", "spec tolerations 0 key", "c"},
		{"test: {enabled: true, image: a, resources: {limits: {memory: 1Gi}}}", "Pod ns/r-podset-operator-test", "spec containers 0 resources limits memory", "1Gi"},
	} {
		var values, want any
		if err := yaml.Unmarshal([]byte(c.values), &values); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		set := values.(object)
		for name := range set {
			tested[name] = true
		}
		if set["crds"] == nil { // They take most of the time.
			set["crds"] = object{"install": false}
		}
		text, err := yaml.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		all, hooks, err := render(t, "r", "ns", string(text))
		if err != nil {
			t.Fatalf("%s: %v", c.values, err)
		}
		maps.Copy(all, hooks)
		got, err := yaml.Marshal(find(all[c.object], strings.Fields(c.path)...))
		if err != nil {
			t.Fatal(err)
		}
		if wanted, _ := yaml.Marshal(want); string(got) != string(wanted) {
			t.Errorf("%s: %s of %s is %swant %s", c.values, c.path, c.object, got, wanted)
		}
	}
	data, err := os.ReadFile(filepath.Join(root, "charts/podset-operator/values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defaults := object{}
	if err := yaml.Unmarshal(data, &defaults); err != nil {
		t.Fatal(err)
	}
	for name := range defaults {
		if !tested[name] {
			t.Errorf("no case sets %s", name)
		}
	}
}

// On OpenShift, the test pod has no user, because the security context constraints choose one.
func TestHook_openShift(t *testing.T) {
	for version, want := range map[string]any{"security.openshift.io/v1": nil, "apps/v1": 65532.0} {
		_, hooks, err := render(t, "r", "ns", "test: {enabled: true}", version)
		if err != nil {
			t.Fatal(err)
		}
		if got := find(hooks["Pod ns/r-podset-operator-test"], "spec", "securityContext", "runAsUser"); got != want {
			t.Errorf("with %s, the user is %v, want %v", version, got, want)
		}
	}
}
