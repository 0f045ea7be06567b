// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/testutil"
)

var now = testutil.Created.Add(time.Hour)

// ready makes n Ready pods of a set, named by their slots.
func ready(set *testutil.PodSetBuilder, n int) []*corev1.Pod {
	var pods []*corev1.Pod
	for slot := range n {
		pods = append(pods, pod(set, slot).Running().Obj())
	}
	return pods
}

// pod builds a pod from a set's current template in a slot. Lower slots are much younger, so they are deleted first.
func pod(set *testutil.PodSetBuilder, slot int) *testutil.PodBuilder {
	owner := set.Obj()
	return testutil.MakePod(podName(owner, slotAttempt{slot: slot})).OwnedBy(owner).Slot(slot).
		Hash(HashTemplate(owner.Spec.Template)).Created(now.Add(-time.Hour << (2 * slot)))
}

func TestMakePlan(t *testing.T) {
	one, three := testutil.MakePodSet("a"), testutil.MakePodSet("a").Replicas(3)
	edited := testutil.MakePodSet("a").Replicas(3).Image("v2")
	old := func(slot int) *testutil.PodBuilder { return pod(three, slot) } // of the template before the edit
	name := func(slot, attempt int) string { return podName(one.Obj(), slotAttempt{slot, attempt}) }
	long := now.Add(-time.Hour)
	complete := func(policy appv1alpha1.PodReplacementPolicy) *testutil.PodSetBuilder {
		return testutil.MakePodSet("a").Replicas(3).ReplacementPolicy(policy)
	}
	failed := func(slot int) *corev1.Pod { return pod(three, slot).Finished(corev1.PodFailed, "").Obj() }

	for title, tc := range map[string]struct {
		set       *testutil.PodSetBuilder
		pods      []*corev1.Pod
		deleted   []types.UID
		attempts  map[int]MinAttempt
		rejected  *expectations.Rejection
		cleanupAt time.Time
		create    []string
		delete    []string
		cleanup   []string
		requeue   time.Time
	}{
		"a set with the pods that it wants is left alone": {set: three, pods: ready(three, 3)},
		"all missing pods are created in one reconcile":   {set: three, create: []string{name(0, 0), name(1, 0), name(2, 0)}},
		"a set without replicas in its spec has one pod":  {set: withoutReplicas(), create: []string{name(0, 0)}},
		"the lowest free slot is filled first": {
			set:  testutil.MakePodSet("a").Replicas(4),
			pods: []*corev1.Pod{pod(three, 0).Running().Obj(), pod(three, 2).Running().Obj()}, create: []string{name(1, 0), name(3, 0)},
		},
		"an unready pod counts":            {set: three, pods: append(ready(three, 2), pod(three, 2).Obj())},
		"a pod of phase Unknown is active": {set: one, pods: []*corev1.Pod{pod(one, 0).Running().Phase(corev1.PodUnknown).Obj()}},
		"a terminating pod is replaced under the next name of its slot": {
			set: three, pods: append(ready(three, 2), pod(three, 2).Running().Terminating().Obj()), create: []string{name(2, 1)},
		},
		"a pod whose deletion was asked for counts as terminating": {
			set: three, pods: ready(three, 3), deleted: []types.UID{types.UID(name(1, 0) + "-uid")}, create: []string{name(1, 1)},
		},
		"a name that a conflicting pod has is skipped": {set: one, attempts: map[int]MinAttempt{0: {Attempt: 2}}, create: []string{name(0, 2)}},
		"a create that was not answered is tried again under the same name": {
			set: testutil.MakePodSet("a").Replicas(2), attempts: map[int]MinAttempt{1: {Attempt: 1, Unanswered: true}}, create: []string{name(0, 0), name(1, 1)},
		},
		"it is tried again even if the cache shows a pod of its name, which can be an older one": {
			set: one, pods: []*corev1.Pod{pod(one, 0).Terminating().Obj()},
			attempts: map[int]MinAttempt{0: {Unanswered: true}}, create: []string{name(0, 0)},
		},
		"a possible attempt whose name is in use is skipped": {
			set: one, pods: []*corev1.Pod{testutil.MakePod(name(0, 1)).OwnedBy(one.Obj()).Slot(0).Terminating().Obj()},
			attempts: map[int]MinAttempt{0: {Attempt: 1}}, create: []string{name(0, 2)},
		},
		"a pod whose slot nobody knows is counted and fills no slot": {
			set: testutil.MakePodSet("a").Replicas(2), pods: []*corev1.Pod{testutil.MakePod("stray").OwnedBy(one.Obj()).Running().Obj()},
			create: []string{name(0, 0)},
		},
		"a pod without an annotation fills the slot of its label": {
			set:  testutil.MakePodSet("a").Replicas(2),
			pods: []*corev1.Pod{testutil.MakePod(name(0, 3)).OwnedBy(one.Obj()).Label(appv1alpha1.LabelSlot, "0").Running().Obj()}, create: []string{name(1, 0)},
		},
		"a pod that tells no slot fills the slot whose next name it has": {
			set: testutil.MakePodSet("a").Replicas(2), pods: []*corev1.Pod{testutil.MakePod(name(0, 0)).OwnedBy(one.Obj()).Running().Obj()}, create: []string{name(1, 0)},
		},
		"a create that was not answered comes before lower slots": {
			set:      testutil.MakePodSet("a").Replicas(2),
			pods:     []*corev1.Pod{testutil.MakePod(name(0, 3)).OwnedBy(one.Obj()).Running().Obj()},
			attempts: map[int]MinAttempt{1: {Unanswered: true}}, create: []string{name(1, 0)},
		},
		"a create that was not answered and has a pod that tells no slot is over": {
			set:      testutil.MakePodSet("a").Replicas(2),
			pods:     []*corev1.Pod{testutil.MakePod(name(1, 0)).OwnedBy(one.Obj()).Running().Obj()},
			attempts: map[int]MinAttempt{1: {Unanswered: true}}, create: []string{name(0, 0)},
		},
		"a create of a surplus slot that was not answered comes last": {
			set: one, attempts: map[int]MinAttempt{4: {Unanswered: true}}, create: []string{name(0, 0)},
		},
		"a pod that admission has renamed fills the slot of its annotation": {
			set: testutil.MakePodSet("a").Replicas(2), pods: []*corev1.Pod{testutil.MakePod("renamed").OwnedBy(one.Obj()).Slot(0).Running().Obj()},
			create: []string{name(1, 0)},
		},
		"surplus pods die, worst first": {
			set: one, pods: []*corev1.Pod{pod(one, 0).Obj(), pod(one, 1).Running().Obj(), pod(one, 2).Running().Unready().Obj()},
			delete: []string{name(0, 0), name(2, 0)},
		},
		"a set that is being deleted is left alone":              {set: testutil.MakePodSet("a").Replicas(3).Deleting(), pods: ready(three, 1)},
		"a surplus of a set that is being deleted is left alone": {set: testutil.MakePodSet("a").Deleting(), pods: ready(three, 3)},
		"a paused set is left alone": {
			set: testutil.MakePodSet("a").Replicas(3).Annotation(appv1alpha1.AnnotationPaused, "true"), pods: ready(three, 1),
		},
		"a pause that is off holds nothing": {
			set: testutil.MakePodSet("a").Annotation(appv1alpha1.AnnotationPaused, "false"), create: []string{name(0, 0)},
		},
		"a pause that is no truth value holds nothing": {
			set: testutil.MakePodSet("a").Annotation(appv1alpha1.AnnotationPaused, "yes please"), create: []string{name(0, 0)},
		},
		"after a rejection nothing is created before its back-off is over": {
			set: one, rejected: &expectations.Rejection{Message: "quota", Until: now.Add(time.Second)}, requeue: now.Add(time.Second),
		},
		"after the back-off the create is tried again": {
			set: one, rejected: &expectations.Rejection{Message: "quota", Until: now}, create: []string{name(0, 0)},
		},
		"a rejection does not stop deletions": {
			set: one, pods: ready(one, 2), rejected: &expectations.Rejection{Until: now.Add(time.Second)}, delete: []string{name(0, 0)},
		},
		"a finished pod is replaced at once and removed later": {
			set: one, pods: []*corev1.Pod{pod(one, 0).Finished(corev1.PodFailed, "Evicted").Obj()}, cleanupAt: now.Add(time.Minute),
			create: []string{name(0, 1)}, requeue: now.Add(time.Minute),
		},
		"finished pods are removed when the back-off is over": {
			set: one, cleanupAt: now,
			pods:    []*corev1.Pod{pod(one, 0).Finished(corev1.PodSucceeded, "").Obj(), pod(one, 1).Running().Obj()},
			cleanup: []string{name(0, 0)},
		},
		"of pods that end as fast as they start no more than spec.replicas are replaced ahead of their removal": {
			set: one, cleanupAt: now.Add(time.Minute), requeue: now.Add(time.Minute),
			pods: []*corev1.Pod{
				pod(one, 0).Finished(corev1.PodFailed, "").Obj(),
				testutil.MakePod(name(0, 1)).OwnedBy(one.Obj()).Slot(0).Finished(corev1.PodFailed, "").Obj(),
			},
		},
		"of many finished pods those beyond spec.replicas are not replaced yet": {
			set: three, cleanupAt: now.Add(time.Minute), requeue: now.Add(time.Minute),
			pods:   []*corev1.Pod{failed(0), failed(1), failed(2), failed(3)},
			create: []string{name(0, 1), name(1, 1)},
		},
		"finished pods that are removed now delay no replacement": {
			set: three, cleanupAt: now, pods: []*corev1.Pod{failed(0), failed(1)},
			create: []string{name(0, 1), name(1, 1), name(2, 0)}, cleanup: []string{name(0, 0), name(1, 0)},
		},
		"the cleanup is due before the back-off of a rejection is over": {
			set: one, pods: []*corev1.Pod{failed(0)}, cleanupAt: now.Add(1), rejected: &expectations.Rejection{Until: now.Add(2)}, requeue: now.Add(1),
		},
		"the back-off of a rejection is over before the cleanup is due": {
			set: one, pods: []*corev1.Pod{failed(0)}, cleanupAt: now.Add(2), rejected: &expectations.Rejection{Until: now.Add(1)}, requeue: now.Add(1),
		},
		"a complete set does not wait for the back-off of a rejection": {
			set: one, pods: ready(one, 1), rejected: &expectations.Rejection{Until: now.Add(time.Second)},
		},
		"a template change deletes one Ready pod at a time": {
			set: edited, pods: []*corev1.Pod{old(0).Running().Obj(), old(1).Running().Obj(), old(2).Running().Obj()},
			delete: []string{name(0, 0)},
		},
		"a rolling update waits while a new pod is not Ready": {
			set: edited, pods: []*corev1.Pod{pod(edited, 0).Running().Unready().Obj(), old(1).Running().Obj(), old(2).Running().Obj()},
		},
		"a rolling update waits while a pod is missing, and makes it": {
			set: edited, pods: []*corev1.Pod{old(1).Running().Obj(), old(2).Running().Obj()}, create: []string{name(0, 0)},
		},
		"a rolling update goes on once the new pod is Ready": {
			set: edited, pods: []*corev1.Pod{pod(edited, 0).Running().Obj(), old(1).Running().Obj(), old(2).Running().Obj()},
			delete: []string{name(1, 0)},
		},
		"pods of an older template that are not Ready are replaced at once": {
			set: edited, pods: []*corev1.Pod{old(0).Obj(), old(1).Running().Unready().Obj(), old(2).Running().Obj()},
			delete: []string{name(0, 0), name(1, 0)},
		},
		"a rolling update waits until the new pod has been Ready for minReadySeconds": {
			set:  testutil.FromPodSet(edited.Obj()).MinReadySeconds(10),
			pods: []*corev1.Pod{pod(edited, 0).ReadySince(now.Add(-9 * time.Second)).Obj(), old(1).ReadySince(long).Obj(), old(2).ReadySince(long).Obj()},
		},
		"a rolling update goes on once the new pod has been Ready for minReadySeconds": {
			set:    testutil.FromPodSet(edited.Obj()).MinReadySeconds(10),
			pods:   []*corev1.Pod{pod(edited, 0).ReadySince(now.Add(-10 * time.Second)).Obj(), old(1).ReadySince(long).Obj(), old(2).ReadySince(long).Obj()},
			delete: []string{name(1, 0)},
		},
		"a pod of an older template that is not available is replaced at once": {
			set:    testutil.FromPodSet(edited.Obj()).MinReadySeconds(10),
			pods:   []*corev1.Pod{old(0).ReadySince(now).Obj(), old(1).ReadySince(long).Obj(), old(2).ReadySince(long).Obj()},
			delete: []string{name(0, 0)},
		},
		"maxUnavailable in pods": {
			set: testutil.MakePodSet("a").Replicas(3).Image("v2").MaxUnavailable("2"), pods: ready(three, 3), delete: []string{name(0, 0), name(1, 0)},
		},
		"maxUnavailable as a percentage is rounded up": {
			set: testutil.MakePodSet("a").Replicas(3).Image("v2").MaxUnavailable("34%"), pods: ready(three, 3), delete: []string{name(0, 0), name(1, 0)},
		},
		"maxUnavailable is at least one pod": {
			set: testutil.MakePodSet("a").Replicas(3).Image("v2").MaxUnavailable("0"), pods: ready(three, 3), delete: []string{name(0, 0)},
		},
		"a maxUnavailable that is no number is one pod": {
			set: testutil.MakePodSet("a").Replicas(3).Image("v2").MaxUnavailable("many"), pods: ready(three, 3), delete: []string{name(0, 0)},
		},
		"a rolling update without maxUnavailable takes one pod": {
			set: withEmptyRollingUpdate(), pods: ready(three, 3), delete: []string{name(0, 0)},
		},
		"an unready pod of an older template is replaced although a new one is not Ready either": {
			set: edited, pods: []*corev1.Pod{pod(edited, 0).Obj(), pod(three, 1).Running().Unready().Obj(), pod(three, 2).Running().Obj()}, delete: []string{name(1, 0)},
		},
		"OnDelete leaves pods of an older template alone": {set: testutil.MakePodSet("a").Replicas(3).Image("v2").OnDelete(), pods: ready(three, 3)},
		"a surplus goes before a rolling update, pods of the older template first": {
			set:  testutil.MakePodSet("a").Replicas(2).Image("v2"),
			pods: []*corev1.Pod{pod(edited, 0).Running().Obj(), pod(edited, 1).Running().Obj(), old(2).Running().Obj()}, delete: []string{name(2, 0)},
		},
		"a surplus that is Ready and not available goes before an available pod": {
			set: testutil.MakePodSet("a").MinReadySeconds(10), delete: []string{name(1, 0)},
			pods: []*corev1.Pod{pod(three, 0).ReadySince(long).Obj(), pod(three, 1).ReadySince(now).Obj()},
		},
		"TerminationStarted replaces a terminating pod": {
			set: complete("TerminationStarted"), create: []string{name(1, 1)},
			pods: []*corev1.Pod{pod(three, 0).Running().Obj(), pod(three, 1).Running().Terminating().Obj(), pod(three, 2).Running().Obj()},
		},
		"TerminationComplete waits until a terminating pod is gone": {
			set:  complete("TerminationComplete"),
			pods: []*corev1.Pod{pod(three, 0).Running().Obj(), pod(three, 1).Running().Terminating().Obj(), pod(three, 2).Running().Obj()},
		},
		"TerminationComplete waits until a pod is gone that was deleted": {
			set: complete("TerminationComplete"), deleted: []types.UID{pod(three, 1).Obj().UID}, pods: ready(three, 3),
		},
		"TerminationComplete waits until a finished pod is gone": {
			set:  complete("TerminationComplete"),
			pods: append(ready(three, 2), failed(2)), cleanupAt: now.Add(time.Second), requeue: now.Add(time.Second),
		},
		"TerminationComplete fills the slots that are free": {
			set: complete("TerminationComplete"), create: []string{name(2, 0)},
			pods: []*corev1.Pod{pod(three, 0).Running().Obj(), pod(three, 1).Running().Terminating().Obj()},
		},
		"TerminationComplete does not wait for the surplus": {
			set: complete("TerminationComplete"), create: []string{name(2, 0)},
			pods: append(ready(three, 2), pod(three, 3).Running().Terminating().Obj()),
		},
		"a pod of an older template whose annotations are gone is replaced": {
			set:    testutil.MakePodSet("a").Image("v2"),
			pods:   []*corev1.Pod{testutil.MakePod(name(0, 0)).OwnedBy(one.Obj()).Label(appv1alpha1.LabelTemplateHash, "old").Running().Obj()},
			delete: []string{name(0, 0)},
		},
		"a pod without a hash is taken for current": {
			set: testutil.MakePodSet("a").Image("v2"), pods: []*corev1.Pod{testutil.MakePod(name(0, 0)).OwnedBy(one.Obj()).Slot(0).Running().Obj()},
		},
	} {
		t.Run(title, func(t *testing.T) {
			o := Observation{
				Set: tc.set.Obj(), Pods: tc.pods, Deleted: sets.New(tc.deleted...), Attempts: tc.attempts,
				Now: now, Rejection: tc.rejected, CleanupAt: tc.cleanupAt, Defaults: Defaults{Image: "busybox"},
			}
			plan := MakePlan(o)
			for what, diff := range map[string]string{
				"create":  cmp.Diff(tc.create, names(plan.Create)),
				"delete":  cmp.Diff(tc.delete, names(plan.Delete)),
				"cleanup": cmp.Diff(tc.cleanup, names(plan.Cleanup)),
				"requeue": cmp.Diff(tc.requeue, plan.RequeueAt),
			} {
				if diff != "" {
					t.Errorf("%s (-want +got): %s", what, diff)
				}
			}
			if empty := len(tc.create)+len(tc.delete)+len(tc.cleanup) == 0; plan.IsEmpty() != empty {
				t.Errorf("IsEmpty: got %t", plan.IsEmpty())
			}
		})
	}
}

func withEmptyRollingUpdate() *testutil.PodSetBuilder {
	set := testutil.MakePodSet("a").Replicas(3).Image("v2").Obj()
	set.Spec.UpdateStrategy.RollingUpdate = &appv1alpha1.RollingUpdateStrategy{}
	return testutil.FromPodSet(set)
}

func TestMakePlan_foreignPods(t *testing.T) {
	set := testutil.MakePodSet("a")
	other := set.Obj()
	other.UID = "another"
	for title, tc := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"a pod of this PodSet":                              {pod(set, 0).Obj(), true},
		"a pod of an older PodSet of the same name":         {pod(set, 0).OwnedBy(other).Obj(), false},
		"a pod of nobody":                                   {testutil.MakePod("x").Obj(), false},
		"a pod of this PodSet that is being deleted":        {pod(set, 0).Terminating().Obj(), false},
		"a pod of this PodSet whose deletion was asked for": {pod(set, 0).UID("gone").Obj(), false},
		"a pod of this PodSet that has failed":              {pod(set, 0).Finished(corev1.PodFailed, "").Obj(), false},
	} {
		o := Observation{Set: set.Obj(), Deleted: sets.New[types.UID]("gone")}
		if got := o.IsActive(tc.pod); got != tc.want {
			t.Errorf("%s: IsActive = %t", title, got)
		}
	}
}

func names(pods []*corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

func withoutReplicas() *testutil.PodSetBuilder {
	set := testutil.MakePodSet("a").Obj()
	set.Spec.Replicas = nil
	return testutil.FromPodSet(set)
}

func TestDeletionPriority(t *testing.T) {
	// Each row has two pods. The first is worse by the rank in the title and better by the next rank.
	day, long := 24*time.Hour, now.Add(-time.Hour)
	mk := testutil.MakePod
	for title, tc := range map[string]struct{ worse, better *corev1.Pod }{
		"1 without a node": {
			mk("b").Obj(),
			mk("a").On("n").Obj(),
		},
		"2 Pending": {
			mk("b").On("n").Obj(),
			mk("a").On("n").Phase(corev1.PodUnknown).Obj(),
		},
		"2 Unknown": {
			mk("b").On("n").Phase(corev1.PodUnknown).Obj(),
			mk("a").On("n").Phase(corev1.PodRunning).Obj(),
		},
		"3 not Ready": {
			mk("b").Running().Unready().Hash("new").Obj(),
			mk("a").Running().Hash("old").Obj(),
		},
		"4 not available": {
			mk("b").ReadySince(now.Add(-59 * time.Second)).Hash("new").Obj(),
			mk("a").ReadySince(now.Add(-60 * time.Second)).Hash("old").Obj(),
		},
		"5 of an older template": {
			mk("b").Running().Hash("old").Annotation(corev1.PodDeletionCost, "9").Obj(),
			mk("a").Running().Hash("new").Obj(),
		},
		"6 lower deletion cost": {
			mk("b").Running().Annotation(corev1.PodDeletionCost, "-1").Obj(),
			mk("a").Running().Annotation(corev1.PodDeletionCost, "no number").Created(testutil.Created.Add(day)).Obj(),
		},
		"6 a cost of more than 32 bits counts as 0": {
			mk("b").Running().Annotation(corev1.PodDeletionCost, "2147483648").Obj(),
			mk("a").Running().Annotation(corev1.PodDeletionCost, "1").Obj(),
		},
		"8 a deletion was not answered": {
			mk("b").ReadySince(now.Add(-time.Hour)).UID("undeleted").Obj(),
			mk("a").ReadySince(now.Add(-2 * time.Minute)).Obj(),
		},
		"9 Ready for a shorter time": {
			mk("b").ReadySince(now.Add(-2 * time.Minute)).Created(testutil.Created.Add(-day)).Obj(),
			mk("a").ReadySince(now.Add(-time.Hour)).Restarts(50).Obj(),
		},
		"9 it is not known since when it is Ready": {
			mk("b").Running().Obj(),
			mk("a").ReadySince(now.Add(time.Hour)).Restarts(50).Obj(),
		},
		"10 more restarts of one container": {
			mk("b").Running().Restarts(3).Restarts(0).Created(testutil.Created.Add(-day)).Obj(),
			mk("a").Running().Restarts(2).Restarts(2).Obj(),
		},
		"10 about as long Ready": {
			mk("b").ReadySince(now.Add(-61 * time.Minute)).Restarts(1).Created(testutil.Created.Add(-day)).Obj(),
			mk("a").ReadySince(now.Add(-60 * time.Minute)).Obj(),
		},
		"10 neither is Ready": {
			mk("b").ReadySince(long).Unready().Restarts(1).Obj(),
			mk("a").ReadySince(now).Unready().Obj(),
		},
		"11 more restarts of a sidecar": {
			mk("b").Running().Init("proxy", corev1.ContainerRestartPolicyAlways, 1).Created(testutil.Created.Add(-day)).Obj(),
			mk("a").Running().Init("init", "", 9).Obj(),
		},
		"12 younger": {
			mk("b").Running().Created(now.Add(-time.Minute)).UID("2").Obj(),
			mk("a").Running().Created(now.Add(-day)).UID("1").Obj(),
		},
		"13 the UID": {
			mk("b").Running().Created(now.Add(-61 * time.Minute)).UID("1").Obj(),
			mk("a").Running().Created(now.Add(-60 * time.Minute)).UID("2").Obj(),
		},
		"13 name": {
			mk("a").Running().UID("1").Obj(),
			mk("b").Running().UID("1").Obj(),
		},
	} {
		want := []string{tc.worse.Name, tc.better.Name}
		for _, pods := range [][]*corev1.Pod{{tc.worse, tc.better}, {tc.better, tc.worse}} {
			if diff := cmp.Diff(want, names(byDeletionPriority(Observation{Set: testutil.MakePodSet("a").MinReadySeconds(60).Obj(), MaybeDeleted: sets.New[types.UID]("undeleted"), Now: now}, pods, "new"))); diff != "" {
				t.Errorf("%s (-want +got): %s", title, diff)
			}
		}
	}
}

func TestDeletionPriority_nodes(t *testing.T) {
	mk := testutil.MakePod
	pods := []*corev1.Pod{
		mk("a").On("one-pod").Running().Created(testutil.Created.Add(time.Hour)).Obj(),
		mk("b").On("two-pods").Running().Obj(),
		mk("c").On("two-pods").Running().Obj(),
	}
	if diff := cmp.Diff([]string{"b", "c", "a"}, names(byDeletionPriority(Observation{Set: testutil.MakePodSet("a").Obj()}, pods, ""))); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
}
