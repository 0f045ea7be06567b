// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/json"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

// admitPatch returns a patch of a pod of an At as admission changes it, or the error with which admission rejects it.
func (e *env) admitPatch(c invariants.Call, patch []byte) ([]byte, error) {
	var operations []map[string]any
	pod, exists := e.store.objects[storeKey{pods, c.Name}].(*corev1.Pod)
	switch w := e.webhook; {
	case c.Opens && w.opens != nil:
		return nil, w.opens
	case c.Stops && w.stops != nil:
		return nil, w.stops
	case !exists || !w.touches && !w.undoes:
		return patch, nil
	}
	if err := json.Unmarshal(patch, &operations); err != nil {
		return nil, err
	}
	if c.Stops && e.webhook.undoes {
		operations = slices.DeleteFunc(operations, func(o map[string]any) bool { return o["path"] == "/spec/activeDeadlineSeconds" })
	}
	if e.webhook.touches {
		changed := pod.DeepCopy()
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, "example.com/touched", "true")
		operations = append(operations, map[string]any{"op": "add", "path": "/metadata/annotations", "value": changed.Annotations})
	}
	return json.Marshal(operations)
}

// admitDelete returns the error with which admission rejects the deletion of an object by the operator, or nil.
func (e *env) admitDelete(resource, name string) error {
	if pod, ok := e.store.objects[storeKey{resource, name}].(*corev1.Pod); ok && isOfAt(pod) {
		return e.webhook.deletes
	}
	return nil
}

// refuses lets policies come and go that reject or undo what the operator does with the pods of Ats, and lets a user cancel one that runs. It
// returns false if that does not happen.
func (e *env) refuses(random *rand.Rand) bool {
	if !e.scenario.has(Refusal) || random.IntN(6) != 0 {
		return false
	}
	w := &e.webhook
	w.opens, w.deletes = pick(random, append(policies, nil, nil)...), pick(random, append(policies, nil)...)
	w.budgets = pick(random, nil, nil, policies[1])
	w.stops, w.undoes = pick(random, policies...), random.IntN(3) == 0
	e.note("admission answers openings with %s, stops with %s, deletions with %s, and undoes stops: %t", textOf(w.opens), textOf(w.stops), textOf(w.deletes), w.undoes)
	for _, object := range e.store.List(ats) {
		at := object.(*cnatv1alpha1.At)
		if run := e.runs[at.Status.PodUID]; run != nil && run.Code == nil && at.Spec.Cancel == nil && random.IntN(2) == 0 {
			e.patch(ats, at.Name, `{"spec":{"cancel":true}}`, false)
		}
	}
	return true
}

// meddles lets a user remove all gates of a pod of an At, or only that of the operator, which starts the command, or change its image. It returns
// false if that does not happen.
func (e *env) meddles(random *rand.Rand) bool {
	if !e.scenario.has(Hand) || random.IntN(3) != 0 {
		return false
	}
	gated := slices.DeleteFunc(e.store.pods(), func(pod *corev1.Pod) bool {
		return !invariants.IsGated(pod) || pod.Annotations[invariants.Planted] != "" || pod.DeletionTimestamp != nil
	})
	if len(gated) == 0 {
		return false
	}
	pod := pick(random, gated...).DeepCopy()
	switch random.IntN(5) {
	case 0:
		e.note("a user changes the image of pod %s", pod.Name)
		invariants.CommandContainer(pod).Image = "other"
	case 1:
		e.note("a user removes all gates of pod %s", pod.Name)
		pod.Spec.SchedulingGates = nil
	default:
		e.note("a user removes the gate of the operator from pod %s", pod.Name)
		pod.Spec.SchedulingGates = slices.DeleteFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == invariants.Gate })
	}
	_, _ = e.store.Update(pod, false)
	return true
}

// missesRun lets the watch of pods miss how a pod of an At that was just opened is bound, runs, and is deleted by a user. The next list shows only
// that the pod is gone. It returns false if that does not happen.
func (e *env) missesRun(random *rand.Rand) bool {
	if !e.scenario.has(Gap) || random.IntN(3) != 0 {
		return false
	}
	watchesPods := slices.IndexFunc(e.watchers, func(w *watcher) bool { return w.resource == pods && len(w.events) == 0 })
	opened := slices.DeleteFunc(e.recordedPods(), func(pod *corev1.Pod) bool {
		return invariants.OwnerKind(pod) != "At" || len(pod.Spec.SchedulingGates) > 0 || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || e.fates[pod.UID] != nil
	})
	if watchesPods < 0 || len(opened) == 0 {
		return false
	}
	pod := pick(random, opened...)
	e.seedDelays()
	e.expire(e.watchers[watchesPods])
	e.sync(pod)
	if bound, ok := e.store.objects[storeKey{pods, pod.Name}].(*corev1.Pod); ok && bound.Spec.NodeName != "" {
		e.sync(bound)
	}
	e.note("user deletes pod %s by force, and the watch does not show it", pod.Name)
	_, _, _ = e.store.Delete(pods, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	return true
}

// releases removes the finalizer of the controller that queues pods from a pod that has finished, or that is deleted. It returns false if there is
// nothing to do.
func (e *env) releases(pod *corev1.Pod) bool {
	finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	removed := pod.DeletionTimestamp != nil && ptr.Deref(pod.DeletionGracePeriodSeconds, 0) == 0
	if !slices.Contains(pod.Finalizers, queueFinalizer) || !finished && !removed {
		return false
	}
	e.note("the queue releases pod %s", pod.Name)
	released := pod.DeepCopy()
	released.Finalizers = slices.DeleteFunc(released.Finalizers, func(f string) bool { return f == queueFinalizer })
	_, _ = e.store.Update(released, false)
	return true
}
