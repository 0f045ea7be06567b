// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/json"
	"slices"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	// Blind is true if the operator does not notice that a pod has another name than requested.
	Blind bool
	// Ahead is how far the clock of the operator is ahead.
	Ahead time.Duration
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
