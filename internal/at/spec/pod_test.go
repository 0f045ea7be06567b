// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/testutil"
)

func TestNewPod(t *testing.T) {
	secrets := []corev1.LocalObjectReference{{Name: "mirror"}}
	proxy := []corev1.EnvVar{{Name: "HTTP_PROXY", Value: "http://p"}, {Name: "http_proxy", Value: "http://p"}}
	got := spec.NewPod(testutil.MakeAt("a").Obj(), spec.Defaults{Image: "busybox", PullSecrets: secrets, FixedUser: true, Proxy: proxy}, 0)
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a-pod", Namespace: "default",
			Labels:      map[string]string{"app": "a", "app.kubernetes.io/managed-by": "podset-operator", "cnat.d2iq.com/at": "a", "cnat.d2iq.com/at-uid": "a-uid"},
			Annotations: map[string]string{"cnat.d2iq.com/attempt": "1", "cnat.d2iq.com/container": "busybox", "cnat.d2iq.com/generation": "1", "kubectl.kubernetes.io/default-container": "busybox"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "cnat.d2iq.com/v1alpha1", Kind: "At", Name: "a", UID: "a-uid", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			OS:                           &corev1.PodOS{Name: corev1.Linux},
			NodeSelector:                 map[string]string{"kubernetes.io/os": "linux"},
			AutomountServiceAccountToken: ptr.To(false),
			EnableServiceLinks:           ptr.To(false),
			ImagePullSecrets:             secrets,
			SchedulingGates:              []corev1.PodSchedulingGate{{Name: "cnat.d2iq.com/start"}},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65534),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "busybox", Image: "busybox", Command: []string{"echo", "YAY"}, Env: proxy,
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{"cpu": resource.MustParse("50m"), "memory": resource.MustParse("32Mi")},
					Limits:   corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("128Mi")},
				},
			}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	got.Spec.ImagePullSecrets[0].Name, got.Spec.Containers[0].Env[0].Value = "changed", "changed"
	if secrets[0].Name != "mirror" || proxy[0].Value != "http://p" {
		t.Error("the defaults changed with the pod")
	}
}

func TestNewPod_template(t *testing.T) {
	atWithTemplate := testutil.MakeAt("a").Template(func(template *corev1.PodTemplateSpec) {
		template.Labels = map[string]string{"app": "shop", "team": "x", "cnat.d2iq.com/at": "mine"}
		template.Annotations = map[string]string{
			"note": "y", "cnat.d2iq.com/attempt": "7", "kubectl.kubernetes.io/default-container": "side",
		}
		template.Finalizers = []string{"example.com/hold"}
		template.Spec.ServiceAccountName = "robot"
		template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/quota"}}
		template.Spec.ActiveDeadlineSeconds = ptr.To[int64](5)
		template.Spec.InitContainers = []corev1.Container{{Name: "fetch"}}
		template.Spec.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageReadFile
		template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "HTTP_PROXY", Value: "mine"}}
		template.Spec.Containers[1].Command = []string{"side"}
	}, "main", "side").Obj()
	before := atWithTemplate.DeepCopy()
	proxy := []corev1.EnvVar{{Name: "HTTP_PROXY", Value: "http://p"}, {Name: "NO_PROXY", Value: ".svc"}}
	got := spec.NewPod(atWithTemplate, spec.Defaults{
		Image: "busybox", PullSecrets: []corev1.LocalObjectReference{{Name: "mirror"}}, FixedUser: true, Proxy: proxy,
	}, 0)

	wantSpec := before.Spec.Template.Spec.DeepCopy()
	wantSpec.RestartPolicy = corev1.RestartPolicyNever
	wantSpec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/quota"}, {Name: "cnat.d2iq.com/start"}}
	wantSpec.Containers[0].Command = []string{"echo", "YAY"}
	wantSpec.InitContainers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	if diff := cmp.Diff(*wantSpec, got.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	wantMeta := map[string]map[string]string{
		"labels":      {"app": "shop", "team": "x", "cnat.d2iq.com/at": "a", "cnat.d2iq.com/at-uid": "a-uid", "app.kubernetes.io/managed-by": "podset-operator"},
		"annotations": {"note": "y", "cnat.d2iq.com/attempt": "1", "cnat.d2iq.com/container": "main", "cnat.d2iq.com/generation": "1", "kubectl.kubernetes.io/default-container": "side"},
	}
	if diff := cmp.Diff(wantMeta, map[string]map[string]string{"labels": got.Labels, "annotations": got.Annotations}); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"example.com/hold"}, got.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	got.Spec.Containers[0].Env[0].Value, got.Finalizers[0], got.Labels["team"] = "changed", "changed", "changed"
	*got.Spec.ActiveDeadlineSeconds = 7
	if diff := cmp.Diff(before, atWithTemplate); diff != "" {
		t.Errorf("the At changed with its pod:\n%s", diff)
	}
}

// A Service or a PodDisruptionBudget of an application selects only what its user has labeled.
func TestNewPod_labels(t *testing.T) {
	got := spec.NewPod(testutil.MakeAt("a").Template(func(*corev1.PodTemplateSpec) {}, "main").Obj(), spec.Defaults{}, 0)
	if diff := cmp.Diff(map[string]string{"cnat.d2iq.com/at": "a", "cnat.d2iq.com/at-uid": "a-uid", "app.kubernetes.io/managed-by": "podset-operator"}, got.Labels); diff != "" {
		t.Errorf("labels (-want +got): %s", diff)
	}
}

func TestNewPod_noCommand(t *testing.T) {
	for name, edit := range map[string]func(*corev1.Container){
		"by the entrypoint of its image": func(*corev1.Container) {},
		"by its own command and args": func(main *corev1.Container) {
			main.Command, main.Args = []string{"/bin/app", "$(HOME)"}, []string{"migrate"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			at0 := testutil.MakeAt("a").Command("").Template(func(template *corev1.PodTemplateSpec) { edit(&template.Spec.Containers[0]) }, "main").Obj()
			want := at0.Spec.Template.Spec.Containers[0]
			want.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
			got := spec.NewPod(at0, spec.Defaults{}, 0)
			if diff := cmp.Diff(want, got.Spec.Containers[0]); diff != "" {
				t.Errorf("container (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewPod_attempt(t *testing.T) {
	pod := spec.NewPod(testutil.MakeAt("a").Obj(), spec.Defaults{}, 1)
	if got := pod.Annotations[cnatv1alpha1.AnnotationAttempt]; pod.Name != "a-pod-1" || got != "2" {
		t.Errorf("pod %s has attempt %q", pod.Name, got)
	}
}

func TestNewPod_command(t *testing.T) {
	words := []string{"echo", "$(HOME)", "$$", "$", "$$(HOME)", "$((1))", "a$b", "$(", "${HOME}", "$$$", ""}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quoteSingle(word)
	}
	pod := spec.NewPod(testutil.MakeAt("a").Command(strings.Join(quoted, " ")).Obj(), spec.Defaults{}, 0)
	argv := make([]string, len(words))
	for i, word := range pod.Spec.Containers[0].Command {
		argv[i] = kubernetesExpand(word)
	}
	if diff := cmp.Diff(words, argv); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}

// kubernetesExpand is the rule of the API for a container's command, with every variable set to X: $(NAME) is replaced,
// $$ is $, and any other $ is itself.
func kubernetesExpand(word string) string {
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		end := strings.IndexByte(word[i:], ')')
		switch {
		case strings.HasPrefix(word[i:], "$$"):
			b.WriteByte('$')
			i++
		case strings.HasPrefix(word[i:], "$(") && end > 0:
			b.WriteByte('X')
			i += end
		default:
			b.WriteByte(word[i])
		}
	}
	return b.String()
}

func TestNewPod_longNames(t *testing.T) {
	for _, name := range []string{"1.a", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 126) + "a"} {
		at := testutil.MakeAt(name).Obj()
		at.UID = "86781e9b-0000-0000-0000-000000000000"
		pod := spec.NewPod(at, spec.Defaults{}, 0)
		for key, value := range pod.Labels {
			if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
				t.Errorf("%q: label %s=%q: %v", name, key, value, problems)
			}
		}
		if value := pod.Labels["cnat.d2iq.com/at"]; len(name) <= 63 && value != name {
			t.Errorf("%q: label %q", name, value)
		}
	}
}
