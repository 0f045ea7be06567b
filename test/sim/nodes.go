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

// kubelet does the next thing with one pod. It returns false if there is none.
func (e *env) kubelet(random *rand.Rand) bool {
	all := e.store.pods()
	if len(all) == 0 {
		return false
	}
	pod := all[random.IntN(len(all))].DeepCopy()
	n := random.IntN(20)
	switch {
	case e.scenario.Alone:
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
		pod.Status.ContainerStatuses[1].State = e.ended(pod, pod.Spec.Containers[1].Name, 1)
		e.failPod(pod, "", -1)
	default:
		e.failPod(pod, "", 3)
	}
}

// sync does the next regular thing with a pod. It returns false if there is nothing to do.
func (e *env) sync(pod *corev1.Pod) bool {
	finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	code, ends := int32(0), pod.Spec.RestartPolicy != corev1.RestartPolicyAlways
	random := rand.New(rand.NewPCG(e.scenario.Seed, hash(8, string(pod.UID)))) //nolint:gosec // reproducible
	switch {
	case e.scenario.Alone:
		code, ends = e.endOfPod(pod)
	case ends && random.IntN(3) == 0:
		code = 3
	}
	if pod.DeletionTimestamp == nil && (finished || isReady(pod) && !ends && e.fates[pod.UID] == nil) {
		return false
	}
	pod = pod.DeepCopy()
	fate := e.fates[pod.UID]
	switch {
	case e.holds(pod):
		return false
	case pod.DeletionTimestamp != nil && ends && pod.Status.Phase == corev1.PodRunning && termination(pod) == nil && random.IntN(2) == 0:
		e.stop(pod, pick[int32](random, 0, 3, 143))
	case pod.DeletionTimestamp != nil:
		e.note("kubelet removes pod %s", pod.Name)
		_, _, _ = e.store.Delete(pods, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	case fate != nil:
		return e.followFate(pod, fate)
	case pod.Spec.NodeName == "":
		e.note("the scheduler binds pod %s", pod.Name)
		_ = e.store.Bind(pod.Name, "node")
	case e.deadlineIsOver(pod):
		e.failPod(pod, "DeadlineExceeded", 143)
	case ends && pod.Status.Phase == corev1.PodRunning && termination(pod) != nil && e.scenario.has(Doubt) && random.IntN(2) == 0:
		e.doubt(random, pod)
	case ends && pod.Status.Phase == corev1.PodRunning && e.outlives(pod):
		return e.endCommandOnly(pod)
	case pod.Status.Phase == corev1.PodPending || !isReady(pod):
		e.run(pod)
	case ends && e.scenario.has(Doubt) && random.IntN(3) == 0:
		e.doubt(random, pod)
	case code != 0:
		e.failPod(pod, "", code)
	default:
		e.terminate(pod, 0)
		e.succeed(pod)
	}
	return true
}

// stop ends the command of a terminating pod, which has got a SIGTERM.
func (e *env) stop(pod *corev1.Pod, code int32) {
	e.note("the command of the terminating pod %s ends with exit code %d", pod.Name, code)
	e.terminate(pod, code)
	e.endPodWithContainers(pod)
}

// termination returns how the command of a pod ended, according to its status, or nil.
func termination(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == invariants.CommandContainer(pod).Name {
			return s.State.Terminated
		}
	}
	return nil
}

// deadlineIsOver reports whether the kubelet must end a pod.
func (e *env) deadlineIsOver(pod *corev1.Pod) bool {
	limit, start := pod.Spec.ActiveDeadlineSeconds, pod.Status.StartTime
	return limit != nil && start != nil && e.nodeNow().Sub(start.Time) > time.Duration(*limit)*time.Second
}

// run lets the containers of a pod run.
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

// succeed ends a pod as Succeeded.
func (e *env) succeed(pod *corev1.Pod) {
	e.note("the command of pod %s ends", pod.Name)
	e.ended(pod, invariants.CommandContainer(pod).Name, 0)
	pod.Status.Phase = corev1.PodSucceeded
	_, _ = e.store.Update(pod, true)
}

// failInit ends a pod whose init container has failed.
func (e *env) failInit(pod *corev1.Pod) {
	first := pod.Spec.InitContainers[0].Name
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: first, State: e.ended(pod, first, 1)}}
	pod.Status.ContainerStatuses = statuses(pod.Spec.Containers, waitingFor("PodInitializing"))
	e.failPod(pod, "", -1)
}

func waitingFor(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

// ended returns the state of a container whose process has ended with an exit code, as a kubelet reports it. If it is the command, the node
// knows its exit code now.
func (e *env) ended(pod *corev1.Pod, name string, code int32) corev1.ContainerState {
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	if run := e.runOf(pod); name == invariants.CommandContainer(pod).Name && run.Code == nil {
		run.Code, run.Ended = &code, e.now()
	}
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, ContainerID: "containerd://" + string(pod.UID) + "-" + name, FinishedAt: metav1.NewTime(e.nodeNow()),
	}}
}

// runOf returns what the node of a pod knows of its command.
func (e *env) runOf(pod *corev1.Pod) *invariants.Run {
	if e.runs[pod.UID] == nil {
		e.runs[pod.UID] = &invariants.Run{}
	}
	return e.runs[pod.UID]
}

// failPod ends a pod as Failed. A negative code: its container has none.
func (e *env) failPod(pod *corev1.Pod, reason string, code int32) {
	e.note("kubelet: pod %s fails: %s", pod.Name, reason)
	pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, reason
	if code >= 0 {
		e.terminate(pod, code)
	}
	pod.Status.Conditions = nil
	_, _ = e.store.Update(pod, true)
}

// evict ends a pod whose node needs its resources. The kubelet may lose a container of it.
func (e *env) evict(pod *corev1.Pod, loses bool) {
	e.note("kubelet: pod %s is evicted", pod.Name)
	pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted"
	switch {
	case !e.runOf(pod).Started:
	case loses:
		e.loseContainers(pod)
	default:
		e.terminate(pod, 137)
	}
	pod.Status.Conditions = nil
}

// loseContainers replaces the states of the containers of a pod that have not ended by what a kubelet reports of containers that it has lost:
// in the next status they wait, and the exit code of the last termination is made up. See docs/testing.md, F38.
func (e *env) loseContainers(pod *corev1.Pod) {
	before := pod.Status.ContainerStatuses
	pod.Status.ContainerStatuses = statuses(pod.Spec.Containers, waitingFor("ContainerCreating"))
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		lost := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: invariants.LostContainer, Message: "The container could not be located when the pod was terminated"}}
		switch {
		case len(before) == len(pod.Status.ContainerStatuses) && before[i].State.Terminated != nil:
			*s = before[i]
		case hash(e.scenario.Seed, "lost "+string(pod.UID))>>32%2 == 0:
			s.State = lost
		default:
			s.LastTerminationState, s.RestartCount = lost, 1
		}
	}
}

// loseNode does what the pod garbage collector does with a pod whose node is gone: the states of the containers stay as the node reported
// them last. The command may still run there.
func (e *env) loseNode(pod *corev1.Pod) {
	e.note("the node of pod %s is lost", pod.Name)
	pod.Status.Phase, pod.Status.Conditions = corev1.PodFailed, nil
	if len(pod.Status.ContainerStatuses) == 0 {
		pod.Status.ContainerStatuses = statuses(pod.Spec.Containers, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	}
	e.runOf(pod).Started = true
	_, _ = e.store.Update(pod, true)
}

// terminate ends the containers of a pod that have not ended.
func (e *env) terminate(pod *corev1.Pod, code int32) {
	before := pod.Status.ContainerStatuses
	pod.Status.Conditions = nil
	pod.Status.ContainerStatuses = nil
	for i, c := range pod.Spec.Containers {
		if len(before) == len(pod.Spec.Containers) && before[i].State.Terminated != nil {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, before[i])
			continue
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, State: e.ended(pod, c.Name, code)})
	}
}

// collectGarbage does one thing that the garbage collector does. It returns false if there is nothing to do.
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
