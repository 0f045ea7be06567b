// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
	"github.com/redhat/podset-operator/internal/testutil"
)

// world is a PodSet and its pods as an API server would hold them, with a user and a kubelet that act at random.
type world struct {
	t         *testing.T
	random    *rand.Rand
	set       *appv1alpha1.PodSet
	pods      []*corev1.Pod
	now       time.Time
	cleanupAt time.Time
	// bound is the largest number of pods asked for since the set had what it asked for.
	bound   int
	created int
}

// TestRandomHistories lets PodSets live through random edits, failures and passes of the planner. In every moment no more
// pods are active than were asked for; left alone, each ends with what it asks for, and then nothing more happens.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			set := testutil.MakePodSet("a").Replicas(3).Obj()
			w := &world{t: t, random: rand.New(rand.NewPCG(seed, 0)), set: set, now: now, bound: 3}
			for range 200 {
				switch w.random.IntN(4) {
				case 0:
					w.user()
				case 1, 2:
					w.kubelet()
				case 3:
					w.pass()
				}
				w.now = w.now.Add(time.Duration(w.random.IntN(5000)) * time.Millisecond)
			}
			w.settle()
		})
	}
}

// user edits the set, or deletes a pod.
func (w *world) user() {
	w.set.Generation++
	switch w.random.IntN(4) {
	case 0, 1:
		w.set.Spec.Replicas = ptr.To(int32(1 + w.random.IntN(10)))
		w.bound = max(w.bound, int(*w.set.Spec.Replicas))
	case 2:
		image := fmt.Sprintf("v%d", w.random.IntN(3))
		w.set.Spec.Template = testutil.MakePodSet("a").Image(image).Obj().Spec.Template
	case 3:
		if pod := w.anyPod(); pod != nil {
			pod.DeletionTimestamp = ptr.To(metav1.NewTime(w.now))
		}
	}
}

// kubelet moves a pod on: schedules it, makes it Ready or not, ends it, or removes it when it terminates.
func (w *world) kubelet() {
	pod := w.anyPod()
	if pod == nil {
		return
	}
	switch {
	case pod.DeletionTimestamp != nil:
		w.remove(pod)
	case pods.IsFinished(pod):
	case pod.Spec.NodeName == "":
		pod.Spec.NodeName = fmt.Sprintf("node-%d", w.random.IntN(3))
	case w.random.IntN(20) == 0:
		pod.Status.Phase = corev1.PodFailed
	default:
		pod.Status.Phase = corev1.PodRunning
		status := corev1.ConditionTrue
		if w.random.IntN(4) == 0 {
			status = corev1.ConditionFalse
		}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	}
}

func (w *world) anyPod() *corev1.Pod {
	if len(w.pods) == 0 {
		return nil
	}
	return w.pods[w.random.IntN(len(w.pods))]
}

func (w *world) remove(pod *corev1.Pod) {
	w.pods = slices.DeleteFunc(w.pods, func(p *corev1.Pod) bool { return p.UID == pod.UID })
}

// pass observes, plans, acts and reports once, and tells whether anything was written.
func (w *world) pass() bool {
	w.t.Helper()
	o := Observation{Set: w.set, Pods: slices.Clone(w.pods), Now: w.now, CleanupAt: w.cleanupAt}
	if !o.hasFinished() {
		w.cleanupAt = w.now.Add(10 * time.Second)
	}
	plan := MakePlan(o)
	outcome := Outcome{Deleted: plan.Delete, CleanedUp: plan.Cleanup}
	w.checkVictims(o, plan)
	for _, pod := range slices.Concat(plan.Delete, plan.Cleanup) {
		pod.DeletionTimestamp = ptr.To(metav1.NewTime(w.now))
	}
	for _, pod := range plan.Create {
		if slices.ContainsFunc(w.pods, func(p *corev1.Pod) bool { return p.Name == pod.Name }) {
			w.t.Fatalf("pod %s is created while it exists", pod.Name)
		}
		w.created++
		pod.UID = types.UID(fmt.Sprint(w.created))
		pod.CreationTimestamp = metav1.NewTime(w.now)
		pod.Status.Phase = corev1.PodPending
		w.pods = append(w.pods, pod)
		outcome.Created = append(outcome.Created, pod)
	}
	active := classify(Observation{Set: w.set, Pods: w.pods}).active
	if len(active) > w.bound {
		w.t.Fatalf("%d pods are active where %d were asked for at the most", len(active), w.bound)
	}
	if len(active) == o.desired() {
		w.bound = o.desired()
	}
	status := Status(o, outcome)
	changed := !equality.Semantic.DeepEqual(w.set.Status, status)
	w.set.Status = status
	if !slices.IsSorted(status.PodNames) || len(status.PodNames) != len(active) {
		w.t.Errorf("podNames %v for %d active pods", status.PodNames, len(active))
	}
	return changed || !plan.IsEmpty()
}

// checkVictims: of pods of the present template no Ready one dies while one that is not Ready lives.
func (w *world) checkVictims(o Observation, plan Plan) {
	w.t.Helper()
	hash := HashTemplate(w.set.Spec.Template)
	spared := count(classify(o).active, func(pod *corev1.Pod) bool { return !pods.IsReady(pod) && !slices.Contains(plan.Delete, pod) })
	for _, pod := range plan.Delete {
		if pods.IsReady(pod) && !isOutdated(pod, hash) && spared > 0 {
			w.t.Errorf("the Ready pod %s dies while %d others that are not Ready live", pod.Name, spared)
		}
	}
}

// settle leaves the set alone, with a kubelet that makes everything Ready, until it is at rest.
func (w *world) settle() {
	w.t.Helper()
	for range 200 {
		for _, pod := range slices.Clone(w.pods) {
			if pod.DeletionTimestamp != nil {
				w.remove(pod)
			} else if !pods.IsFinished(pod) {
				pod.Spec.NodeName, pod.Status.Phase = "node-0", corev1.PodRunning
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			}
		}
		wrote := w.pass()
		w.now = w.now.Add(time.Minute)
		if !wrote {
			break
		}
	}
	wanted := int(*w.set.Spec.Replicas)
	hash := HashTemplate(w.set.Spec.Template)
	current := count(w.pods, func(pod *corev1.Pod) bool { return pods.IsReady(pod) && !isOutdated(pod, hash) })
	if len(w.pods) != wanted || current != wanted {
		w.t.Errorf("at rest: %d pods, %d of them Ready and current, where %d are wanted", len(w.pods), current, wanted)
	}
	if w.pass() {
		w.t.Error("a set at rest is written to")
	}
}
