// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/testutil"
)

func TestNewPod_default(t *testing.T) {
	set := testutil.MakePodSet("a").Obj()
	secrets := []corev1.LocalObjectReference{{Name: "mirror"}}
	got := newPod(Observation{Set: set, Defaults: Defaults{Image: "mirror/busybox", PullSecrets: secrets, FixedUser: true}}, slotAttempt{slot: 2, attempt: 1}, "hash")

	wantLabels := map[string]string{
		"app": "a", "version": "v0.1", "app.kubernetes.io/managed-by": "podset-operator", "app.example.com/podset": "a",
		"app.example.com/slot": "2", "app.example.com/template-hash": "hash",
	}
	if diff := cmp.Diff(wantLabels, got.Labels); diff != "" {
		t.Errorf("labels (-want +got): %s", diff)
	}
	owner := got.OwnerReferences[0]
	if len(got.OwnerReferences) != 1 || owner.UID != set.UID || owner.Kind != "PodSet" || owner.APIVersion != "app.example.com/v1alpha1" ||
		!ptr.Deref(owner.Controller, false) || !ptr.Deref(owner.BlockOwnerDeletion, false) {
		t.Errorf("owner references: %+v", got.OwnerReferences)
	}
	container := got.Spec.Containers[0]
	if container.Name != "busybox" || container.Image != "mirror/busybox" || cmp.Diff([]string{"sleep", "3600"}, container.Command) != "" {
		t.Errorf("container: %+v", container)
	}
	if diff := cmp.Diff(secrets, got.Spec.ImagePullSecrets); diff != "" {
		t.Errorf("pull secrets (-want +got): %s", diff)
	}
	wantResources := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("10m"), "memory": resource.MustParse("32Mi")},
		Limits:   corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("32Mi")},
	}
	if diff := cmp.Diff(wantResources, container.Resources); diff != "" {
		t.Errorf("resources (-want +got): %s", diff)
	}
	if os := got.Spec.OS; os == nil || os.Name != corev1.Linux || got.Spec.NodeSelector["kubernetes.io/os"] != "linux" {
		t.Errorf("runs on any operating system: %v, %v", os, got.Spec.NodeSelector)
	}
	if got := ptr.Deref(got.Spec.TerminationGracePeriodSeconds, 0); got != 1 {
		t.Errorf("grace period: %d", got)
	}
	if !ptr.Deref(container.SecurityContext.ReadOnlyRootFilesystem, false) || ptr.Deref(got.Spec.EnableServiceLinks, true) {
		t.Errorf("the root can be written, or variables of Services are set: %+v", got.Spec)
	}
	wantSpread := []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.example.com/podset": "a"}},
	}}
	if diff := cmp.Diff(wantSpread, got.Spec.TopologySpreadConstraints); diff != "" {
		t.Errorf("spread over nodes (-want +got): %s", diff)
	}
	if got.Annotations[appv1alpha1.AnnotationSlot] != "2" || got.Annotations[appv1alpha1.AnnotationAttempt] != "1" {
		t.Errorf("annotations: %v", got.Annotations)
	}
	if user := got.Spec.SecurityContext.RunAsUser; user == nil || *user == 0 {
		t.Errorf("runs as %v where busybox's own user is root", user)
	}
	if user := newPod(Observation{Set: set}, slotAttempt{}, "hash").Spec.SecurityContext.RunAsUser; user != nil {
		t.Errorf("runs as %d where the cluster gives each namespace a range of users", *user)
	}
}

func TestNewPod_template(t *testing.T) {
	builder := testutil.MakePodSet("a").Image("v1").Template(func(template *corev1.PodTemplateSpec) {
		template.Labels = map[string]string{"app": "shop", "tier": "web", "app.example.com/podset": "stolen", "app.example.com/slot": "forged",
			"app.kubernetes.io/managed-by": "me", "app.example.com/template-hash": ""}
		template.Annotations = map[string]string{"note": "kept", appv1alpha1.AnnotationSlot: "forged", appv1alpha1.AnnotationTemplateHash: ""}
		template.Finalizers = []string{"example.com/drain"}
		template.Name = "not used"
	})
	set := builder.Obj()
	got := newPod(Observation{Set: set, Defaults: Defaults{PullSecrets: []corev1.LocalObjectReference{{Name: "mirror"}}}}, slotAttempt{}, "hash")

	wantLabels := map[string]string{
		"app": "shop", "tier": "web", "app.kubernetes.io/managed-by": "podset-operator", "app.example.com/podset": "a",
		"app.example.com/slot": "0", "app.example.com/template-hash": "hash",
	}
	if diff := cmp.Diff(wantLabels, got.Labels); diff != "" {
		t.Errorf("labels (-want +got): %s", diff)
	}
	if got.Annotations["note"] != "kept" || got.Annotations[appv1alpha1.AnnotationSlot] != "0" || isOutdated(got, "hash") {
		t.Errorf("annotations: %v", got.Annotations)
	}
	if diff := cmp.Diff([]string{"example.com/drain"}, got.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got): %s", diff)
	}
	if diff := cmp.Diff(set.Spec.Template.Spec, got.Spec); diff != "" {
		t.Errorf("spec (-want +got): %s", diff)
	}
	got.Spec.Containers[0].Image = "changed"
	got.Labels["tier"] = "changed"
	if diff := cmp.Diff(builder.Obj(), set); diff != "" {
		t.Errorf("the pod shares memory with the PodSet: %s", diff)
	}
}

func TestPodName(t *testing.T) {
	valid := regexp.MustCompile(`^a-pod[a-z0-9]{5}$`)
	seen := map[string]slotAttempt{}
	set := testutil.MakePodSet("a").Obj()
	for slot := range 10 {
		for attempt := range 10 {
			p := slotAttempt{slot, attempt}
			name := podName(set, p)
			if !valid.MatchString(name) {
				t.Errorf("%v has the name %q", p, name)
			}
			if other, ok := seen[name]; ok {
				t.Errorf("%v and %v have the name %q", p, other, name)
			}
			seen[name] = p
		}
	}
	// After an upgrade of the operator, a create that got no response must be repeated under the same name.
	if first, later := podName(set, slotAttempt{0, 0}), podName(set, slotAttempt{2, 1}); first != "a-podxvb87" || later != "a-pod62xqs" {
		t.Errorf("the names were a-podxvb87 and a-pod62xqs, and are now %s and %s", first, later)
	}
	other := testutil.MakePodSet("a").Obj()
	other.UID = "another"
	if podName(set, slotAttempt{}) == podName(other, slotAttempt{}) {
		t.Error("a recreated PodSet gets the names of its predecessor")
	}
}

func TestPodName_long(t *testing.T) {
	for _, name := range []string{strings.Repeat("a", 63), strings.Repeat("a", 53) + ".-" + strings.Repeat("b", 8), "0day", "a.b-c.d"} {
		got := podName(testutil.MakePodSet(name).Obj(), slotAttempt{})
		if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 || len(got) > 63 {
			t.Errorf("PodSet %s: pod %s (%d characters): %v", name, got, len(got), problems)
		}
	}
}

func TestSlotOf(t *testing.T) {
	for value, want := range map[string]struct {
		slot int
		ok   bool
	}{"0": {0, true}, "12": {12, true}, "-1": {0, false}, "": {0, false}, "one": {0, false}, "99999999999999999999": {0, false}} {
		for where, pod := range map[string]*corev1.Pod{
			"annotation": testutil.MakePod("x").Annotation(appv1alpha1.AnnotationSlot, value).Obj(),
			"label":      testutil.MakePod("x").Label(appv1alpha1.LabelSlot, value).Obj(),
		} {
			if slot, ok := slotOf(pod); slot != want.slot || ok != want.ok {
				t.Errorf("%s %q: got %d, %t", where, value, slot, ok)
			}
		}
	}
}

func TestNewPod(t *testing.T) {
	for title, tc := range map[string]struct {
		name string
		edit func(*corev1.PodTemplateSpec)
		want string
	}{
		"with a subdomain, it has its name as hostname":             {"shop", func(t *corev1.PodTemplateSpec) { t.Spec.Subdomain = "s" }, "shop-podNNNNN"},
		"the hostname of the template stays":                        {"shop", func(t *corev1.PodTemplateSpec) { t.Spec.Subdomain, t.Spec.Hostname = "s", "h" }, "h"},
		"without a subdomain, it has no hostname":                   {"shop", func(*corev1.PodTemplateSpec) {}, ""},
		"a name with dots gives a hostname of one label":            {"a.b", func(t *corev1.PodTemplateSpec) { t.Spec.Subdomain = "s" }, "a-b-podNNNNN"},
		"the label app of the template stays":                       {"shop", func(t *corev1.PodTemplateSpec) { t.Labels = map[string]string{"app": "web"} }, ""},
		"a hostname of the template without a subdomain stays, too": {"shop", func(t *corev1.PodTemplateSpec) { t.Spec.Hostname = "h" }, "h"},
	} {
		set := testutil.MakePodSet(tc.name).Image("v1").Template(tc.edit).Obj()
		pod := newPod(Observation{Set: set}, slotAttempt{}, "hash")
		suffix := pod.Name[len(pod.Name)-suffixLength:]
		if got := strings.Replace(pod.Spec.Hostname, suffix, "NNNNN", 1); got != tc.want || len(validation.IsDNS1123Label(pod.Spec.Hostname)) > 0 && got != "" {
			t.Errorf("%s: the hostname is %q, want %q", title, got, tc.want)
		}
		if got, want := pod.Labels["app"], set.Spec.Template.Labels["app"]; got != want || pod.Labels["version"] != "" {
			t.Errorf("%s: the labels are %v: the user has written app=%q", title, pod.Labels, want)
		}
	}
}
