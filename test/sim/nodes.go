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
	case pod.Status.Phase == corev1.PodRunning && n == 0 && pod.DeletionTimestamp == nil:
		switch random.IntN(3) {
		case 0:
			e.failPod(pod, "Evicted", -1)
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
	case n == 5:
		e.succeed(pod) // The container status is lost.
	case n == 6 && len(pod.Spec.Containers) > 1:
		e.terminate(pod, 0)
		pod.Status.ContainerStatuses[1].State.Terminated.ExitCode = 1
		e.failPod(pod, "", -1)
	default:
		e.failPod(pod, "", 3)
	}
}

// sync does the next regular thing with a pod. It returns false if there is nothing to do.
func (e *env) sync(pod *corev1.Pod) bool {
	finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	limit := pod.Spec.ActiveDeadlineSeconds
	code, ends := int32(0), pod.Spec.RestartPolicy != corev1.RestartPolicyAlways
	if e.scenario.Alone {
		code, ends = e.endOfPod(pod)
	}
	if pod.DeletionTimestamp == nil && (finished || isReady(pod) && !ends) {
		return false
	}
	pod = pod.DeepCopy()
	switch {
	case pod.DeletionTimestamp != nil:
		e.note("kubelet removes pod %s", pod.Name)
		_, _, _ = e.store.Delete(pods, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	case pod.Spec.NodeName == "":
		e.note("the scheduler binds pod %s", pod.Name)
		_ = e.store.Bind(pod.Name, "node")
	case limit != nil && pod.Status.StartTime != nil && e.now().Sub(pod.Status.StartTime.Time) > time.Duration(*limit)*time.Second:
		e.failPod(pod, "DeadlineExceeded", 143)
	case pod.Status.Phase == corev1.PodPending || !isReady(pod):
		if pod.Status.StartTime == nil {
			pod.Status.StartTime = ptr.To(metav1.NewTime(e.now()))
		}
		pod.Status.Phase = corev1.PodRunning
		e.setReady(pod, corev1.ConditionTrue)
	case code != 0:
		e.failPod(pod, "", code)
	default:
		e.terminate(pod, 0)
		e.succeed(pod)
	}
	return true
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func (e *env) setReady(pod *corev1.Pod, ready corev1.ConditionStatus) {
	e.note("kubelet: pod %s is ready: %s", pod.Name, ready)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	_, _ = e.store.Update(pod, true)
}

// succeed ends a pod as Succeeded.
func (e *env) succeed(pod *corev1.Pod) {
	e.note("the command of pod %s ends", pod.Name)
	pod.Status.Phase = corev1.PodSucceeded
	_, _ = e.store.Update(pod, true)
}

// failInit ends a pod whose init container has failed.
func (e *env) failInit(pod *corev1.Pod) {
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.Spec.InitContainers[0].Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}},
	}}
	e.failPod(pod, "", -1)
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

// loseNode does what the pod garbage collector does with a pod whose node is gone. The command may still run there.
func (e *env) loseNode(pod *corev1.Pod) {
	e.note("the node of pod %s is lost", pod.Name)
	pod.Status.Phase, pod.Status.Conditions = corev1.PodFailed, nil
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	_, _ = e.store.Update(pod, true)
}

func (e *env) terminate(pod *corev1.Pod, code int32) {
	pod.Status.Conditions, pod.Status.ContainerStatuses = nil, nil
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(e.now())},
		}})
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
