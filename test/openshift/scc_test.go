// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openshift

import (
	"os"
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

var allocated = Namespace{FirstUser: 1000650000, Users: 10000, Group: 1000650000, Level: "s0:c26,c0"}

func constraints(t *testing.T) *Constraints {
	t.Helper()
	c, err := RestrictedV2()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// good returns a pod that sets every field that restricted-v2 has a rule for, to an allowed value.
func good() *corev1.PodSpec {
	return &corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1000650001), FSGroup: ptr.To[int64](1000650000), SupplementalGroups: []int64{7},
			SELinuxOptions: &corev1.SELinuxOptions{Level: allocated.Level},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			Sysctls:        []corev1.Sysctl{{Name: "net.ipv4.tcp_syncookies"}},
		},
		Volumes: []corev1.Volume{
			{Name: "a", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}},
			{Name: "b", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "c", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}},
		},
		InitContainers: []corev1.Container{{Name: "first"}},
		Containers: []corev1.Container{{
			Name:  "main",
			Ports: []corev1.ContainerPort{{ContainerPort: 8080}},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), Privileged: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(false),
				Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_BIND_SERVICE"}, Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
}

func TestAllowedPodsAreAdmitted(t *testing.T) {
	for name, pod := range map[string]*corev1.PodSpec{
		"nothing is set":    {Containers: []corev1.Container{{Name: "main"}}},
		"everything is set": good(),
	} {
		if reasons := constraints(t).Reject(allocated, pod); len(reasons) > 0 {
			t.Errorf("%s: %v", name, reasons)
		}
	}
}

// Each mistake violates one rule.
func TestMistakesAreRejected(t *testing.T) {
	for _, mistake := range []struct {
		why  string
		make func(pod *corev1.PodSpec, container *corev1.SecurityContext)
	}{
		{"hostNetwork", func(pod *corev1.PodSpec, _ *corev1.SecurityContext) { pod.HostNetwork = true }},
		{"hostPID", func(pod *corev1.PodSpec, _ *corev1.SecurityContext) { pod.HostPID = true }},
		{"hostIPC", func(pod *corev1.PodSpec, _ *corev1.SecurityContext) { pod.HostIPC = true }},
		{"hostPort 80", func(pod *corev1.PodSpec, _ *corev1.SecurityContext) { pod.Containers[0].Ports[0].HostPort = 80 }},
		{"hostPath", func(pod *corev1.PodSpec, _ *corev1.SecurityContext) {
			pod.Volumes[0].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
		}},
		{"nfs", func(pod *corev1.PodSpec, _ *corev1.SecurityContext) {
			pod.Volumes[0].VolumeSource = corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}
		}},
		{"privileged", func(_ *corev1.PodSpec, c *corev1.SecurityContext) { c.Privileged = ptr.To(true) }},
		{"allowPrivilegeEscalation", func(_ *corev1.PodSpec, c *corev1.SecurityContext) { c.AllowPrivilegeEscalation = ptr.To(true) }},
		{"NET_ADMIN", func(_ *corev1.PodSpec, c *corev1.SecurityContext) {
			c.Capabilities.Add = []corev1.Capability{"NET_ADMIN"}
		}},
		{"runAsUser 65534", func(pod *corev1.PodSpec, _ *corev1.SecurityContext) {
			pod.SecurityContext.RunAsUser = ptr.To[int64](65534)
		}},
		{"runAsUser 0", func(_ *corev1.PodSpec, c *corev1.SecurityContext) { c.RunAsUser = ptr.To[int64](0) }},
		{"runAsUser 1000660000", func(_ *corev1.PodSpec, c *corev1.SecurityContext) { c.RunAsUser = ptr.To[int64](1000660000) }},
		{"fsGroup", func(pod *corev1.PodSpec, _ *corev1.SecurityContext) {
			pod.SecurityContext.FSGroup = ptr.To[int64](2000)
		}},
		{"seLinuxOptions", func(pod *corev1.PodSpec, _ *corev1.SecurityContext) {
			pod.SecurityContext.SELinuxOptions.Level = "s0:c1,c2"
		}},
		{"seLinuxOptions", func(_ *corev1.PodSpec, c *corev1.SecurityContext) {
			c.SELinuxOptions = &corev1.SELinuxOptions{Level: allocated.Level, Type: "spc_t"}
		}},
		{"seccomp profile Unconfined", func(pod *corev1.PodSpec, _ *corev1.SecurityContext) {
			pod.SecurityContext.SeccompProfile.Type = corev1.SeccompProfileTypeUnconfined
		}},
		{"seccomp profile Localhost", func(_ *corev1.PodSpec, c *corev1.SecurityContext) {
			c.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost}
		}},
		{"sysctl", func(pod *corev1.PodSpec, _ *corev1.SecurityContext) {
			pod.SecurityContext.Sysctls[0].Name = "kernel.msgmax"
		}},
		{"container first: privileged", func(pod *corev1.PodSpec, _ *corev1.SecurityContext) {
			pod.InitContainers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
		}},
	} {
		pod := good()
		mistake.make(pod, pod.Containers[0].SecurityContext)
		reasons := constraints(t).Reject(allocated, pod)
		if len(reasons) != 1 || !strings.Contains(reasons[0], mistake.why) {
			t.Errorf("%s: rejected for %q", mistake.why, reasons)
		}
	}
}

func TestTheManagerIsAdmitted(t *testing.T) {
	content, err := os.ReadFile("../../bundle/manifests/podset-operator.clusterserviceversion.yaml")
	if err != nil {
		t.Fatal(err)
	}
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	if err := yaml.Unmarshal(content, csv); err != nil {
		t.Fatal(err)
	}
	deployments := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	if len(deployments) == 0 {
		t.Fatal("the bundle has no deployment")
	}
	for _, deployment := range deployments {
		if reasons := constraints(t).Reject(allocated, &deployment.Spec.Template.Spec); len(reasons) > 0 {
			t.Errorf("%s: %v", deployment.Name, reasons)
		}
	}
}
