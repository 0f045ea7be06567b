// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/redhat/podset-operator/test/invariants"
)

// pods returns the pods by name. They belong to the Store: copy them to change them.
func (s *Store) pods() []*corev1.Pod {
	var list []*corev1.Pod
	for _, object := range s.objects {
		if pod, ok := object.(*corev1.Pod); ok {
			list = append(list, pod)
		}
	}
	slices.SortFunc(list, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// kubelet performs the next action of a kubelet for one pod. It returns false if there is none.
func (e *env) kubelet(random *rand.Rand) bool {
	all := e.store.pods()
	if len(all) == 0 {
		return false
	}
	pod := all[random.IntN(len(all))].DeepCopy()
	n := random.IntN(20)
	switch {
	case e.scenario.NoUsers:
		return e.sync(pod)
	case e.harm(random, pod):
	case pod.Status.Phase == corev1.PodRunning && n == 0 && pod.DeletionTimestamp == nil:
		switch random.IntN(3) {
		case 0:
			e.evict(pod, true)
			_, _ = e.store.Update(pod, true)
		case 1:
			e.loseNode(pod)
		default:
			pod.Status.Phase = corev1.PodUnknown
			e.setReady(pod, corev1.ConditionFalse)
		}
	case isReady(pod) && n < 3:
		e.setReady(pod, corev1.ConditionFalse)
	case pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName != "" && len(pod.Spec.InitContainers) > 0 && n < 3:
		e.failInit(pod)
	case pod.Status.Phase == corev1.PodRunning && pod.Spec.RestartPolicy == corev1.RestartPolicyNever && n < 7:
		e.endCommand(pod, n)
	default:
		return e.sync(pod)
	}
	return true
}

// endCommand ends the command of a pod in one of several ways.
func (e *env) endCommand(pod *corev1.Pod, n int) {
	switch {
	case n == 4 && len(pod.Status.ContainerStatuses) == 0: // An exit code never changes.
		e.terminate(pod, 137)
		for i := range pod.Status.ContainerStatuses {
			pod.Status.ContainerStatuses[i].State.Terminated.Reason = "OOMKilled"
		}
		e.failPod(pod, "", -1)
	case n == 5:
		e.succeed(pod) // The container status is lost.
	case n == 6 && len(pod.Spec.Containers) > 1 && len(pod.Status.ContainerStatuses) == 0: // An exit code never changes.
		e.terminate(pod, 0)
		other := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name != invariants.CommandContainer(pod).Name })
		pod.Status.ContainerStatuses[other].State = e.ended(pod, pod.Spec.Containers[other].Name, 1)
		e.failPod(pod, "", -1)
	default:
		e.failPod(pod, "", 3)
	}
}

// sync performs the next regular action for a pod. It returns false if there is nothing to do.
func (e *env) sync(pod *corev1.Pod) bool {
	finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if e.releases(pod) {
		return true
	}
	code, ends := e.planOf(pod)
	if pod.DeletionTimestamp == nil && (finished || isReady(pod) && !ends && e.fates[pod.UID] == nil) {
		return false
	}
	pod = pod.DeepCopy()
	fate := e.fates[pod.UID]
	switch {
	case e.holds(pod):
		return false
	case pod.DeletionTimestamp != nil:
		e.endDeleted(pod)
	case len(pod.Spec.SchedulingGates) > 0:
		return e.admitQueued(pod)
	case e.deadlineIsOver(pod):
		e.exceed(pod)
	case fate != nil:
		return e.followFate(pod, fate)
	case pod.Spec.NodeName == "":
		e.note("the scheduler binds pod %s", pod.Name)
		_ = e.store.Bind(pod.Name, "node")
	case ends && pod.Status.Phase == corev1.PodRunning && !e.scenario.NoUsers:
		return e.endRun(pod, code)
	case pod.Status.Phase == corev1.PodPending || !isReady(pod):
		e.run(pod)
	default:
		e.endWith(pod, code)
	}
	return true
}

// admitQueued removes the gate of the controller that queues pods. It returns false if the pod does not have it.
func (e *env) admitQueued(pod *corev1.Pod) bool {
	before := len(pod.Spec.SchedulingGates)
	pod.Spec.SchedulingGates = slices.DeleteFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == queueGate })
	if len(pod.Spec.SchedulingGates) == before {
		return false
	}
	e.note("the queue admits pod %s", pod.Name)
	_, _ = e.store.Update(pod, false)
	return true
}

// deadlineIsOver reports whether the kubelet must end a pod. Some pods are on nodes that know no deadlines, as those of virtual kubelets.
func (e *env) deadlineIsOver(pod *corev1.Pod) bool {
	limit, start := pod.Spec.ActiveDeadlineSeconds, pod.Status.StartTime
	return !e.chance(pod, "virtual", 8) && limit != nil && start != nil && e.nodeNow().Sub(start.Time) > time.Duration(*limit)*time.Second
}

// exceed ends a pod at its deadline. A command that gets a SIGTERM ends with any exit code, and one that has ended keeps its own.
func (e *env) exceed(pod *corev1.Pod) {
	run := e.runOf(pod)
	run.Asked = e.now()
	code := int32(-1)
	if run.Started {
		code = []int32{143, 0, 3}[hash(e.scenario.Seed, string(pod.UID))>>32%3]
	}
	e.failPod(pod, "DeadlineExceeded", code)
}

func (e *env) run(pod *corev1.Pod) {
	if pod.Status.StartTime == nil {
		pod.Status.StartTime = ptr.To(metav1.NewTime(e.nodeNow()))
	}
	pod.Status.Phase = corev1.PodRunning
	e.runOf(pod).Started = true
	e.setReady(pod, corev1.ConditionTrue)
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func (e *env) setReady(pod *corev1.Pod, ready corev1.ConditionStatus) {
	e.note("kubelet: pod %s is ready: %s", pod.Name, ready)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(e.nodeNow()).Rfc3339Copy()}}
	_, _ = e.store.Update(pod, true)
}

func (e *env) succeed(pod *corev1.Pod) {
	e.note("the command of pod %s ends", pod.Name)
	e.ended(pod, invariants.CommandContainer(pod).Name, 0)
	pod.Status.Phase = corev1.PodSucceeded
	_, _ = e.store.Update(pod, true)
}

// failPod ends a pod as Failed. With a negative code, its container has no exit code.
func (e *env) failPod(pod *corev1.Pod, reason string, code int32) {
	e.note("kubelet: pod %s fails: %s", pod.Name, reason)
	pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, reason
	if code >= 0 {
		e.terminate(pod, code)
	}
	pod.Status.Conditions = nil
	_, _ = e.store.Update(pod, true)
}

// collectGarbage performs one action of the garbage collector. It returns false if there is nothing to do.
func (e *env) collectGarbage() bool {
	owners := map[types.UID]bool{}
	for _, resource := range []string{podSets, ats} {
		for _, owner := range e.store.List(resource) {
			owners[owner.GetUID()] = true
			finalizers := owner.GetFinalizers()
			switch {
			case slices.Contains(finalizers, metav1.FinalizerDeleteDependents):
				if e.deleteDependents(owner.GetUID()) {
					return true
				}
			case slices.Contains(finalizers, metav1.FinalizerOrphanDependents):
				if e.orphanDependents(owner.GetUID()) {
					return true
				}
			default:
				continue
			}
			e.note("the garbage collector removes the finalizers of %s", owner.GetName())
			owner.SetFinalizers(nil)
			_, _ = e.store.Update(owner, false)
			return true
		}
	}
	for name, budget := range e.budgets {
		if !owners[budget.OwnerReferences[0].UID] {
			delete(e.budgets, name)
		}
	}
	for _, w := range e.writes {
		if _, exists := owners[w.Owner]; w.Stripped && !exists && e.store.deletes(w.UID) {
			e.note("an administrator deletes pod %s, which admission has taken from its owner that is gone", w.Name)
			return true
		}
	}
	for _, pod := range e.store.pods() {
		owned := len(pod.OwnerReferences) > 0
		for _, reference := range pod.OwnerReferences {
			owned = owned && !owners[reference.UID]
		}
		if owned && pod.DeletionTimestamp == nil {
			e.note("the garbage collector deletes pod %s", pod.Name)
			_, _, _ = e.store.Delete(pods, pod.Name, metav1.DeleteOptions{})
			return true
		}
	}
	return false
}

// deletes deletes a pod. It returns false if the pod does not exist or is terminating.
func (s *Store) deletes(uid types.UID) bool {
	for _, pod := range s.pods() {
		if pod.UID == uid && pod.DeletionTimestamp == nil {
			_, _, _ = s.Delete(pods, pod.Name, metav1.DeleteOptions{})
			return true
		}
	}
	return false
}

// deleteDependents deletes a pod of an owner. It returns false if none is left.
func (e *env) deleteDependents(owner types.UID) bool {
	for _, pod := range e.store.pods() {
		if !slices.ContainsFunc(pod.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == owner }) {
			continue
		}
		if pod.DeletionTimestamp == nil {
			e.note("the garbage collector deletes pod %s", pod.Name)
			_, _, _ = e.store.Delete(pods, pod.Name, metav1.DeleteOptions{})
			return true
		}
		return e.sync(pod)
	}
	return false
}

// orphanDependents removes the owner from a pod. It returns false if no pod is left.
func (e *env) orphanDependents(owner types.UID) bool {
	for _, pod := range e.store.pods() {
		rest := slices.DeleteFunc(slices.Clone(pod.OwnerReferences), func(r metav1.OwnerReference) bool { return r.UID == owner })
		if len(rest) < len(pod.OwnerReferences) {
			e.note("the garbage collector orphans pod %s", pod.Name)
			pod = pod.DeepCopy()
			pod.OwnerReferences = rest
			_, _ = e.store.Update(pod, false)
			return true
		}
	}
	return false
}
