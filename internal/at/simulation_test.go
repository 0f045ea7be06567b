// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/testutil"
)

// The invariants of an At that the simulation checks: A1 each attempt is made once, A2 never before the time, A3 at last
// it ends, A4 the phase moves forward, A5 what runs is what was asked for when it started, A6 an At made again under the
// same name runs again, A7 an unusable spec is written once, A8 the words are the user's, A9 foreign pods stay.
func TestRandomHistories(t *testing.T) {
	ends := map[string]int{}
	for seed := range uint64(150) {
		w := newWorld(t, seed)
		w.live()
		ends[w.at.Status.Reason]++
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	// A simulation that does not get everywhere proves less than it seems to.
	for _, reason := range []string{
		cnatv1alpha1.ReasonCompleted, cnatv1alpha1.ReasonNonZeroExitCode, cnatv1alpha1.ReasonEvicted, cnatv1alpha1.ReasonPodLost,
		cnatv1alpha1.ReasonPodNameConflict, cnatv1alpha1.ReasonMissedDeadline, cnatv1alpha1.ReasonDeadlineExceeded,
	} {
		if ends[reason] == 0 {
			t.Errorf("no life ended with %s: %v", reason, ends)
		}
	}
}

// world is an API server with one At, the nodes, the users, and an operator whose process may crash.
type world struct {
	t      *testing.T
	random *rand.Rand
	now    time.Time

	at     *cnatv1alpha1.At
	pods   []*corev1.Pod // as they are
	cache  []*corev1.Pod // as the operator's cache shows them, which may be older
	uids   int
	made   map[string]int // attempts by UID of the At and name of the pod
	gone   bool           // the At was deleted by its ttl
	forges bool           // somebody writes into the phase in this life

	state at.State // of the process; a crash forgets it
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, 0)), now: testutil.AtCreated, made: map[string]int{}}
	w.forges = w.chance(4)
	w.createAt()
	if w.chance(10) { // A pod of the name is there already, and is nobody's.
		w.pods = append(w.pods, testutil.MakeAtPod(w.at, at.PodName(w.at, w.random.IntN(2))).UID("foreign").Unowned().Phase(corev1.PodRunning).Obj())
	}
	return w
}

func (w *world) chance(n int) bool { return w.random.IntN(n) == 0 }

func (w *world) createAt() {
	w.uids++
	b := testutil.MakeAt("a").BackoffLimit(int32(w.random.IntN(4) / 2)).Command(pick(w, "echo YAY", `sh -c 'exit $CODE'`))
	b.Schedule(pick(w, "now", "2020-01-30T10:02:00Z", "now + 1 minute", w.now.Add(90*time.Second).Format(time.RFC3339)))
	if w.chance(3) {
		b.ActiveDeadline(int64(1 + w.random.IntN(120)))
	}
	if w.chance(3) {
		b.StartingDeadline(int64(w.random.IntN(300)))
	}
	w.at = b.Obj()
	w.at.UID = types.UID(fmt.Sprintf("at-%d", w.uids))
	w.at.CreationTimestamp = metav1.NewTime(w.now)
}

// live is some time of anything, then a time without disturbance, at whose end the At must have ended.
func (w *world) live() {
	for range 60 {
		w.disturb()
		w.reconcile(w.chance(3))
		if w.gone || w.t.Failed() {
			return
		}
	}
	w.edit(func(a *cnatv1alpha1.At) {
		a.Spec.Suspend, a.Annotations = nil, nil
		if w.editable() {
			a.Spec.Schedule, a.Spec.Command = "now", "true"
		}
	})
	w.forges = false
	for range 100 {
		w.collectGarbage()
		w.now = w.now.Add(10 * time.Minute)
		for _, pod := range w.pods {
			w.progress(pod)
		}
		w.seen()
		w.reconcile(false)
		if w.gone || w.at.Status.Phase == cnatv1alpha1.PhaseDone {
			break
		}
	}
	if s := w.at.Status; !w.gone && s.Phase != cnatv1alpha1.PhaseDone {
		w.t.Errorf("A3: the At never ends: %+v", s)
	}
}

// disturb is one thing that may happen to an At.
func (w *world) disturb() {
	switch w.random.IntN(14) {
	case 0, 1, 2:
		w.now = w.now.Add(time.Duration(w.random.IntN(60_000)) * time.Millisecond)
	case 3:
		w.now = w.now.Add(time.Duration(w.random.IntN(7200)-3600) * time.Second) // A clock may be put back, too.
	case 4, 5:
		if len(w.pods) > 0 {
			w.progress(pick(w, w.pods...))
		}
	case 6:
		w.seen()
	case 7:
		w.edit(func(a *cnatv1alpha1.At) {
			if w.editable() {
				a.Spec.Schedule = pick(w, "now", "tomorrow", "now + 2 minutes", w.now.Add(time.Minute).Format(time.RFC3339))
				a.Spec.Command = pick(w, "echo YAY", "true", "echo '", `echo "$HOME"`)
			}
		})
	case 8:
		w.edit(func(a *cnatv1alpha1.At) { a.Spec.Suspend = ptr.To(w.chance(2)) })
	case 9:
		w.edit(func(a *cnatv1alpha1.At) {
			a.Annotations = map[string]string{cnatv1alpha1.AnnotationPaused: pick(w, "true", "false", "x")}
		})
	case 10:
		w.deletePod()
	case 11:
		w.crash()
	case 12:
		if w.forges {
			w.at.Status.Phase = pick(w, cnatv1alpha1.PhasePending, cnatv1alpha1.PhaseRunning, cnatv1alpha1.PhaseDone)
		}
	case 13:
		if w.chance(5) { // A6
			w.createAt()
			w.crash()
		} else if w.chance(3) {
			w.edit(func(a *cnatv1alpha1.At) { a.Spec.TTLSecondsAfterFinished = ptr.To[int32](600) })
		}
		w.collectGarbage()
	}
}

// editable is the CEL rule of the CRD: schedule, command and template may change while the phase is PENDING.
func (w *world) editable() bool {
	return w.at.Status.Phase == "" || w.at.Status.Phase == cnatv1alpha1.PhasePending
}

func (w *world) edit(change func(*cnatv1alpha1.At)) {
	edited := w.at.DeepCopy()
	change(edited)
	if !equality.Semantic.DeepEqual(edited.Spec, w.at.Spec) {
		edited.Generation++
	}
	w.at = edited
}

// seen lets the cache catch up.
func (w *world) seen() { w.cache = slices.Clone(w.pods) }

// crash forgets what the process knew. A new process waits until its cache is as new as its start.
func (w *world) crash() {
	w.state = at.State{}
	w.seen()
}

// progress moves one pod on, as its node would. Pods are replaced, not changed, since the operator's cache shares them.
func (w *world) progress(pod *corev1.Pod) {
	i := slices.Index(w.pods, pod)
	if pod.UID == "foreign" || i < 0 {
		return
	}
	next := pod.DeepCopy()
	terminated := func(code int32) {
		next.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "busybox", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(w.now).Rfc3339Copy()},
		}}}
	}
	limit := next.Spec.ActiveDeadlineSeconds
	switch finished := next.Status.Phase == corev1.PodSucceeded || next.Status.Phase == corev1.PodFailed; {
	case finished && next.DeletionTimestamp != nil:
		w.pods = slices.Delete(slices.Clone(w.pods), i, i+1)
		return
	case finished:
		return
	case next.Status.Phase == corev1.PodPending && next.DeletionTimestamp == nil:
		next.Status.Phase = corev1.PodRunning
		next.Status.StartTime = ptr.To(metav1.NewTime(w.now))
	case limit != nil && next.Status.StartTime != nil && w.now.Sub(next.Status.StartTime.Time) > time.Duration(*limit)*time.Second:
		next.Status.Phase, next.Status.Reason = corev1.PodFailed, "DeadlineExceeded"
		terminated(143)
	default:
		switch w.random.IntN(4) {
		case 0, 1:
			next.Status.Phase = corev1.PodSucceeded
			terminated(0)
		case 2:
			next.Status.Phase = corev1.PodFailed
			terminated(3)
		case 3:
			next.Status.Phase, next.Status.Reason = corev1.PodFailed, "Evicted"
		}
	}
	w.pods = slices.Clone(w.pods)
	w.pods[i] = next
}

// deletePod is somebody who deletes a pod, at once or with its grace period. A pod that no status has recorded is spared
// in lives in which it could be the only witness of its run: a crash together with that deletion is the one gap of at
// most once, as doc.go says.
func (w *world) deletePod() {
	pods := slices.DeleteFunc(slices.Clone(w.pods), func(pod *corev1.Pod) bool {
		return pod.UID == "foreign" || pod.UID != w.at.Status.PodUID && metav1.IsControlledBy(pod, w.at)
	})
	if len(pods) == 0 {
		return
	}
	pod := pick(w, pods...)
	i := slices.Index(w.pods, pod)
	w.pods = slices.Clone(w.pods)
	if w.chance(2) {
		w.pods = slices.Delete(w.pods, i, i+1)
		return
	}
	w.pods[i] = pod.DeepCopy()
	w.pods[i].DeletionTimestamp = ptr.To(metav1.NewTime(w.now))
}

// collectGarbage removes the pods of Ats that are gone.
func (w *world) collectGarbage() {
	w.pods = slices.DeleteFunc(slices.Clone(w.pods), func(pod *corev1.Pod) bool {
		return pod.UID != "foreign" && !metav1.IsControlledBy(pod, w.at)
	})
}

// observe is what the process sees, after it has asked the API server for what it must.
func (w *world) observe() at.Observation {
	cached := slices.DeleteFunc(slices.Clone(w.cache), func(pod *corev1.Pod) bool { return !metav1.IsControlledBy(pod, w.at) })
	lookedUp := map[string]*corev1.Pod{}
	for {
		o := w.state.Observe(w.at, cached, lookedUp, w.now, at.Defaults{})
		if len(o.Lookups) == 0 {
			return o
		}
		for _, name := range o.Lookups {
			lookedUp[name] = w.find(name)
		}
	}
}

// reconcile is one reconcile of the operator, with a fault on the way when faulty.
func (w *world) reconcile(faulty bool) {
	o := w.observe()
	plan := at.MakePlan(o)
	outcome, answered := w.act(o, plan, faulty)
	if !answered || w.gone {
		return
	}
	if !at.ReportNow(outcome) {
		w.state.Record(o, outcome, w.now)
		return
	}
	report := at.MakeReport(o, outcome)
	w.checkPhase(report.Status.Phase)
	outcome.Reported = report.Status.PodUID
	if faulty && w.chance(2) { // The write of the status fails, or the process crashes before it.
		w.state.Record(o, outcome, w.now)
		if w.chance(2) {
			w.crash()
		}
		return
	}
	status := stored(w.t, report.Status)
	if !equality.Semantic.DeepEqual(report.Status, status) {
		w.t.Errorf("the API does not keep the status (-written +stored):\n%s", cmp.Diff(report.Status, status))
	}
	w.at = w.at.DeepCopy()
	w.at.Status = status
	outcome.Written = w.at
	w.state.Record(o, outcome, w.now)
	w.checkRest()
}

// act carries the plan out. It returns false when the reconcile ends here: with an error, a crash, or a response that is lost.
func (w *world) act(o at.Observation, plan at.Plan, faulty bool) (at.Outcome, bool) {
	var outcome at.Outcome
	for _, pod := range plan.Delete {
		if !metav1.IsControlledBy(pod, w.at) || w.at.Spec.ActiveDeadlineSeconds == nil {
			w.t.Errorf("A9: pod %s is deleted", pod.Name)
		}
		outcome.Deleted = append(outcome.Deleted, pod)
		w.pods = slices.DeleteFunc(slices.Clone(w.pods), func(p *corev1.Pod) bool { return p.UID == pod.UID })
	}
	if plan.DeleteAt {
		if w.at.Status.CompletionTime == nil || w.at.Spec.TTLSecondsAfterFinished == nil {
			w.t.Error("the At is deleted before its end")
		}
		w.gone = true
	}
	if plan.Create == nil {
		return outcome, true
	}
	if faulty && w.chance(4) {
		return outcome, false // The request is lost.
	}
	if existing := w.find(plan.Create.Name); existing != nil {
		if metav1.IsControlledBy(existing, w.at) {
			outcome.Created = existing
		} else {
			outcome.Conflicting = existing
		}
		return outcome, true
	}
	if faulty && w.chance(4) {
		outcome.Rejected = o.Reject("exceeded quota", false, w.now)
		return outcome, true
	}
	pod := w.create(o, plan.Create)
	if faulty && w.chance(3) {
		if w.chance(2) {
			w.crash()
		}
		return outcome, false // The response is lost.
	}
	outcome.Created = pod
	return outcome, true
}

// create is the API server making a pod, and the check of what may be made.
func (w *world) create(o at.Observation, planned *corev1.Pod) *corev1.Pod {
	w.uids++
	pod := planned.DeepCopy()
	pod.UID = types.UID(fmt.Sprintf("pod-%d", w.uids))
	pod.CreationTimestamp = metav1.NewTime(w.now).Rfc3339Copy()
	pod.Status.Phase = corev1.PodPending
	w.pods = append(slices.Clone(w.pods), pod)

	key := string(w.at.UID) + "/" + pod.Name
	if w.made[key]++; w.made[key] > 1 {
		w.t.Errorf("A1: pod %s is created %d times", pod.Name, w.made[key])
	}
	runs := 0
	for attempt := range 11 {
		runs += w.made[string(w.at.UID)+"/"+at.PodName(w.at, attempt)]
	}
	if limit := int(*w.at.Spec.BackoffLimit); runs > limit+1 {
		w.t.Errorf("A1: %d runs with backoffLimit %d", runs, limit)
	}
	if due, err := at.ParseSchedule(w.at.Spec.Schedule, w.at.CreationTimestamp.Time); runs == 1 && (err != nil || o.Now.Before(due)) {
		w.t.Errorf("A2: pod %s is created at %s, schedule %s (%v)", pod.Name, o.Now, w.at.Spec.Schedule, err)
	}
	if runs == 1 && ptr.Deref(w.at.Spec.Suspend, false) || w.at.Annotations[cnatv1alpha1.AnnotationPaused] == "true" {
		w.t.Errorf("pod %s is created while the At is suspended or paused", pod.Name)
	}
	words, err := at.SplitCommand(w.at.Spec.Command)
	var argv []string
	for _, word := range pod.Spec.Containers[0].Command {
		argv = append(argv, kubernetesExpand(word))
	}
	if err != nil || !cmp.Equal(words, argv) {
		w.t.Errorf("A8: the words are %q, the container gets %q (%v)", words, argv, err)
	}
	return pod
}

func (w *world) find(name string) *corev1.Pod {
	if i := slices.IndexFunc(w.pods, func(pod *corev1.Pod) bool { return pod.Name == name }); i >= 0 {
		return w.pods[i]
	}
	return nil
}

func (w *world) checkPhase(next cnatv1alpha1.Phase) {
	order := []cnatv1alpha1.Phase{"", cnatv1alpha1.PhasePending, cnatv1alpha1.PhaseRunning, cnatv1alpha1.PhaseDone}
	if was := w.at.Status.Phase; !w.forges && slices.Index(order, next) < slices.Index(order, was) {
		w.t.Errorf("A4: the phase goes from %s to %s", was, next)
	}
}

// checkRest repeats the reconcile: without a change there is nothing more to write or to report.
func (w *world) checkRest() {
	now := w.now
	defer func() { w.now = now }()
	w.now = w.now.Add(300 * time.Millisecond)
	o := w.observe()
	if plan := at.MakePlan(o); !plan.IsEmpty() {
		return // Its time came in between.
	}
	again := at.MakeReport(o, at.Outcome{})
	if again.Status.Phase == cnatv1alpha1.PhaseDone && w.at.Status.Phase != cnatv1alpha1.PhaseDone {
		return // So did a deadline.
	}
	if !equality.Semantic.DeepEqual(w.at.Status, again.Status) || len(again.Events) > 0 {
		w.t.Errorf("A7: the status is written again, events %v (-first +again):\n%s", again.Events, cmp.Diff(w.at.Status, again.Status))
	}
}

func pick[T any](w *world, choices ...T) T { return choices[w.random.IntN(len(choices))] }
