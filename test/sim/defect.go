// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

// Defect is a defect of the operator that the simulation seeds, to show that the invariants detect it. Nil functions change nothing.
type Defect struct {
	// Create changes an object that the operator creates.
	Create func(client.Object)
	// Status changes a status that the operator writes.
	Status func(map[string]any)
	// Delete changes the options of a delete.
	Delete func(*metav1.DeleteOptions)
	// Event changes an event that the operator sends.
	Event func(*eventsv1.Event)
	// Overwrite is true if a status is written whatever was written since the operator read it.
	Overwrite bool
	// Deliver reports whether an event of a watch reaches the operator. It may change the object, which is a copy.
	Deliver func(watch.EventType, client.Object) bool
	// Accepts is true if the operator treats each answer to a dry run as one that accepts the pod unchanged.
	Accepts bool
	// Patch changes the operations of a patch of a pod.
	Patch func([]map[string]any) []map[string]any
	// Adopts is true if the operator takes a gated pod that has the name and the owner of its own for the one that it creates. AdoptsUnanswered
	// is true if it does so after a create that was not answered.
	Adopts, AdoptsUnanswered bool
	// Hides reports whether the operator does not see a pod of an At. recorded is true if the status names it.
	Hides func(pod *corev1.Pod, recorded bool) bool
	// Replaces is true if the operator deletes a pod that it does not see when it creates one with the same name.
	Replaces bool
	// Budget changes a budget that the operator creates.
	Budget func(*policyv1.PodDisruptionBudget)
	// KeepsBound is true if the operator does not delete a pod that a node has.
	KeepsBound bool
	// OpensFirst is true if the operator opens a pod before it records its UID.
	OpensFirst bool
	// Keeps is true if the operator does not delete gated pods, and treats them as deleted.
	Keeps bool
	// DeletesStopped is true if the operator deletes a pod instead of setting its deadline.
	DeletesStopped bool
	// Insists is true if the operator takes the rejection of a change of a pod for a failure of the API server.
	Insists bool
	// Remembers is true if the operator uses an answer to a dry run for a day.
	Remembers bool
	// Forgets is true if the operator does not see the pods of Ats that are gone.
	Forgets bool
	// Blind is true if the operator does not notice that a pod has another name than requested.
	Blind bool
	// Ahead is how far the clock of the operator is ahead.
	Ahead time.Duration
}

// adopts reports whether a defective operator takes a gated pod of the same name and owner for the one that it creates.
func (e *env) adopts(object client.Object) bool {
	existing, ok := e.store.objects[storeKey{pods, object.GetName()}].(*corev1.Pod)
	pod, isPod := object.(*corev1.Pod)
	if !ok || !isPod || !invariants.IsGated(existing) || invariants.ControllerOf(existing) != invariants.ControllerOf(pod) {
		return false
	}
	pod.UID, pod.ResourceVersion = existing.UID, existing.ResourceVersion
	return true
}

// keeps reports whether the operator does not delete an object.
func (e *env) keeps(object client.Object) bool {
	pod, ok := e.store.objects[storeKey{ResourceOf(object), object.GetName()}].(*corev1.Pod)
	defect := e.operator.Defect
	return ok && (defect.Keeps && invariants.IsGated(pod) || defect.KeepsBound && pod.Spec.NodeName != "" && isOfAt(pod))
}

// hides reports whether a defective operator does not see a pod of an At.
func (e *env) hides(pod *corev1.Pod) bool {
	hides, owner := e.operator.Defect.Hides, metav1.GetControllerOfNoCopy(pod)
	if hides == nil || owner == nil || owner.Kind != "At" {
		return false
	}
	at, ok := e.store.objects[storeKey{ats, owner.Name}].(*cnatv1alpha1.At)
	return hides(pod, ok && at.Status.PodUID == pod.UID)
}

// replaces deletes a pod that a defective operator does not see and whose name it needs.
func (e *env) replaces(object client.Object) {
	if pod, ok := e.store.objects[storeKey{ResourceOf(object), object.GetName()}].(*corev1.Pod); ok && e.operator.Defect.Replaces && e.hides(pod) {
		_, _, _ = e.store.Delete(pods, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	}
}

// remembered is the answer to a dry run, and when it was received.
type remembered struct {
	err error
	at  time.Time
}

// recall returns the answer to a dry run that the operator remembers.
func (e *env) recall(about string) (answer remembered, ok bool) {
	answer, ok = e.answers[about]
	return answer, ok && e.operator.Defect.Remembers && e.now().Sub(answer.at) < 24*time.Hour
}

// withoutOlder removes the pods of Ats that are gone, if the operator does not see them, and others that it does not see.
func (e *env) withoutOlder(list []corev1.Pod) []corev1.Pod {
	list = slices.DeleteFunc(list, func(pod corev1.Pod) bool { return e.hides(&pod) })
	if !e.operator.Defect.Forgets {
		return list
	}
	return slices.DeleteFunc(list, func(pod corev1.Pod) bool {
		owner := metav1.GetControllerOf(&pod)
		if owner == nil || owner.Kind != "At" {
			return false
		}
		at, exists := e.store.objects[storeKey{ats, owner.Name}]
		return !exists || at.GetUID() != owner.UID
	})
}

// opensFirst opens the pod that a patch of a status records.
func (s statusWriter) opensFirst(ctx context.Context, patch []byte) {
	if !s.process.env.operator.Defect.OpensFirst {
		return
	}
	for _, pod := range s.process.env.store.pods() {
		i := slices.Index(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: invariants.Gate})
		if i < 0 || !strings.Contains(string(patch), string(pod.UID)) {
			continue
		}
		data := fmt.Sprintf(`[{"op":"test","path":"/metadata/uid","value":%q},{"op":"remove","path":"/spec/schedulingGates/%d"}]`, pod.UID, i)
		_ = s.process.patchPod(ctx, pod.DeepCopy(), []byte(data), types.JSONPatchType)
	}
}

func (d Defect) event(e *eventsv1.Event) {
	if d.Event != nil {
		d.Event(e)
	}
}

func (d Defect) delivers(kind watch.EventType, object client.Object) bool {
	return d.Deliver == nil || d.Deliver(kind, object)
}

func (e *env) mutate(object client.Object) {
	if e.operator.Defect.Create != nil {
		e.operator.Defect.Create(object)
	}
}

// mutatePodPatch changes the operations of a patch of a pod.
func (e *env) mutatePodPatch(patch []byte) []byte {
	var operations []map[string]any
	if e.operator.Defect.Patch == nil || json.Unmarshal(patch, &operations) != nil {
		return patch
	}
	changed, err := json.Marshal(e.operator.Defect.Patch(operations))
	if err != nil {
		return patch
	}
	return changed
}

// mutatePatch changes the status in a JSON patch.
func (e *env) mutatePatch(patch []byte) []byte {
	if e.operator.Defect.Status == nil && !e.operator.Defect.Overwrite {
		return patch
	}
	var operations []map[string]any
	if json.Unmarshal(patch, &operations) != nil {
		return patch
	}
	if e.operator.Defect.Overwrite {
		operations = slices.DeleteFunc(operations, func(operation map[string]any) bool { return operation["path"] == "/metadata/resourceVersion" })
	}
	for _, operation := range operations {
		if status, ok := operation["value"].(map[string]any); ok && e.operator.Defect.Status != nil {
			e.operator.Defect.Status(status)
		}
	}
	changed, err := json.Marshal(operations)
	if err != nil {
		return patch
	}
	return changed
}
