// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/testutil"
)

// The time without progress counts from the last change that a status could report. A pod is Ready for 4 s, which a process that cannot list
// pods does not see.
func TestP14(t *testing.T) {
	set := func(progressing metav1.ConditionStatus, reason string) client.Object {
		return testutil.MakePodSet("a").Replicas(1).ProgressDeadlineSeconds(20).Status(appv1alpha1.PodSetStatus{
			Conditions: []metav1.Condition{{Type: appv1alpha1.ConditionProgressing, Status: progressing, Reason: reason}},
		}).Obj()
	}
	pod := testutil.MakePod("x").OwnedBy(testutil.MakePodSet("a").Obj())
	for title, tc := range map[string]struct {
		seen     client.Object
		violated bool
	}{
		"no status says that the pod was Ready": {set(metav1.ConditionTrue, appv1alpha1.ReasonAwaitingReady), false},
		"a status says that the pod was Ready":  {set(metav1.ConditionFalse, appv1alpha1.ReasonStable), true},
	} {
		var events []Event
		var writes []Write
		for _, change := range []struct {
			after  time.Duration
			object client.Object
		}{
			{0, set(metav1.ConditionTrue, appv1alpha1.ReasonScaling)},
			{0, pod.Obj()},
			{0, pod.Running().Obj()},
			{time.Second, tc.seen},
			{4 * time.Second, pod.Unready().Obj()},
			{5 * time.Second, set(metav1.ConditionTrue, appv1alpha1.ReasonAwaitingReady)},
			{20 * time.Second, set(metav1.ConditionFalse, appv1alpha1.ReasonProgressDeadlineExceeded)},
		} {
			version := uint64(len(events) + 1)
			change.object.SetResourceVersion(strconv.FormatUint(version, 10))
			at := testutil.Created.Add(change.after)
			events = append(events, Event{Version: version, Kind: watch.Modified, Object: change.object, Seen: at})
			switch object := change.object.(type) {
			case *corev1.Pod:
				object.Spec.Containers = []corev1.Container{{Image: DefaultImage}}
			case *appv1alpha1.PodSet:
				writes = append(writes, Write{Call: &Call{Verb: "patch", Resource: "podsets", Subresource: "status"}, Process: 1, Sent: at, Code: 200, Version: change.object.GetResourceVersion()})
			}
		}
		c := NewChecker(true, writes, map[int]time.Time{1: testutil.Created.Add(-time.Minute)})
		c.Replay(events)
		violated := false
		for _, v := range c.Violations {
			violated = violated || v.Invariant == "P14"
		}
		if violated != tc.violated {
			t.Errorf("%s: P14 is violated: %t, of %v", title, violated, c.Violations)
		}
	}
}
