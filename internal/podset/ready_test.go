// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/testutil"
)

func TestReadyAndStalled(t *testing.T) {
	set := testutil.MakePodSet("a").Replicas(3)
	quota, failed := &expectations.Rejection{Message: "exceeded quota"}, errors.New("creating Pod a-1: timeout")
	terminating := pod(set, 2).Running().Terminating().Obj()
	bare, finished := testutil.MakePod("bare").OwnedBy(set.Obj()).Running().Obj(), pod(set, 5).Finished(corev1.PodFailed, "").Obj()
	invalid := testutil.MakePodSet("a").Replicas(3).Image("v1").Template(func(t *corev1.PodTemplateSpec) {
		t.Spec.RestartPolicy = corev1.RestartPolicyNever
	})

	for title, tc := range map[string]struct {
		set       *testutil.PodSetBuilder
		pods      []*corev1.Pod
		rejection *expectations.Rejection
		outcome   Outcome
		status    metav1.ConditionStatus // default False
		reason    string
		stalled   bool
	}{
		"all pods are Ready":                       {set: set, pods: ready(set, 3), status: "True", reason: "Stable"},
		"a pod is not Ready yet":                   {set: set, pods: append(ready(set, 2), pod(set, 2).Obj()), reason: "AwaitingReady"},
		"the API server rejects pods":              {set: set, pods: ready(set, 2), rejection: quota, reason: "FailedCreate", stalled: true},
		"a pod that terminates may free the quota": {set: set, pods: append(ready(set, 2), terminating), rejection: quota, reason: "FailedCreate"},
		"an error is retried at once":              {set: set, pods: ready(set, 2), outcome: Outcome{CreateError: failed}, reason: "FailedCreate"},
		"a pod too many is not Ready":              {set: set, pods: append(ready(set, 3), pod(set, 3).Obj()), reason: "Scaling"},
		"a set that is being deleted":              {set: testutil.MakePodSet("a").Replicas(3).Deleting(), pods: ready(set, 3), reason: "Terminating"},
		"a template is being rolled out":           {set: testutil.MakePodSet("a").Replicas(3).Image("v2"), pods: ready(set, 3), reason: "Updating"},
		"older pods remain under OnDelete":         {set: testutil.MakePodSet("a").Replicas(3).Image("v2").OnDelete(), pods: ready(set, 3), status: "True", reason: "Stable"},
		"the template of a pod is not known":       {set: set, pods: append(ready(set, 2), bare, finished), status: "Unknown", reason: "TemplateUnknown"},
		"it is not known, and older pods remain":   {set: testutil.MakePodSet("a").Replicas(3).OnDelete(), pods: append(ready(set, 2), bare), status: "True", reason: "TemplateUnknown"},
		"an invalid template":                      {set: invalid, pods: ready(invalid, 3), reason: "InvalidTemplate", stalled: true},
		"the API server rejects one now": {
			set: set, pods: ready(set, 2), outcome: Outcome{Rejected: errors.New("exceeded quota")}, reason: "FailedCreate", stalled: true,
		},
		"a paused set waits for its user": {
			set:  testutil.MakePodSet("a").Replicas(3).Annotation(appv1alpha1.AnnotationPaused, "true"),
			pods: ready(set, 2), rejection: quota, reason: "Paused",
		},
	} {
		t.Run(title, func(t *testing.T) {
			status := newStatus(Observation{Set: tc.set.Obj(), Pods: tc.pods, Rejection: tc.rejection, Now: now}, tc.outcome)
			c := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionReady)
			if c.Status != cmp.Or(tc.status, metav1.ConditionFalse) || c.Reason != tc.reason {
				t.Errorf("Ready is %s, %s: %s", c.Status, c.Reason, c.Message)
			}
			if got := meta.IsStatusConditionTrue(status.Conditions, appv1alpha1.ConditionStalled); got != tc.stalled {
				t.Errorf("Stalled is %t", got)
			}
			for _, other := range status.Conditions {
				if other.Reason == c.Reason && other.Message != c.Message {
					t.Errorf("Ready says %q, and %s says %q", c.Message, other.Type, other.Message)
				}
			}
		})
	}
}
