// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/redhat/podset-operator/internal/testutil"
)

func fromSpec(spec *corev1.PodSpec) *Workload {
	return &Workload{Kind: "Deployment", Name: "web", Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: *spec}}
}

const copiedWeb = `metadata: {}
spec:
  containers:
  - args:
    - -p
    - "80"
    command:
    - serve
    env:
    - name: MODE
      value: prod
    envFrom:
    - secretRef:
        name: database
    image: registry.example.com/web:1
    name: web
    resources:
      claims:
      - name: gpu
    securityContext:
      readOnlyRootFilesystem: true
    volumeMounts:
    - mountPath: /config
      name: config
    - mountPath: /data
      name: data
    workingDir: /app
  dnsConfig:
    nameservers:
    - 10.0.0.10
  dnsPolicy: None
  enableServiceLinks: false
  hostAliases:
  - hostnames:
    - database
    ip: 10.0.0.7
  hostUsers: false
  imagePullSecrets:
  - name: registry
  nodeSelector:
    disk: ssd
  resourceClaims:
  - name: gpu
    resourceClaimName: gpu-1
  runtimeClassName: gvisor
  securityContext:
    runAsNonRoot: true
  serviceAccountName: web
  tolerations:
  - key: batch
    operator: Exists
  volumes:
  - configMap:
      name: web
    name: config
  - name: data
    persistentVolumeClaim:
      claimName: web
`

func TestCopy(t *testing.T) {
	template, omitted, err := fromSpec(testutil.Web()).Copy("", nil)
	if want := []string{"the init container init (--with init copies it)", "the container sidecar (--with sidecar copies it)"}; err != nil || !cmp.Equal(omitted, want) {
		t.Fatal(omitted, err)
	}
	got, err := yaml.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(copiedWeb, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestCopy_container(t *testing.T) {
	w := fromSpec(testutil.Web())
	w.Template.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": "sidecar"}
	for container, want := range map[string]string{"": "sidecar", "web": "web", "init": "init"} {
		template, _, err := w.Copy(container, nil)
		if err != nil || template.Spec.Containers[0].Name != want || want == "sidecar" && template.Spec.Volumes != nil {
			t.Errorf("%q: got %+v, %v, want %s", container, template, err, want)
		}
	}
	_, _, err := w.Copy("db", nil)
	if err == nil || err.Error() != `invalid --from: container db is not valid for pod web out of: web, sidecar, init (init)` {
		t.Errorf("got %v", err)
	}
}

// A reference to another container could never be resolved, and the pod would never start.
func TestCopy_otherContainers(t *testing.T) {
	resources := func(container string) *corev1.ResourceFieldSelector {
		return &corev1.ResourceFieldSelector{ContainerName: container, Resource: "limits.cpu"}
	}
	files := func() []corev1.DownwardAPIVolumeFile {
		return []corev1.DownwardAPIVolumeFile{{Path: "own", ResourceFieldRef: resources("web")}, {Path: "other", ResourceFieldRef: resources("sidecar")}}
	}
	w := fromSpec(testutil.Web())
	main := &w.Template.Spec.Containers[0]
	main.Env = []corev1.EnvVar{
		{Name: "OWN", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: resources("web")}},
		{Name: "NAMELESS", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: resources("")}},
		{Name: "OTHER", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: resources("sidecar")}},
		{Name: "FILE", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{VolumeName: "cache"}}},
	}
	main.VolumeMounts = []corev1.VolumeMount{{Name: "info", MountPath: "/info"}, {Name: "all", MountPath: "/all"}, {Name: "cache", MountPath: "/cache", SubPathExpr: "$(OTHER)"}}
	w.Template.Spec.Volumes = []corev1.Volume{
		{Name: "info", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: files()}}},
		{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{DownwardAPI: &corev1.DownwardAPIProjection{Items: files()}}}}}},
	}
	template, omitted, err := w.Copy("", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(got); strings.Contains(text, "sidecar") || strings.Contains(text, "FILE") || strings.Contains(text, "cache") || strings.Count(text, "path: own") != 2 || !strings.Contains(text, "NAMELESS") {
		t.Errorf("got\n%s", text)
	}
	if diff := cmp.Diff([]string{
		"the variable OTHER of the container sidecar", "the variable FILE of the volume cache", "the volume at /cache",
		"the file other of the container sidecar in the volume info", "the file other of the container sidecar in the volume all",
		"the init container init (--with init copies it)", "the container sidecar (--with sidecar copies it)",
	}, omitted); diff != "" {
		t.Error(diff)
	}
	if len(w.Template.Spec.Volumes[0].DownwardAPI.Items) != 2 {
		t.Error("the workload itself was changed")
	}
}

func TestCopy_devices(t *testing.T) {
	w := fromSpec(testutil.Web())
	spec := &w.Template.Spec
	spec.Resources = &corev1.ResourceRequirements{}
	spec.Containers[0].VolumeDevices = []corev1.VolumeDevice{{Name: "data", DevicePath: "/dev/data"}, {Name: "disk", DevicePath: "/dev/disk"}}
	spec.Affinity = &corev1.Affinity{}
	w.Claims = []string{"disk"}
	template, omitted, err := w.Copy("", []string{"init", "sidecar"})
	if want := []string{"the volume disk, of which each pod has its own", "the resources of the whole pod"}; err != nil || !cmp.Equal(omitted, want) {
		t.Errorf("omitted %q, %v", omitted, err)
	}
	if got := template.Spec; len(got.Containers[0].VolumeDevices) != 1 || got.Affinity != nil || len(got.Volumes) != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestCopy_onePod(t *testing.T) {
	w := fromSpec(testutil.Web())
	w.Limits = []string{"backoffLimit 4"}
	spec := &w.Template.Spec
	spec.Subdomain, spec.ShareProcessNamespace = "web", ptr.To(true)
	spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{}, PreStop: &corev1.LifecycleHandler{}}
	spec.Hostname, spec.TerminationGracePeriodSeconds = "web-0", ptr.To[int64](300)
	field := func(path string) *corev1.ObjectFieldSelector { return &corev1.ObjectFieldSelector{FieldPath: path} }
	spec.Containers[0].Env = []corev1.EnvVar{
		{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: field("metadata.name")}},
		{Name: "TIER", ValueFrom: &corev1.EnvVarSource{FieldRef: field("metadata.labels['tier']")}},
	}
	spec.Volumes[0].VolumeSource = corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
		Items: []corev1.DownwardAPIVolumeFile{{Path: "owner", FieldRef: field("metadata.annotations['example.com/owner']")}},
	}}
	template, omitted, err := w.Copy("", nil)
	if err != nil || *template.Spec.TerminationGracePeriodSeconds != 300 || len(template.Spec.Containers[0].Env) != 2 {
		t.Errorf("got %+v, %v", template, err)
	}
	if diff := cmp.Diff([]string{
		"the label tier that the variable TIER reads", "the annotation example.com/owner that the file owner reads",
		"the init container init (--with init copies it)", "the container sidecar (--with sidecar copies it)", "the hook postStart",
		"the host name web-0", "the subdomain web", "shareProcessNamespace", "backoffLimit 4",
	}, omitted); diff != "" {
		t.Error(diff)
	}
}

func TestCopy_nodes(t *testing.T) {
	w := fromSpec(testutil.Web())
	spec := &w.Template.Spec
	spec.PriorityClassName, spec.SchedulerName, spec.HostNetwork = "high", "volcano", true
	arm := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/arch", Operator: corev1.NodeSelectorOpIn, Values: []string{"arm64"}}}}
	node := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-1"}}}}
	required := func(term corev1.NodeSelectorTerm) *corev1.NodeAffinity {
		return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}}
	}
	terms := []corev1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname"}}
	spec.Affinity = &corev1.Affinity{NodeAffinity: required(arm),
		PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}, PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	template, omitted, err := w.Copy("", nil)
	got := template.Spec
	if err != nil || got.PriorityClassName != "high" || got.SchedulerName != "volcano" || !got.HostNetwork || !cmp.Equal(got.Affinity, &corev1.Affinity{NodeAffinity: required(arm)}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if !cmp.Equal(omitted[:2], []string{"the required pod affinity", "the required pod anti-affinity"}) {
		t.Errorf("omitted %q", omitted)
	}
	spec.Affinity = &corev1.Affinity{NodeAffinity: required(node)} // as in a pod of a DaemonSet
	template, omitted, err = w.Copy("", nil)
	if err != nil || template.Spec.Affinity != nil || omitted[0] != "the affinity to a node by its name" {
		t.Errorf("got %+v, omitted %q, %v", template.Spec.Affinity, omitted, err)
	}
}

func TestOmittedKeys(t *testing.T) {
	w := &Workload{}
	w.Template.ObjectMeta = metav1.ObjectMeta{
		Labels:      map[string]string{"app": "web", "app.kubernetes.io/name": "web", "azure.workload.identity/use": "true", "sidecar.istio.io/inject": "false", "app.example.com/slot": "0", "cnat.d2iq.com/at": "a"},
		Annotations: map[string]string{"vault.hashicorp.com/agent-inject": "true", "prometheus.io/scrape": "true", "linkerd.io/inject": "disabled"},
	}
	want := []string{"the label azure.workload.identity/use", "the annotation vault.hashicorp.com/agent-inject"}
	if diff := cmp.Diff(want, w.OmittedKeys([]string{"sidecar.istio.io/inject=false"}, []string{"linkerd.io/inject=enabled"})); diff != "" {
		t.Error(diff)
	}
}

func TestOf_limits(t *testing.T) {
	parse := func(text string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	for text, want := range map[string]string{
		"{kind: CronJob, spec: {startingDeadlineSeconds: 60, concurrencyPolicy: Forbid, jobTemplate: {spec: {backoffLimit: 4, activeDeadlineSeconds: 3600, template: {spec: {restartPolicy: OnFailure, containers: [{}]}}}}}}": "startingDeadlineSeconds 60 (--starting-deadline sets it), concurrencyPolicy Forbid, activeDeadlineSeconds 3600 (--deadline sets it), backoffLimit 4 (--retries sets it), restartPolicy OnFailure",
		"{kind: CronJob, spec: {concurrencyPolicy: Allow, jobTemplate: {spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{}]}}}}}}":                                                                "",
		"{kind: Job, spec: {completions: 3, parallelism: 1, completionMode: Indexed, podFailurePolicy: {rules: []}, template: {spec: {activeDeadlineSeconds: 9, containers: [{}]}}}}":                                          "podFailurePolicy (--retry-exit-codes sets it), completions 3, completionMode Indexed, activeDeadlineSeconds 9 (--deadline sets it)",
		"{kind: Deployment, spec: {template: {spec: {restartPolicy: Always, containers: [{}]}}}}":                                                                                                                              "",
		"{kind: Pod, spec: {restartPolicy: OnFailure, containers: [{}]}}":                                                                                                                                                      "restartPolicy OnFailure",
	} {
		w, err := Of(parse(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(w.Limits, ", "); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestCopy_with(t *testing.T) {
	w := fromSpec(testutil.Web())
	spec := &w.Template.Spec
	spec.InitContainers = []corev1.Container{
		{Name: "init", VolumeMounts: []corev1.VolumeMount{{Name: "cache"}}},
		{Name: "vault", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways), StartupProbe: &corev1.Probe{PeriodSeconds: 1}, LivenessProbe: &corev1.Probe{}},
	}
	spec.Containers[0].Env = []corev1.EnvVar{
		{Name: "CPU", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: "proxy", Resource: "limits.cpu"}}},
		{Name: "FILE", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{VolumeName: "cache"}}},
	}
	spec.Containers[1] = corev1.Container{
		Name: "proxy", Image: "proxy", Ports: []corev1.ContainerPort{{Name: "db", ContainerPort: 5432, HostPort: 5432}}, ReadinessProbe: &corev1.Probe{},
		Lifecycle: &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}}},
		Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "other"}}},
	}
	template, omitted, err := w.Copy("web", []string{"proxy", "vault", "init"})
	if err != nil || len(omitted) > 0 {
		t.Fatal(omitted, err)
	}
	got := template.Spec
	always := ptr.To(corev1.ContainerRestartPolicyAlways)
	if diff := cmp.Diff([]corev1.Container{
		{Name: "init", VolumeMounts: []corev1.VolumeMount{{Name: "cache"}}},
		{Name: "vault", RestartPolicy: always, StartupProbe: &corev1.Probe{PeriodSeconds: 1}},
		{Name: "proxy", Image: "proxy", RestartPolicy: always, Ports: []corev1.ContainerPort{{Name: "db", ContainerPort: 5432}},
			Lifecycle: spec.Containers[1].Lifecycle, Resources: spec.Containers[1].Resources},
	}, got.InitContainers); diff != "" {
		t.Error(diff)
	}
	if len(got.Containers) != 1 || len(got.Containers[0].Env) != 2 || len(got.ResourceClaims) != 2 || len(got.Volumes) != 3 {
		t.Errorf("got %+v", got)
	}
	for name, want := range map[string]string{
		"web": `invalid --with "web": must be one of the other containers of the Deployment web: init, vault, proxy`,
		"db":  `invalid --with "db": must be one of the other containers of the Deployment web: init, vault, proxy`,
	} {
		if _, _, err := w.Copy("web", []string{name}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestOf(t *testing.T) {
	template := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web:1"}}}}
	spec := map[string]any{"template": template, "activeDeadlineSeconds": int64(600)}
	for kind, fields := range map[string]map[string]any{
		"DeploymentConfig": spec,
		"Rollout":          spec,
		"CronJob":          {"jobTemplate": map[string]any{"spec": spec}},
		"Pod":              template["spec"].(map[string]any),
	} {
		fields["volumeClaimTemplates"] = []any{map[string]any{"metadata": map[string]any{"name": "data"}}}
		w, err := Of(&unstructured.Unstructured{Object: map[string]any{"kind": kind, "metadata": map[string]any{"name": "web"}, "spec": fields}})
		if err != nil || w.Template.Spec.Containers[0].Image != "web:1" || (kind != "Pod") != (len(w.Limits) > 0) || !cmp.Equal(w.Claims, []string{"data"}) {
			t.Errorf("%s: got %+v, %v", kind, w, err)
		}
	}
	for name, fields := range map[string]map[string]any{
		"another object's template": {"workloadRef": map[string]any{"kind": "Deployment", "name": "web"}},
		"a template of its own":     {"template": map[string]any{"spec": map[string]any{"containers": "two"}}},
		"no template":               {"template": "x"},
	} {
		_, err := Of(&unstructured.Unstructured{Object: map[string]any{"kind": "Rollout", "metadata": map[string]any{"name": "web"}, "spec": fields}})
		if want := "the Rollout web has no pod template in spec.template; use one of its pods or its ReplicaSet: --from pod/NAME, --from rs/NAME"; err == nil || err.Error() != want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestWrapper(t *testing.T) {
	words := func(command, args string) *corev1.Container {
		return &corev1.Container{Command: strings.Fields(command), Args: strings.Fields(args)}
	}
	for want, containers := range map[string][]*corev1.Container{
		"": {
			words("", ""), words("", "-p 80"), words("sleep 86400", ""), words("sh -c", "serve"), words("nginx", "-g x"), words("python3.12", "manage.py"),
			words("bundle exec puma", ""), words("/bin/serve", ""),
		},
		Entrypoint:                {words("", "bin/serve -p 80")},
		"/cnb/lifecycle/launcher": {words("/cnb/lifecycle/launcher", "bin/serve"), words("/cnb/lifecycle/launcher bin/serve", "")},
		"doppler run --":          {words("doppler run -- rails server", ""), words("doppler run --", "rails server")},
		"/vault/vault-env":        {words("/vault/vault-env rails server", "")},
		"docker-entrypoint.sh":    {words("docker-entrypoint.sh", "")},
		"with-db":                 {words("with-db", "serve")},
	} {
		for _, c := range containers {
			if got := Wrapper(c); got != want {
				t.Errorf("%q %q: got %q, want %q", c.Command, c.Args, got, want)
			}
		}
	}
}

func TestOmittedSelectors(t *testing.T) {
	web, tier := map[string]string{"app": "web"}, map[string]string{"app": "web", "tier": "x"}
	w := &Workload{Kind: "Deployment", Name: "web", Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: tier}}}
	policy := func(name string, pods metav1.LabelSelector, from ...*metav1.LabelSelector) networkingv1.NetworkPolicy {
		p := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.NetworkPolicySpec{PodSelector: pods}}
		for _, selector := range from {
			p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{PodSelector: selector}}})
		}
		return p
	}
	service := func(name string, selector map[string]string) corev1.Service {
		return corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Selector: selector}}
	}
	deny, database := metav1.LabelSelector{}, metav1.LabelSelector{MatchLabels: map[string]string{"app": "database"}}
	toWeb := policy("out", metav1.LabelSelector{MatchLabels: web})
	const begin = "the network policy "
	const text = " selects the pods of the Deployment web by labels that are not copied, so it does not apply to this pod, or does not let it connect"
	for name, test := range map[string]struct {
		policies []networkingv1.NetworkPolicy
		services []corev1.Service
		labels   map[string]string
		want     string
	}{
		"none":             {},
		"all pods":         {policies: []networkingv1.NetworkPolicy{policy("deny", deny, nil)}},
		"other pods":       {policies: []networkingv1.NetworkPolicy{policy("database", database)}},
		"its pods":         {policies: []networkingv1.NetworkPolicy{policy("deny", deny), toWeb}, want: begin + "out" + text + "; --label app=web sets them"},
		"what may connect": {policies: []networkingv1.NetworkPolicy{policy("in", database, &toWeb.Spec.PodSelector)}, want: begin + "in" + text + "; --label app=web sets them"},
		"the label is set": {policies: []networkingv1.NetworkPolicy{toWeb}, labels: web},
		"a Service, too":   {policies: []networkingv1.NetworkPolicy{toWeb}, services: []corev1.Service{service("web", web), service("x", tier), service("headless", nil)}, want: begin + "out" + text + "; --label app=web sets them, but then the Service web sends traffic to the pod"},
		"an expression":    {policies: []networkingv1.NetworkPolicy{policy("e", metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpExists}}})}, want: begin + "e" + text + "; --label tier=x sets them"},
	} {
		if got := w.OmittedSelectors(test.policies, test.services, test.labels); got != test.want {
			t.Errorf("%s: got  %s\nwant %s", name, got, test.want)
		}
	}
}

func TestNotFixed(t *testing.T) {
	script := corev1.LocalObjectReference{Name: "script"}
	pod := &corev1.PodSpec{
		Containers: []corev1.Container{
			{Image: "shop:1.4", Env: []corev1.EnvVar{{ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "env"}}}}}},
			{Image: "proxy@sha256:0", Env: []corev1.EnvVar{{ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "key"}}}}},
				EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: script}}, {ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "all"}}}}},
		},
		Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: script}}},
			{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: script}}, {Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "tls"}}}}}}},
			{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "files"}}},
			{VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "scripts:latest"}}},
			{VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "scripts@sha256:0"}}},
			{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
			{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "vault", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{}}},
		},
	}
	want := "the image shop:1.4, the ConfigMap env, the Secret script, the ConfigMap all, the Secret key, the ConfigMap script, the Secret tls, the Secret files, the image scripts:latest, the claim data, the volume vault"
	if got := strings.Join(NotFixed(pod), ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSetEnv(t *testing.T) {
	fromSecret := &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "host"}}
	for name, test := range map[string]struct {
		existing []corev1.EnvVar
		flags    []string
		want     []corev1.EnvVar
	}{
		"one of three": {
			existing: []corev1.EnvVar{{Name: "MODE", Value: "prod"}},
			flags:    []string{"MODE=test", "URL=a=b", "EMPTY="},
			want:     []corev1.EnvVar{{Name: "MODE", Value: "test"}, {Name: "URL", Value: "a=b"}, {Name: "EMPTY"}},
		},
		"one that a later one refers to": {
			existing: []corev1.EnvVar{{Name: "HOST", ValueFrom: fromSecret}, {Name: "URL", Value: "http://$(HOST)"}},
			flags:    []string{"HOST=test"},
			want:     []corev1.EnvVar{{Name: "HOST", Value: "test"}, {Name: "URL", Value: "http://$(HOST)"}},
		},
		"one that is there twice": {
			existing: []corev1.EnvVar{{Name: "MODE", Value: "a"}, {Name: "MODE", Value: "b"}},
			flags:    []string{"MODE=test"},
			want:     []corev1.EnvVar{{Name: "MODE", Value: "test"}, {Name: "MODE", Value: "test"}},
		},
	} {
		container := corev1.Container{Env: test.existing}
		if err := SetEnv(&container, test.flags); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, container.Env); diff != "" {
			t.Errorf("%s\n%s", name, diff)
		}
	}
	if err := SetEnv(&corev1.Container{}, []string{"=x"}); err == nil || err.Error() != `invalid --env "=x": expected NAME=VALUE` {
		t.Errorf("got %v", err)
	}
}
