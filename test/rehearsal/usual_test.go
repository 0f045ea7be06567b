// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rehearsal

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/redhat/podset-operator/internal/at/spec"
)

// run runs the pod of an At with this template to its end.
func (n *namespace) run(name string, template *corev1.PodTemplateSpec) {
	n.Helper()
	pod := spec.NewPod(n.at("plain-"+name, template), spec.Defaults{}, 0)
	pod.OwnerReferences, pod.Spec.SchedulingGates = nil, nil
	n.create(pod)
	if err := wait.PollUntilContextTimeout(n.Context(), 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		return pod.Status.Phase == corev1.PodSucceeded, err
	}); err != nil {
		n.Errorf("a plain run of %s: %v: %+v", name, err, pod.Status)
	}
	_ = admin.Delete(n.Context(), pod, client.GracePeriodSeconds(0))
}

type edit func(spec *corev1.PodSpec, main *corev1.Container)

// usual are templates as public charts have them. The commands of the init containers and sidecars report, and the first container runs true,
// unless the template sets it.
func usual(cpu resource.Quantity) map[string]edit {
	empty := func() corev1.VolumeSource { return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}} }
	probe := func() *corev1.Probe {
		return &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}}}
	}
	reference := corev1.LocalObjectReference{Name: "settings"}
	scripts := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: reference, DefaultMode: ptr.To[int32](0o555)}}
	half := cpu.DeepCopy()
	half.SetMilli(cpu.MilliValue() * 6 / 10)
	return map[string]edit{
		"probes": func(_ *corev1.PodSpec, main *corev1.Container) {
			main.LivenessProbe, main.ReadinessProbe, main.StartupProbe = probe(), probe(), probe()
			main.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}
		},
		"hooks": func(spec *corev1.PodSpec, main *corev1.Container) {
			spec.TerminationGracePeriodSeconds = ptr.To[int64](600)
			main.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "10"}}}}
		},
		"chown-init": func(spec *corev1.PodSpec, main *corev1.Container) {
			volume("data", "/data", empty())(spec, main)
			spec.InitContainers[0].Command = []string{"sh", "-c", "chown -R 1000 /data"}
			spec.InitContainers[0].VolumeMounts = main.VolumeMounts
			main.SecurityContext = &corev1.SecurityContext{RunAsUser: ptr.To[int64](1000)}
		},
		"copied-program": func(spec *corev1.PodSpec, main *corev1.Container) {
			volume("tools", "/tools", empty())(spec, main)
			spec.InitContainers[0].Command = []string{"cp", "/bin/busybox", "/tools/true"}
			spec.InitContainers[0].VolumeMounts = main.VolumeMounts
			main.Command = []string{"/tools/true"}
		},
		"copied-to-path": func(spec *corev1.PodSpec, main *corev1.Container) {
			volume("tools", "/tools", empty())(spec, main)
			spec.InitContainers[0].Command = []string{"cp", "/bin/busybox", "/tools/true"}
			spec.InitContainers[0].VolumeMounts = main.VolumeMounts
			main.Command, main.Env = []string{"true"}, []corev1.EnvVar{{Name: "PATH", Value: "/tools"}}
		},
		"script": func(spec *corev1.PodSpec, main *corev1.Container) {
			volume("scripts", "/scripts", scripts)(spec, main)
			main.Command = []string{"/scripts/run.sh"}
		},
		"proxy": func(spec *corev1.PodSpec, _ *corev1.Container) {
			sidecar := &spec.InitContainers[1]
			sidecar.Command = []string{"sh", "-c", "touch /tmp/ready; exec sleep 600"}
			sidecar.StartupProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"test", "-f", "/tmp/ready"}}}}
		},
		"restricted": func(spec *corev1.PodSpec, main *corev1.Container) {
			spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532), RunAsGroup: ptr.To[int64](65532),
				FSGroup: ptr.To[int64](2000), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
			main.SecurityContext = &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
			volume("tmp", "/tmp", empty())(spec, main)
		},
		"environment": func(spec *corev1.PodSpec, main *corev1.Container) {
			main.EnvFrom = []corev1.EnvFromSource{{Prefix: "S_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: reference}}, {ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: reference}}}
			main.Env = []corev1.EnvVar{
				{Name: "KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: reference, Key: "key"}}},
				{Name: "OPTIONAL", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "no"}, Key: "no", Optional: ptr.To(true)}}},
				{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['app']"}}},
				{Name: "CPU", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
			}
		},
		"projected": func(spec *corev1.PodSpec, main *corev1.Container) {
			volume("all", "/all", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "vault", Path: "token", ExpirationSeconds: ptr.To[int64](3600)}},
				{Secret: &corev1.SecretProjection{LocalObjectReference: reference}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "name", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}},
			}}})(spec, main)
		},
		"subpaths": func(spec *corev1.PodSpec, main *corev1.Container) {
			volume("data", "/data", empty())(spec, main)
			main.Env = []corev1.EnvVar{{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}
			main.VolumeMounts[0].SubPathExpr = "logs/$(POD)"
			volume("one", "/etc/one.conf", scripts)(spec, main)
			main.VolumeMounts[1].SubPath = "one.conf"
		},
		"placement": func(spec *corev1.PodSpec, _ *corev1.Container) {
			spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
			spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname,
				WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
			spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}}}
			spec.NodeSelector = map[string]string{corev1.LabelOSStable: "linux"}
		},
		"large-init": func(spec *corev1.PodSpec, main *corev1.Container) { // Both together do not fit on the node.
			for _, c := range []*corev1.Container{&spec.InitContainers[0], main} {
				c.Resources.Requests[corev1.ResourceCPU], c.Resources.Limits = half, corev1.ResourceList{corev1.ResourceCPU: half}
			}
		},
		"privileged": func(spec *corev1.PodSpec, main *corev1.Container) {
			spec.HostNetwork, spec.HostPID, spec.DNSPolicy = true, true, corev1.DNSClusterFirstWithHostNet
			main.SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
			volume("run", "/host", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/log", Type: ptr.To(corev1.HostPathDirectory)}})(spec, main)
		},
		"capabilities": func(_ *corev1.PodSpec, main *corev1.Container) {
			main.SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_BIND_SERVICE", "IPC_LOCK"}, Drop: []corev1.Capability{"NET_RAW"}}}
			main.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 80, HostPort: 18080}}
		},
		"shell": func(_ *corev1.PodSpec, main *corev1.Container) {
			main.Command, main.Args = []string{"sh", "-ec"}, []string{"test $((1+1)) = 2; echo $HOME $(HOSTNAME)"}
			main.WorkingDir, main.TTY, main.Stdin = "/tmp/new/directory", true, true
		},
		"relative": func(_ *corev1.PodSpec, main *corev1.Container) {
			main.Command, main.WorkingDir = []string{"./true"}, "/bin"
		},
		"entrypoint": func(_ *corev1.PodSpec, main *corev1.Container) { main.Command, main.Args = nil, nil },
		"helpers": func(spec *corev1.PodSpec, main *corev1.Container) {
			spec.ShareProcessNamespace, spec.EnableServiceLinks = ptr.To(true), ptr.To(false)
			exporter := *main.DeepCopy()
			exporter.Name, exporter.LivenessProbe = "exporter", probe()
			spec.Containers = append(spec.Containers, exporter)
			second := *spec.InitContainers[0].DeepCopy()
			second.Name = "wait-for-database"
			spec.InitContainers = append(spec.InitContainers, second)
		},
		"identity": func(spec *corev1.PodSpec, main *corev1.Container) {
			spec.ServiceAccountName, spec.AutomountServiceAccountToken, spec.Hostname, spec.Subdomain = "robot", ptr.To(true), "one", "web"
			spec.HostAliases = []corev1.HostAlias{{IP: "127.0.0.1", Hostnames: []string{"db"}}}
			spec.DNSConfig = &corev1.PodDNSConfig{Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: ptr.To("2")}}}
			spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "no-pull-secret"}}
			main.ImagePullPolicy = corev1.PullAlways
		},
	}
}

func TestUsual(t *testing.T) {
	n := newNamespace(t)
	n.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: n.name, Name: "robot"}})
	n.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: n.name, Name: "settings"}, StringData: map[string]string{"key": "k"}})
	n.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: n.name, Name: "settings"},
		Data: map[string]string{"run.sh": "#!/bin/sh\nexit 0\n", "one.conf": "x"}})
	nodes := &corev1.NodeList{}
	if err := admin.List(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	templates := usual(*nodes.Items[0].Status.Allocatable.Cpu())
	if len(templates) != 20 {
		t.Fatal(len(templates))
	}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		at := template(name)
		at.Labels = map[string]string{"app": "web-" + name}
		at.Spec.Containers[0].Command = []string{"/bin/true"}
		templates[name](&at.Spec, &at.Spec.Containers[0])
		n.run(name, at)
		reports.take()
		n.at(name, at)
		for _, args := range [][]string{{name}, {name, "--look-for-program=" + busybox}} {
			if out, code, took := n.rehearse(append(args, "--timeout", "30s")...); code != 0 {
				t.Errorf("%v: exit code %d: %s", args, code, out)
			} else {
				t.Logf("%v: %.1fs", args, took.Seconds())
			}
		}
	}
}

func TestNothingIsLeft(t *testing.T) {
	n := newNamespace(t)
	at := template("waits")
	at.Spec.NodeSelector = map[string]string{"no": "node"}
	object := n.at("waits", at)
	for signal, want := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 130, os.Kill: -1} {
		cmd, out := n.command("waits", "--timeout", "50s")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		n.await(func() bool { return len(n.left()) == 1 })
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code, left := cmd.ProcessState.ExitCode(), n.left(); code != want || (len(left) > 0) != (signal == os.Kill) {
			t.Errorf("%s: exit code %d, left %d: %s", signal, code, len(left), out)
		}
	}
	if out, code, _ := n.rehearse("waits", "--timeout", "5s"); code != 1 || !strings.Contains(out, "Unschedulable") {
		t.Errorf("after a rehearsal that was killed: exit code %d: %s", code, out)
	}
	cmd, _ := n.command("waits")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.await(func() bool { return len(n.left()) == 1 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if deadline := n.left()[0].Spec.ActiveDeadlineSeconds; fmt.Sprint(*deadline) != "180" {
		t.Errorf("activeDeadlineSeconds: %d", *deadline)
	}
	if err := admin.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	n.await(func() bool { return len(n.left()) == 0 })
}

func (n *namespace) await(done func() bool) {
	n.Helper()
	if err := wait.PollUntilContextTimeout(n.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return done(), nil
	}); err != nil {
		n.Fatal(err)
	}
}
