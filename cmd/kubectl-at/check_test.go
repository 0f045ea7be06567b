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
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// installOperator creates the Deployment of an operator.
func (s *shell) installOperator(name string, ready int32) {
	s.Helper()
	labels := map[string]string{"app.kubernetes.io/name": "podset-operator"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "registry.example.com/podset-operator:1.2.3"}}},
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
	check := func(code int, want map[string]string) {
		t.Helper()
		got := s.run("", "check")
		for question, answer := range want {
			if found := rows(got.out)[question]; !strings.HasPrefix(found, answer) || (found == "") != (answer == "") || got.code != code {
				t.Errorf("%s: got %q, want %q\n%+v", question, found, answer, got)
			}
		}
	}
	const none = "there is no Deployment with the label app.kubernetes.io/name=podset-operator"
	check(0, map[string]string{
		"operator": `unknown Error from server (Forbidden): deployments.apps is forbidden: User "person" cannot list resource "deployments" in API group "apps" at the cluster scope`,
	})
	s.kubeconfig = adminKubeconfig
	check(1, map[string]string{"operator": "FAILED " + none})
	for _, name := range []string{"unseen", "suspended", "stalled", "done", "fine"} {
		s.run("", "tomorrow", "--name", name, "--", "true")
	}
	condition := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "why", LastTransitionTime: metav1.NewTime(s.now)}
	}
	suspended := condition(cnatv1alpha1.ConditionScheduled, metav1.ConditionFalse, "Suspended")
	s.setStatus("fine", cnatv1alpha1.AtStatus{ObservedGeneration: 1})
	s.setStatus("done", done(cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonEvicted, nil))
	s.setStatus("suspended", cnatv1alpha1.AtStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{suspended}})
	s.setStatus("stalled", cnatv1alpha1.AtStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{
		suspended, condition(cnatv1alpha1.ConditionStalled, metav1.ConditionTrue, "WouldBeRejected"),
	}})
	check(1, map[string]string{"operator": "unknown " + none + ", but an operator has seen Ats of the namespace"}) // such as make run
	s.installOperator("second", 0)
	s.now = s.now.Add(time.Minute)
	check(1, map[string]string{
		"plugin": "ok unknown", "create Ats": "ok in the namespace " + s.namespace,
		"operator":  "FAILED registry.example.com/podset-operator:1.2.3 (Deployment second in the namespace " + s.namespace + "), 0 of its pods are ready",
		"at/unseen": "FAILED no operator has seen it for ", "at/suspended": "waits Suspended: why", "at/stalled": "FAILED WouldBeRejected: why",
		"at/done": "", "at/fine": "", "Ats": "ok 5 in the namespace " + s.namespace + ", 1 failed, 3 wait",
	})
	if err := admin.DeleteAllOf(t.Context(), &cnatv1alpha1.At{}, client.InNamespace(s.namespace)); err != nil {
		t.Fatal(err)
	}
	s.namespace = "no-such"
	check(1, map[string]string{"create Ats": `FAILED Error from server (NotFound): namespaces "no-such" not found`})
}

func TestCheck_viewer(t *testing.T) {
	s := newShell(t)
	viewer := s.as("viewer", "get", "list")
	if got := rows(viewer.run("", "check").out); !strings.HasPrefix(got["create Ats"], `FAILED Error from server (Forbidden): ats.cnat.d2iq.com is forbidden: User "viewer" cannot create`) {
		t.Errorf("got %q", got)
	}
	viewer.namespace = "default"
	if got := rows(viewer.run("", "check").out); !strings.HasPrefix(got["Ats"], `FAILED Error from server (Forbidden): ats.cnat.d2iq.com is forbidden: User "viewer" cannot list`) {
		t.Errorf("got %q", got)
	}
}
