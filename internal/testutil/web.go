// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testutil

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// Web returns the pod of an application, with everything that a command beside it needs and much that it does not.
func Web() *corev1.PodSpec {
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
