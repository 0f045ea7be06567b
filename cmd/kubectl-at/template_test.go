// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// web is a pod of an application, with all that --from copies and much that it does not.
func web() *corev1.PodSpec {
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)}}}
	return &corev1.PodSpec{
		ServiceAccountName: "web",
		ImagePullSecrets:   []corev1.LocalObjectReference{{Name: "registry"}},
		SecurityContext:    &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true)},
		NodeSelector:       map[string]string{"disk": "ssd"},
		EnableServiceLinks: ptr.To(false),
		RuntimeClassName:   ptr.To("gvisor"),
		HostUsers:          ptr.To(false),
		DNSPolicy:          corev1.DNSNone,
		DNSConfig:          &corev1.PodDNSConfig{Nameservers: []string{"10.0.0.10"}},
		HostAliases:        []corev1.HostAlias{{IP: "10.0.0.7", Hostnames: []string{"database"}}},
		ResourceClaims:     []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("gpu-1")}, {Name: "other", ResourceClaimName: ptr.To("gpu-2")}},
		Tolerations:        []corev1.Toleration{{Key: "batch", Operator: corev1.TolerationOpExists}},
		InitContainers:     []corev1.Container{{Name: "init", Image: "init"}},
		RestartPolicy:      corev1.RestartPolicyAlways,
		NodeName:           "node-1",
		Containers: []corev1.Container{{
			Name: "web", Image: "registry.example.com/web:1", Command: []string{"serve"}, Args: []string{"-p", "80"}, WorkingDir: "/app",
			Env:             []corev1.EnvVar{{Name: "MODE", Value: "prod"}},
			EnvFrom:         []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "database"}}}},
			Resources:       corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}},
			Ports:           []corev1.ContainerPort{{ContainerPort: 80}},
			LivenessProbe:   probe,
			ReadinessProbe:  probe,
			StartupProbe:    probe,
			Lifecycle:       &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}},
			SecurityContext: &corev1.SecurityContext{ReadOnlyRootFilesystem: ptr.To(true)},
			VolumeMounts: []corev1.VolumeMount{
				{Name: "config", MountPath: "/config"}, {Name: "data", MountPath: "/data"},
				{Name: "kube-api-access-x7k2p", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"},
			},
		}, {Name: "sidecar", Image: "sidecar"}},
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web"}}}},
			{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "web"}}},
			{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "kube-api-access-x7k2p", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}},
		},
	}
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

func TestFromCopiesWhatTheCommandNeedsAndNothingThatDrawsTraffic(t *testing.T) {
	template, missing, err := copyTemplate(web(), "", nil)
	if err != nil || missing != nil {
		t.Fatal(missing, err)
	}
	got, err := yaml.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(copiedWeb, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestFromTakesTheContainerThatIsNamed(t *testing.T) {
	template, _, err := copyTemplate(web(), "sidecar", nil)
	if err != nil || template.Spec.Containers[0].Image != "sidecar" || template.Spec.Volumes != nil {
		t.Errorf("got %+v, %v", template, err)
	}
	_, _, err = copyTemplate(web(), "db", nil)
	if err == nil || err.Error() != `--from: there is no container "db"; there is web, sidecar` {
		t.Errorf("got %v", err)
	}
}

func TestFromLeavesOutTheVolumesThatEachPodOfAStatefulSetHas(t *testing.T) {
	template, missing, err := copyTemplate(web(), "web", []string{"data"})
	if err != nil || !cmp.Equal(missing, []string{"data"}) || len(template.Spec.Volumes) != 1 || len(template.Spec.Containers[0].VolumeMounts) != 1 {
		t.Errorf("got %+v, missing %q, %v", template, missing, err)
	}
}

func TestEnvReplacesAVariable(t *testing.T) {
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
		if err := setEnv(&container, test.flags); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, container.Env); diff != "" {
			t.Errorf("%s\n%s", name, diff)
		}
	}
	if err := setEnv(&corev1.Container{}, []string{"=x"}); err == nil || err.Error() != "--env =x: it is NAME=VALUE" {
		t.Errorf("got %v", err)
	}
}

func TestReferences(t *testing.T) {
	for text, want := range map[string]string{
		"deploy/web":      "Deployment web ",
		"deployments/web": "Deployment web ",
		"sts/db:postgres": "StatefulSet db postgres",
		"ds/agent":        "DaemonSet agent ",
		"job/a":           "Job a ",
		"CronJob/a":       "CronJob a ",
		"rs/a":            "ReplicaSet a ",
		"podset/a":        "PodSet a ",
		"po/a":            "Pod a ",
		"web":             "--from web: it is KIND/NAME or KIND/NAME:CONTAINER, such as deploy/web",
		"deploy/web:":     "--from deploy/web:: it is KIND/NAME or KIND/NAME:CONTAINER, such as deploy/web",
		"deploy/":         "--from deploy/: it is KIND/NAME or KIND/NAME:CONTAINER, such as deploy/web",
		"svc/web":         `--from svc/web: the kind "svc" has no pod template; it can be deploy, sts, ds, rs, job, cj, pset, po`,
	} {
		r, err := parseReference(text)
		got := r.kind.Kind + " " + r.name + " " + r.container
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
