// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/testutil"
)

func TestStalled(t *testing.T) {
	condition := func(reason string) cnatv1alpha1.AtStatus {
		return cnatv1alpha1.AtStatus{Conditions: []metav1.Condition{
			{Type: cnatv1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason, Message: "why"},
		}}
	}
	done := condition(cnatv1alpha1.ReasonCanceled)
	done.Result, done.Reason, done.CompletionTime = cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonCanceled, &metav1.Time{}
	for title, tc := range map[string]struct {
		status cnatv1alpha1.AtStatus
		want   string
	}{
		"it waits":                          {cnatv1alpha1.AtStatus{}, ""},
		"its pod would be rejected":         {condition(cnatv1alpha1.ReasonWouldBeRejected), "WouldBeRejected: why"},
		"its schedule is invalid":           {condition(cnatv1alpha1.ReasonInvalidSchedule), "InvalidSchedule: why"},
		"it has failed: that is no warning": {done, ""},
	} {
		if got := stalled(testutil.MakeAt("a").Status(tc.status).Obj()); got != tc.want {
			t.Errorf("%s: %q", title, got)
		}
	}
}

func TestPodOf(t *testing.T) {
	at := testutil.MakeAt("a").Command("echo $HOME").Template(func(t *corev1.PodTemplateSpec) { t.Labels = map[string]string{"team": "x"} }, "main").Obj()
	pod := podOf(at)
	if pod.Name != "a-pod" || pod.Labels["team"] != "x" || pod.Labels["cnat.d2iq.com/at"] != "a" || pod.Spec.RestartPolicy != corev1.RestartPolicyNever ||
		strings.Join(pod.Spec.Containers[0].Command, " ") != "echo $$HOME" {
		t.Errorf("%+v", pod)
	}
	at.Name, at.GenerateName = "", "at-"
	if pod := podOf(at); pod.Name != "" || pod.GenerateName != "at-" {
		t.Errorf("%+v", pod.ObjectMeta)
	}
}

func TestCreate_problem(t *testing.T) {
	s := newShell(t)
	got := s.run("", "noon", "tomorrow", "--dry-run=server", "--image", "alpine", "--env", "A=b", "--", "true")
	if !strings.Contains(got.errOut, "Warning: the API server would reject the pod of this At now, if you created it:") { // The user may not create pods.
		t.Errorf("got %+v", got)
	}
	if got := s.run("", "noon", "tomorrow", "--name", "a", "--", "true"); got.errOut != "" || s.at("a").Annotations[cnatv1alpha1.AnnotationRequestedBy] != "person" {
		t.Errorf("got %+v, annotations %v", got, s.at("a").Annotations)
	}
	s.setStatus("a", cnatv1alpha1.AtStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{
		{Type: cnatv1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: cnatv1alpha1.ReasonWouldBeRejected, Message: "quota", LastTransitionTime: metav1.Now()},
		{Type: cnatv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: cnatv1alpha1.ReasonWouldBeRejected, LastTransitionTime: metav1.Now(), ObservedGeneration: 1},
	}})
	p := newPlugin(genericiooptions.NewTestIOStreamsDiscard(), clocktesting.NewFakeClock(saturday()))
	*p.config.KubeConfig, *p.config.Namespace = kubeconfig, s.namespace
	cluster, err := p.connect()
	if err != nil {
		t.Fatal(err)
	}
	r := &request{plugin: p, cluster: cluster, cmd: &cobra.Command{}}
	r.cmd.SetContext(t.Context())
	if got := r.problemOf(s.at("a"), time.Minute); got != "WouldBeRejected: quota" {
		t.Errorf("got %q", got)
	}
}
