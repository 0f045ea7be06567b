// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults/control"
	"github.com/redhat/podset-operator/test/sim"
)

// detectWithin is the number of scenarios within which each defect must be detected.
const detectWithin = 200

// with returns this operator with a defect.
func with(defect sim.Defect) sim.Operator {
	operator := sim.Ours
	operator.Defect = defect
	return operator
}

func onCreate(change func(*corev1.Pod)) sim.Operator {
	return with(sim.Defect{Create: func(object client.Object) {
		if pod, ok := object.(*corev1.Pod); ok {
			change(pod)
		}
	}})
}

func onStatus(change func(map[string]any)) sim.Operator { return with(sim.Defect{Status: change}) }

// deny sets a condition to False.
func deny(condition string) func(status map[string]any) {
	return func(status map[string]any) {
		conditions, _ := status["conditions"].([]any)
		for _, c := range conditions {
			if c := c.(map[string]any); c["type"] == condition {
				c["status"] = metav1.ConditionFalse
			}
		}
	}
}

// ends is this operator if it reports that an At has ended although the At is in another phase.
func ends(phase cnatv1alpha1.Phase, reason string, result cnatv1alpha1.Result) sim.Operator {
	return onStatus(func(status map[string]any) {
		if status["phase"] == string(phase) {
			status["phase"], status["reason"], status["result"] = cnatv1alpha1.PhaseDone, reason, result
			status["completionTime"] = metav1.Time{Time: time.Now()}
		}
	})
}

// suspendsEdited is this operator if it takes an At that was edited for one that is suspended.
func suspendsEdited() sim.Operator {
	return with(sim.Defect{Deliver: func(_ watch.EventType, object client.Object) bool {
		if at, ok := object.(*cnatv1alpha1.At); ok && at.Generation > 1 {
			at.Spec.Suspend = ptr.To(true)
		}
		return true
	}})
}

// repeatsLive is this operator if it takes the pod of an At that runs for one that has failed.
func repeatsLive() sim.Operator {
	return with(sim.Defect{Deliver: func(_ watch.EventType, object client.Object) bool {
		if pod, ok := object.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning {
			pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted"
		}
		return true
	}})
}

// acceptsOldLists is this operator with the default informers of client-go, whose first list accepts any age.
func acceptsOldLists() sim.Operator {
	operator := sim.Ours
	operator.Configure = func(o *ctrl.Options, namespaces []string) {
		sim.Ours.Configure(o, namespaces)
		o.Cache.NewInformer = nil
	}
	return operator
}

var naive = sim.Operator{Setup: control.Setup}

// defects are defective operators, and the invariants that they must violate.
var defects = map[string]struct {
	operator sim.Operator
	violates string
}{
	"naive operator":                 {naive, "P2 P3 P4 P7 A3 A8 L1"},
	"sets an owner with another UID": {onCreate(func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = "other" }), "P1"},
	"has a clock that is ahead":      {with(sim.Defect{Ahead: time.Hour}), "A2"},
	"runs a command without its last word": {onCreate(func(pod *corev1.Pod) {
		if c := pod.Spec.Containers[0].Command; len(c) > 1 {
			pod.Spec.Containers[0].Command = c[:len(c)-1]
		}
	}), "A8"},
	"creates a pod under another name after a lost response": {onCreate(func(pod *corev1.Pod) {
		if pod.OwnerReferences[0].Kind == "PodSet" {
			pod.Name, pod.GenerateName = "", pod.Name+"-"
		}
	}), "P2"},
	"overwrites a newer status": {with(sim.Defect{Overwrite: true}), "P3 P7 P11"},
	"resets the phase": {onStatus(func(status map[string]any) {
		if status["phase"] == string(cnatv1alpha1.PhaseDone) {
			status["phase"] = cnatv1alpha1.PhasePending
		}
	}), "A4"},
	"reports MissedDeadline for an At that ran": {onStatus(func(status map[string]any) {
		if status["phase"] == string(cnatv1alpha1.PhaseDone) {
			status["reason"] = cnatv1alpha1.ReasonMissedDeadline
		}
	}), "A11"},
	"reports DeadlineExceeded too early": {onStatus(func(status map[string]any) {
		if status["phase"] == string(cnatv1alpha1.PhaseDone) && status["startTime"] != nil {
			status["reason"] = cnatv1alpha1.ReasonDeadlineExceeded
		}
	}), "A11"},
	"reports MissedDeadline for an At that waits":     {ends(cnatv1alpha1.PhasePending, cnatv1alpha1.ReasonMissedDeadline, cnatv1alpha1.ResultFailed), "A11"},
	"reports PodNameConflict for an At that waits":    {ends(cnatv1alpha1.PhasePending, cnatv1alpha1.ReasonPodNameConflict, cnatv1alpha1.ResultFailed), "A11"},
	"reports Completed for an At that did not run":    {ends(cnatv1alpha1.PhasePending, cnatv1alpha1.ReasonCompleted, cnatv1alpha1.ResultSucceeded), "A11"},
	"reports Completed for a command that runs":       {ends(cnatv1alpha1.PhaseRunning, cnatv1alpha1.ReasonCompleted, cnatv1alpha1.ResultSucceeded), "A11"},
	"reports NonZeroExitCode for a command that runs": {ends(cnatv1alpha1.PhaseRunning, cnatv1alpha1.ReasonNonZeroExitCode, cnatv1alpha1.ResultFailed), "A11"},
	"reports PodFailed for a command that runs":       {ends(cnatv1alpha1.PhaseRunning, cnatv1alpha1.ReasonPodFailed, cnatv1alpha1.ResultFailed), "A11"},
	"reports PodLost for a command that runs":         {ends(cnatv1alpha1.PhaseRunning, cnatv1alpha1.ReasonPodLost, cnatv1alpha1.ResultFailed), "A11"},
	"runs a command again while it runs":              {repeatsLive(), "A1"},
	"suspends an At that was edited":                  {suspendsEdited(), "A3"},
	"counts pods of the old template as updated": {onStatus(func(status map[string]any) {
		if n, ok := status["replicas"]; ok {
			status["updatedReplicas"] = n
		}
	}), "P11"},
	"counts no pod as available": {onStatus(func(status map[string]any) {
		if _, ok := status["availableReplicas"]; ok {
			status["availableReplicas"] = 0
		}
	}), "P3"},
	"never says that a PodSet is available": {onStatus(deny(appv1alpha1.ConditionAvailable)), "P3"},
	"does not report rejected pods":         {onStatus(deny(appv1alpha1.ConditionDegraded)), "P9"},
	"takes a foreign pod for its own": {onStatus(func(status map[string]any) {
		if status["reason"] == cnatv1alpha1.ReasonPodNameConflict {
			status["reason"], status["result"] = cnatv1alpha1.ReasonCompleted, cnatv1alpha1.ResultSucceeded
		}
	}), "A9"},
	"does not sort podNames": {onStatus(func(status map[string]any) {
		if names, ok := status["podNames"].([]any); ok {
			slices.Reverse(names)
		}
	}), "P7"},
	"sends an event about a deletion that did not happen": {with(sim.Defect{Event: func(e *eventsv1.Event) { e.Reason = "SuccessfulDelete" }}), "P11"},
	"deletes without a precondition":                      {with(sim.Defect{Delete: func(o *metav1.DeleteOptions) { o.Preconditions = nil }}), "P4"},
	"misses changes": {with(sim.Defect{Deliver: func(kind watch.EventType, object client.Object) bool {
		return kind != watch.Modified || object.GetGeneration() == 1
	}}), "P3 A3 A5"},
	"misses deleted pods": {with(sim.Defect{Deliver: func(kind watch.EventType, object client.Object) bool {
		_, isPod := object.(*corev1.Pod)
		return !isPod || kind != watch.Deleted && object.GetDeletionTimestamp() == nil
	}}), "P3"},
	"accepts lists of any age": {acceptsOldLists(), "L1"},
}

// Each defect must be detected. A check that cannot fail proves nothing.
func TestDefects(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(defects)) {
		t.Run(name, func(t *testing.T) {
			d := defects[name]
			missing := strings.Fields(d.violates)
			var found []string
			for seed := uint64(1); seed <= detectWithin && len(missing) > 0; seed++ {
				result := sim.Run(t, d.operator, sim.NewScenario(seed), false)
				missing = slices.DeleteFunc(missing, func(invariant string) bool {
					if !result.Violates(invariant) {
						return false
					}
					found = append(found, fmt.Sprintf("%s in %d", invariant, seed))
					return true
				})
			}
			fmt.Printf("| %s | %s |\n", name, strings.Join(found, ", "))
			if len(missing) > 0 {
				t.Errorf("%d scenarios did not violate %v", detectWithin, missing)
			}
		})
	}
}
