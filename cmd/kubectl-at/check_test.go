// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// installOperator creates the Deployment of an operator that serves the namespaces, all of them with "".
func (s *shell) installOperator(name, namespaces string, ready int32) {
	s.Helper()
	labels := map[string]string{"app.kubernetes.io/name": "podset-operator"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "manager", Image: "registry.example.com/podset-operator:1.2.3", Env: []corev1.EnvVar{{Name: "WATCH_NAMESPACE", Value: namespaces}},
			}}},
		}},
	}
	if err := admin.Create(s.Context(), deployment); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = admin.Delete(context.Background(), deployment) })
	deployment.Status.Replicas, deployment.Status.ReadyReplicas = ready, ready
	if err := admin.Status().Update(s.Context(), deployment); err != nil {
		s.Fatal(err)
	}
}

// rows returns what check prints about each question.
func rows(out string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(out) {
		question, rest, _ := strings.Cut(line, "  ")
		found[question] = strings.Join(strings.Fields(rest), " ")
	}
	return found
}

func TestCheck(t *testing.T) {
	s := newShell(t)
	s.now = time.Now()
	operator := "registry.example.com/podset-operator:1.2.3 (Deployment manager in the namespace " + s.namespace + ")"
	check := func(code int, want map[string]string) {
		t.Helper()
		got := s.run("", "check")
		for question, answer := range want {
			if answer != rows(got.out)[question] || got.code != code {
				t.Errorf("%s: got %q, want %q\n%+v", question, rows(got.out)[question], answer, got)
			}
		}
	}
	check(0, map[string]string{
		"operator": `unknown Error from server (Forbidden): deployments.apps is forbidden: User "person" cannot list resource "deployments" in API group "apps" at the cluster scope`,
	})
	s.kubeconfig = adminKubeconfig
	check(1, map[string]string{"operator": "FAILED there is no Deployment with the label app.kubernetes.io/name=podset-operator"})
	s.installOperator("manager", "", 1)
	check(0, map[string]string{
		"plugin": "ok unknown", "kind At": "ok cnat.d2iq.com/v1alpha1", "kind PodSet": "ok app.example.com/v1alpha1", "operator": "ok " + operator + ", 1 of its pods are ready",
		"two keys": "no the namespace " + s.namespace + " has no label cnat.d2iq.com/two-keys=required", "create Ats": "ok in the namespace " + s.namespace,
		"Ats": "ok 0 in the namespace " + s.namespace + ", of which 0 do not run or wait for something",
	})
	s.expect(result{out: "kubectl at version unknown\npodset-operator: " + operator + "\n"}, "", "--version")

	for _, name := range []string{"unseen", "held", "stalled", "fine"} {
		s.run("", "tomorrow", "--name", name, "--", "true")
	}
	held := metav1.Condition{Type: cnatv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "WouldBeRejected", Message: "no quota", LastTransitionTime: metav1.NewTime(s.now)}
	stalled := held
	stalled.Type, stalled.Status = cnatv1alpha1.ConditionStalled, metav1.ConditionTrue
	s.setStatus("fine", cnatv1alpha1.AtStatus{ObservedGeneration: 1})
	s.setStatus("held", cnatv1alpha1.AtStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{held}})
	s.setStatus("stalled", cnatv1alpha1.AtStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{held, stalled}})
	s.now = s.now.Add(time.Minute)
	got := rows(s.run("", "check").out)
	if got["at/held"] != "waits WouldBeRejected: no quota" || got["at/stalled"] != "FAILED WouldBeRejected: no quota" || got["at/fine"] != "" ||
		!strings.HasPrefix(got["at/unseen"], "FAILED no operator has seen it for ") || !strings.HasPrefix(got["Ats"], "ok 4 ") {
		t.Errorf("got %q", got)
	}
}

func TestCheck_installation(t *testing.T) {
	s := newShell(t)
	s.kubeconfig = adminKubeconfig
	operator := "registry.example.com/podset-operator:1.2.3 (Deployment manager in the namespace " + s.namespace + "), 0 of its pods are ready"
	s.installOperator("manager", "other, "+s.namespace, 0)
	if got := rows(s.run("", "check").out); got["operator"] != "FAILED "+operator+", serves other, "+s.namespace {
		t.Errorf("got %q", got)
	}
	s.installOperator("second", s.namespace, 1)
	for namespace, want := range map[string]string{s.namespace: "FAILED ok", "other": "FAILED other", "default": "FAILED FAILED"} {
		var answers []string
		for line := range strings.Lines(s.run("", "check", "-n", namespace).out) {
			if words := strings.Fields(line); words[0] == "operator" {
				answers = append(answers, words[1])
			}
		}
		if got := strings.Join(answers, " "); got != want {
			t.Errorf("two installations and the namespace %s: got %s, want %s", namespace, got, want)
		}
	}
	if got := rows(s.run("", "check", "-n", "no-such").out); got["namespace"] != "FAILED there is no namespace no-such" {
		t.Errorf("no namespace: got %q", got)
	}
	viewer := s.as("viewer", "get", "list")
	if got := rows(viewer.run("", "check").out); !strings.HasPrefix(got["create Ats"], `FAILED Error from server (Forbidden): ats.cnat.d2iq.com is forbidden: User "viewer" cannot create`) ||
		!strings.HasPrefix(got["two keys"], "unknown ") {
		t.Errorf("a viewer: got %q", got)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace, Labels: map[string]string{twoKeysLabel: twoKeysRequired}}}
	if err := admin.Update(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	if got := rows(s.run("", "check").out); got["two keys"] != "yes create Ats with --suspend; another user releases them with kubectl at approve" || !strings.HasPrefix(got["create Ats"], "ok") {
		t.Errorf("two keys: got %q", got)
	}
}

func TestServedNamespaces(t *testing.T) {
	field := func(path string) corev1.EnvVar {
		return corev1.EnvVar{Name: "WATCH_NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	for name, test := range map[string]struct {
		variable corev1.EnvVar
		want     string
	}{
		"all":              {corev1.EnvVar{Name: "MEMORY_LIMIT", Value: "1"}, ""},
		"a list":           {corev1.EnvVar{Name: "WATCH_NAMESPACE", Value: "b, a"}, "a b"},
		"its own":          {field("metadata.namespace"), "system"},
		"those of OLM":     {field("metadata.annotations['olm.targetNamespaces']"), "team"},
		"all, says OLM":    {field("metadata.annotations['no-such']"), ""},
		"another variable": {corev1.EnvVar{Name: "POD_NAMESPACE", ValueFrom: field("metadata.namespace").ValueFrom}, ""},
	} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "system"}}
		d.Spec.Template.Annotations = map[string]string{"olm.targetNamespaces": "team"}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Env: []corev1.EnvVar{test.variable}}}
		if got := strings.Join(servedNamespaces(d), " "); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
