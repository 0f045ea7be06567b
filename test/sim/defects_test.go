// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/kube/serverclock"
	"github.com/redhat/podset-operator/test/invariants"
	"github.com/redhat/podset-operator/test/sim"
	"github.com/redhat/podset-operator/test/sim/control"
)

var detectWithin = flag.Uint64("detect", often, "the number of scenarios within which each defect must be detected; fewer than 10000: only those that need few")

// often is the number of scenarios in which most defects are detected, and seldom that for the others.
const often, seldom = 200, 10_000

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

// onPod is this operator if it sees changed pods.
func onPod(change func(*corev1.Pod)) sim.Operator {
	return with(sim.Defect{Deliver: func(_ watch.EventType, object client.Object) bool {
		if pod, ok := object.(*corev1.Pod); ok {
			change(pod)
		}
		return true
	}})
}

// onAt is this operator if it sees changed Ats.
func onAt(change func(*cnatv1alpha1.At)) sim.Operator {
	return with(sim.Defect{Deliver: func(_ watch.EventType, object client.Object) bool {
		if at, ok := object.(*cnatv1alpha1.At); ok {
			change(at)
		}
		return true
	}})
}

// onSet is this operator if it sees changed PodSets.
func onSet(change func(*appv1alpha1.PodSet)) sim.Operator {
	return with(sim.Defect{Deliver: func(_ watch.EventType, object client.Object) bool {
		if set, ok := object.(*appv1alpha1.PodSet); ok {
			change(set)
		}
		return true
	}})
}

// neverRan changes a failed pod whose command has not ended so that its command seems to have waited for an init container that failed.
// This was once a rule of At.
func neverRan(pod *corev1.Pod) {
	states := pod.Status.ContainerStatuses
	if pod.Status.Phase != corev1.PodFailed || slices.ContainsFunc(states, func(s corev1.ContainerStatus) bool {
		return s.State.Terminated != nil && s.State.Terminated.Reason == "Error"
	}) {
		return
	}
	failed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", ContainerID: "containerd://1"}}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "failed", State: failed}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Annotations[cnatv1alpha1.AnnotationContainer], State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}
}

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

func replaceReason(from string, status metav1.ConditionStatus, to string) func(map[string]any) {
	return func(all map[string]any) {
		conditions, _ := all["conditions"].([]any)
		for _, c := range conditions {
			if c := c.(map[string]any); c["type"] == appv1alpha1.ConditionProgressing && c["reason"] == from {
				c["status"], c["reason"] = status, to
			}
		}
	}
}

// hasReason reports whether a condition of a status has a reason.
func hasReason(status map[string]any, reason string) bool {
	conditions, _ := status["conditions"].([]any)
	return slices.ContainsFunc(conditions, func(c any) bool { return c.(map[string]any)["reason"] == reason })
}

// endsAs is this operator if it reports the end of an At that is in another phase.
func endsAs(phase cnatv1alpha1.Phase, reason string, result cnatv1alpha1.Result) sim.Operator {
	return onStatus(func(status map[string]any) {
		if status["phase"] == string(phase) {
			status["phase"], status["reason"], status["result"] = cnatv1alpha1.PhaseDone, reason, result
			status["completionTime"] = metav1.Time{Time: time.Now()}
		}
	})
}

// suspendsEdited is this operator if it treats an edited At as suspended.
func suspendsEdited() sim.Operator {
	return with(sim.Defect{Deliver: func(_ watch.EventType, object client.Object) bool {
		if at, ok := object.(*cnatv1alpha1.At); ok && at.Generation > 1 {
			at.Spec.Suspend = ptr.To(true)
		}
		return true
	}})
}

// forgetsStatus is this operator if it does not see the status of Ats, and writes another text each time.
func forgetsStatus() sim.Operator {
	return with(sim.Defect{
		Deliver: func(_ watch.EventType, object client.Object) bool {
			if at, ok := object.(*cnatv1alpha1.At); ok {
				at.Status = cnatv1alpha1.AtStatus{}
			}
			return true
		},
		Status: func(status map[string]any) {
			if _, ok := status["phase"]; ok {
				status["output"] = time.Now().String()
			}
		},
	})
}

// prefersReady is this operator if it swaps pods that are Ready with pods that are not.
func prefersReady() sim.Operator {
	return with(sim.Defect{Deliver: func(_ watch.EventType, object client.Object) bool {
		pod, ok := object.(*corev1.Pod)
		switch {
		case !ok || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		case slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }):
			pod.Spec.NodeName, pod.Status = "", corev1.PodStatus{Phase: corev1.PodPending}
		default:
			pod.Spec.NodeName = "node"
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		}
		return true
	}})
}

// missesEdits is this operator if it sees each At with its first spec.
func missesEdits() sim.Operator {
	specs := map[types.UID]cnatv1alpha1.AtSpec{}
	return onAt(func(at *cnatv1alpha1.At) {
		if _, known := specs[at.UID]; !known || at.Generation == 1 {
			specs[at.UID] = *at.Spec.DeepCopy()
		}
		first := specs[at.UID]
		at.Spec = *first.DeepCopy()
	})
}

// repeatsLive is this operator if it treats the running pod of an At as failed.
func repeatsLive() sim.Operator {
	return with(sim.Defect{Deliver: func(_ watch.EventType, object client.Object) bool {
		if pod, ok := object.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning {
			pod.Status.Phase = corev1.PodFailed
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Annotations[cnatv1alpha1.AnnotationContainer], State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", ContainerID: "containerd://1"},
			}}}
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

// panics is this operator if it panics whenever it sends an event.
func panics() sim.Operator {
	return with(sim.Defect{Event: func(*eventsv1.Event) { panic("on purpose") }})
}

// ends is this operator with a component that returns an error, which ends the process.
func ends() sim.Operator {
	operator := sim.Ours
	operator.Setup = func(ctx context.Context, mgr ctrl.Manager, clock clock.WithTicker) error {
		ended := manager.RunnableFunc(func(context.Context) error { return errors.New("on purpose") })
		return errors.Join(mgr.Add(ended), sim.Ours.Setup(ctx, mgr, clock))
	}
	return operator
}

// isLate is this operator if it waits for two minutes before it creates a pod.
func isLate() sim.Operator {
	operator := sim.Ours
	operator.Setup = func(ctx context.Context, mgr ctrl.Manager, clock clock.WithTicker) error {
		return sim.Ours.Setup(ctx, lateManager{mgr}, clock)
	}
	return operator
}

type lateManager struct{ ctrl.Manager }

func (m lateManager) GetClient() client.Client { return lateClient{m.Manager.GetClient()} }

type lateClient struct{ client.Client }

func (c lateClient) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(2 * time.Minute):
		return c.Client.Create(ctx, object, options...)
	}
}

var naive = sim.Operator{Setup: control.Setup}

// defects are defective operators, and the invariants that they must violate.
var defects = map[string]struct {
	operator sim.Operator
	violates string
	// seldom are invariants that only few scenarios violate.
	seldom string
}{
	"naive operator":                             {naive, "P2 P3 P4 P7 P9 A3 A8 L1", ""},
	"panics":                                     {panics(), "P10", ""},
	"has a part that ends":                       {ends(), "P10", ""},
	"creates each pod two minutes late":          {isLate(), "P3", "A3"},
	"writes the status of an At again and again": {forgetsStatus(), "P3", "A7"},
	"does not see that an owner is being deleted": {with(sim.Defect{Deliver: func(_ watch.EventType, object client.Object) bool {
		object.SetDeletionTimestamp(nil)
		return true
	}}), "P5", ""},
	"prefers to delete Ready pods":   {prefersReady(), "P6", ""},
	"sets an owner with another UID": {onCreate(func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = "other" }), "P1", ""},
	"has a clock that is ahead":      {with(sim.Defect{Ahead: time.Hour}), "A2", ""},
	"runs a command without its last word": {onCreate(func(pod *corev1.Pod) {
		if c := pod.Spec.Containers[0].Command; len(c) > 1 {
			pod.Spec.Containers[0].Command = c[:len(c)-1]
		}
	}), "A8", ""},
	"creates a pod under another name after a lost response": {with(sim.Defect{Blind: true, Create: func(object client.Object) {
		if pod, ok := object.(*corev1.Pod); ok && pod.OwnerReferences[0].Kind == "PodSet" {
			pod.Name, pod.GenerateName = "", pod.Name+"-"
		}
	}}), "P2", "P8 P13"},
	"uses a pod that admission has renamed": {with(sim.Defect{Blind: true}), "P15", ""},
	"never says that there is no progress":  {onStatus(replaceReason(appv1alpha1.ReasonProgressDeadlineExceeded, metav1.ConditionTrue, appv1alpha1.ReasonAwaitingReady)), "", "P14"},
	"says too early that there is no progress": {
		onStatus(replaceReason(appv1alpha1.ReasonAwaitingReady, metav1.ConditionFalse, appv1alpha1.ReasonProgressDeadlineExceeded)), "P14", "",
	},
	"overwrites a newer status": {with(sim.Defect{Overwrite: true}), "", "P7 A18 A3 A4 P3 P11"},
	"resets the phase": {onStatus(func(status map[string]any) {
		if status["phase"] == string(cnatv1alpha1.PhaseDone) {
			status["phase"] = cnatv1alpha1.PhasePending
		}
	}), "A4", ""},
	"reports MissedDeadline for an At that ran": {onStatus(func(status map[string]any) {
		if status["phase"] == string(cnatv1alpha1.PhaseDone) {
			status["reason"] = cnatv1alpha1.ReasonMissedDeadline
		}
	}), "A11 A22", ""},
	"reports DeadlineExceeded too early": {onStatus(func(status map[string]any) {
		if status["phase"] == string(cnatv1alpha1.PhaseDone) && status["startTime"] != nil {
			status["reason"] = cnatv1alpha1.ReasonDeadlineExceeded
		}
	}), "A11", ""},
	"reports MissedDeadline for an At that waits":     {endsAs(cnatv1alpha1.PhasePending, cnatv1alpha1.ReasonMissedDeadline, cnatv1alpha1.ResultFailed), "A11", ""},
	"reports Completed for an At that did not run":    {endsAs(cnatv1alpha1.PhasePending, cnatv1alpha1.ReasonCompleted, cnatv1alpha1.ResultSucceeded), "A11", "A6"},
	"reports Completed for a command that runs":       {endsAs(cnatv1alpha1.PhaseRunning, cnatv1alpha1.ReasonCompleted, cnatv1alpha1.ResultSucceeded), "A11", ""},
	"reports NonZeroExitCode for a command that runs": {endsAs(cnatv1alpha1.PhaseRunning, cnatv1alpha1.ReasonNonZeroExitCode, cnatv1alpha1.ResultFailed), "A11", ""},
	"reports PodFailed for a command that runs":       {endsAs(cnatv1alpha1.PhaseRunning, cnatv1alpha1.ReasonPodFailed, cnatv1alpha1.ResultFailed), "A11", ""},
	"reports PodLost for a command that runs":         {endsAs(cnatv1alpha1.PhaseRunning, cnatv1alpha1.ReasonPodLost, cnatv1alpha1.ResultFailed), "A11", ""},
	"reports StartError for a command that runs":      {endsAs(cnatv1alpha1.PhaseRunning, cnatv1alpha1.ReasonStartError, cnatv1alpha1.ResultFailed), "A11", ""},
	"reports Evicted for a command that runs":         {endsAs(cnatv1alpha1.PhaseRunning, cnatv1alpha1.ReasonEvicted, cnatv1alpha1.ResultFailed), "A11", ""},
	"runs a command again while it runs":              {repeatsLive(), "A1 A17", ""},
	"suspends an At that was edited":                  {suspendsEdited(), "A3", ""},
	"counts pods of the old template as updated": {onStatus(func(status map[string]any) {
		if n, ok := status["replicas"]; ok {
			status["updatedReplicas"] = n
		}
	}), "P11", ""},
	"lets too many pods be unavailable": {onSet(func(set *appv1alpha1.PodSet) {
		set.Spec.UpdateStrategy.RollingUpdate = &appv1alpha1.RollingUpdateStrategy{MaxUnavailable: ptr.To(intstr.FromInt32(10))}
	}), "", "P16"},
	"ignores minReadySeconds": {onSet(func(set *appv1alpha1.PodSet) { set.Spec.MinReadySeconds = 0 }), "", "P16"},
	"counts no pod as available": {onStatus(func(status map[string]any) {
		if _, ok := status["availableReplicas"]; ok {
			status["availableReplicas"] = 0
		}
	}), "P3", ""},
	"never says that a PodSet is available": {onStatus(deny(appv1alpha1.ConditionAvailable)), "P3", ""},
	"does not report rejected pods":         {onStatus(deny(appv1alpha1.ConditionDegraded)), "P9", ""},
	"takes a foreign pod for its own": {onStatus(func(status map[string]any) {
		if hasReason(status, cnatv1alpha1.ReasonPodNameConflict) {
			status["phase"], status["reason"], status["result"] = cnatv1alpha1.PhaseDone, cnatv1alpha1.ReasonCompleted, cnatv1alpha1.ResultSucceeded
			status["completionTime"] = "2000-01-01T00:00:00Z"
		}
	}), "", "A9"},
	"does not sort podNames": {onStatus(func(status map[string]any) {
		if names, ok := status["podNames"].([]any); ok {
			slices.Reverse(names)
		}
	}), "P7", ""},
	"sends an event about a deletion that did not happen": {with(sim.Defect{Event: func(e *eventsv1.Event) { e.Reason = "SuccessfulDelete" }}), "P11", ""},
	"deletes without a precondition":                      {with(sim.Defect{Delete: func(o *metav1.DeleteOptions) { o.Preconditions = nil }}), "P4", ""},
	"misses changes": {with(sim.Defect{Deliver: func(kind watch.EventType, object client.Object) bool {
		return kind != watch.Modified || object.GetGeneration() == 1
	}}), "P3 A3", ""},
	"misses the edits of Ats": {missesEdits(), "A5 A18", ""},
	"misses deleted pods": {with(sim.Defect{Deliver: func(kind watch.EventType, object client.Object) bool {
		_, isPod := object.(*corev1.Pod)
		return !isPod || kind != watch.Deleted && object.GetDeletionTimestamp() == nil
	}}), "P3", ""},
	"waits for containers that admission added": {with(sim.Defect{Deliver: func(_ watch.EventType, object client.Object) bool {
		if pod, ok := object.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning {
			pod.Status.ContainerStatuses = nil
		}
		return true
	}}), "", "A3"},
	"ignores the starting deadline": {with(sim.Defect{Deliver: func(_ watch.EventType, object client.Object) bool {
		if at, ok := object.(*cnatv1alpha1.At); ok {
			at.Spec.StartingDeadlineSeconds = nil
		}
		return true
	}}), "A2", ""},
	"takes the exit code of the pod for that of its command": {onStatus(func(status map[string]any) {
		if status["reason"] == cnatv1alpha1.ReasonCompleted {
			status["reason"], status["result"] = cnatv1alpha1.ReasonPodFailed, cnatv1alpha1.ResultFailed
		}
	}), "A12", ""},
	"takes a failed pod without an end for one that did not run": {onPod(neverRan), "A17", ""},
	"takes every exit code for a proof": {onPod(func(pod *corev1.Pod) {
		for i := range pod.Status.ContainerStatuses {
			if t := pod.Status.ContainerStatuses[i].State.Terminated; t != nil && t.Reason != "Completed" {
				t.Reason, t.ContainerID, t.ExitCode = "Error", "containerd://1", (t.ExitCode+256)%256
			}
		}
	}), "A17", "A11"},
	"takes the last state of a container for its end": {onPod(func(pod *corev1.Pod) {
		for i := range pod.Status.ContainerStatuses {
			if s := &pod.Status.ContainerStatuses[i]; s.State.Waiting != nil && s.LastTerminationState.Terminated != nil {
				s.State = s.LastTerminationState
				s.State.Terminated.Reason, s.State.Terminated.ContainerID = "Error", "containerd://1"
			}
		}
	}), "", "A11"},
	"takes a sidecar for an init container": {onPod(func(pod *corev1.Pod) {
		for i := range pod.Spec.InitContainers {
			pod.Spec.InitContainers[i].RestartPolicy = nil
		}
	}), "", "A17"},
	"retries whatever the exit code is": {onAt(func(at *cnatv1alpha1.At) { at.Spec.RetryExitCodes = nil }), "", "A17"},
	"forgets an exit code that it has recorded": {onAt(func(at *cnatv1alpha1.At) {
		if at.Status.RetryTime == nil && at.Status.CompletionTime == nil {
			at.Status.ExitCode = nil
		}
	}), "", "A12"},
	"does not record the exit code that it sees": {onStatus(func(status map[string]any) {
		if status["phase"] == string(cnatv1alpha1.PhaseRunning) && status["retryTime"] == nil {
			delete(status, "exitCode")
		}
	}), "", "A11"},
	"does not record the start of an attempt": {onStatus(func(status map[string]any) {
		for _, field := range []string{"attempts", "podName", "podUID"} {
			delete(status, field)
		}
	}), "A18", ""},
	"does not see that an At is suspended": {onAt(func(at *cnatv1alpha1.At) { at.Spec.Suspend = nil }), "A18", ""},
	"starts whatever a dry run says":       {with(sim.Defect{Accepts: true}), "A19", ""},
	"says of each At that waits that its pod would be rejected": {onStatus(func(status map[string]any) {
		conditions, _ := status["conditions"].([]any)
		for _, c := range conditions {
			if c := c.(map[string]any); c["type"] == cnatv1alpha1.ConditionReady && c["reason"] == cnatv1alpha1.ReasonWaiting {
				c["status"], c["reason"] = metav1.ConditionFalse, cnatv1alpha1.ReasonWouldBeRejected
			}
		}
	}), "A19", ""},
	"retries without a back-off": {onStatus(func(status map[string]any) {
		if status["retryTime"] != nil {
			status["retryTime"] = metav1.Time{Time: time.Now().Add(-time.Minute)}
		}
	}), "", "A20"},
	"reports a stopped At before its pod has ended": {onStatus(func(status map[string]any) {
		if fmt.Sprint(status["conditions"]) != "" && status["phase"] == string(cnatv1alpha1.PhaseRunning) && strings.Contains(fmt.Sprint(status["conditions"]), "stopping pod") {
			status["phase"], status["result"], status["reason"] = cnatv1alpha1.PhaseDone, cnatv1alpha1.ResultFailed, cnatv1alpha1.ReasonCanceled
			status["completionTime"] = metav1.Time{Time: time.Now()}
		}
	}), "", "A11"},
	"does not say who disrupted a pod": {silent("disrupted"), "", "A13"},
	"does not say why a pod hangs":     {silent("cannot"), "", "A15"},
	"is silent about crash loops":      {onStatus(deny(appv1alpha1.ConditionDegraded)), "", "P12"},
	"takes a container that was restarted for a healthy one": {with(sim.Defect{Deliver: func(_ watch.EventType, object client.Object) bool {
		if pod, ok := object.(*corev1.Pod); ok {
			for i := range pod.Status.ContainerStatuses {
				pod.Status.ContainerStatuses[i].LastTerminationState = corev1.ContainerState{}
			}
		}
		return true
	}}), "", "P12"},
	"drops the conditions of others": {onStatus(func(status map[string]any) {
		conditions, _ := status["conditions"].([]any)
		status["conditions"] = slices.DeleteFunc(conditions, func(c any) bool { return c.(map[string]any)["type"] == invariants.ForeignCondition })
	}), "X2", ""},
	"relies on its own clock": {ownClock(), "A2", "A14"},
	"believes a single date":  {believesDates(), "", "A2"},
	"does not see that an At is canceled": {with(sim.Defect{Deliver: func(_ watch.EventType, object client.Object) bool {
		if at, ok := object.(*cnatv1alpha1.At); ok {
			at.Spec.Cancel = nil
		}
		return true
	}}), "", "A16"},
	"accepts lists of any age":                   {acceptsOldLists(), "L1", "P5"},
	"opens a pod by its name":                    {without("/metadata/uid"), "P4", ""},
	"opens a pod while the pod is being deleted": {without("/metadata/deletionTimestamp"), "", "A13"},
	"changes more of a pod than its gate": {with(sim.Defect{Patch: func(operations []map[string]any) []map[string]any {
		return append(operations, map[string]any{"op": "replace", "path": "/spec/containers/0/image", "value": "other"})
	}}), "P4", ""},
	"ends an At before its gated pod is deleted":            {with(sim.Defect{Keeps: true}), "A3", ""},
	"takes a user's pod for its own":                        {with(sim.Defect{Adopts: true}), "", "A21"},
	"opens a pod before it records its UID":                 {with(sim.Defect{OpensFirst: true}), "A21", ""},
	"uses an answer to a dry run for a day":                 {with(sim.Defect{Remembers: true}), "", "A19"},
	"does not wait for the pods of an earlier At":           {with(sim.Defect{Forgets: true}), "", "A23"},
	"takes the end of any deleted pod for that of the run":  {confuses(), "", "A17"},
	"does not see that a user has taken a pod":              {keepsOwners(), "", "P4"},
	"deletes a pod that it has to stop":                     {with(sim.Defect{DeletesStopped: true}), "A24", ""},
	"repeats a rejected change of a pod as after a failure": {with(sim.Defect{Insists: true}), "", "P9"},
	"deletes an At whose time to live was raised": {with(sim.Defect{Delete: func(o *metav1.DeleteOptions) {
		if o.PropagationPolicy != nil { // That of a pod has none.
			o.Preconditions.ResourceVersion = nil
		}
	}}), "", "A24"},
}

// without is this operator if its patches of pods do not test a field.
func without(path string) sim.Operator {
	return with(sim.Defect{Patch: func(operations []map[string]any) []map[string]any {
		return slices.DeleteFunc(operations, func(o map[string]any) bool { return o["path"] == path })
	}})
}

// confuses is this operator if it takes the last state of any deleted pod of an At for that of the run.
func confuses() sim.Operator {
	recorded := map[types.UID]types.UID{}
	return with(sim.Defect{Deliver: func(kind watch.EventType, object client.Object) bool {
		switch o := object.(type) {
		case *cnatv1alpha1.At:
			recorded[o.UID] = o.Status.PodUID
		case *corev1.Pod:
			if uid := recorded[invariants.ControllerOf(o)]; kind == watch.Deleted && uid != "" {
				o.UID = uid
			}
		}
		return true
	}})
}

// keepsOwners is this operator if it sees each pod with the owner that the pod had first.
func keepsOwners() sim.Operator {
	owners := map[types.UID][]metav1.OwnerReference{}
	return with(sim.Defect{Deliver: func(kind watch.EventType, object client.Object) bool {
		if pod, ok := object.(*corev1.Pod); ok {
			if first, known := owners[pod.UID]; known && kind != watch.Added { // UIDs are the same in each scenario.
				pod.OwnerReferences = first
			}
			owners[pod.UID] = pod.OwnerReferences
		}
		return true
	}})
}

// silent is this operator if it replaces the messages of conditions that contain a word.
func silent(word string) sim.Operator {
	return onStatus(func(status map[string]any) {
		conditions, _ := status["conditions"].([]any)
		for _, c := range conditions {
			if c := c.(map[string]any); strings.Contains(fmt.Sprint(c["message"]), word) {
				c["message"] = "something happened"
			}
		}
	})
}

// ownClock is this operator if it uses its own clock as that of the API server.
func ownClock() sim.Operator {
	operator := sim.Ours
	operator.Clock = nil
	return operator
}

// believesDates is this operator if each response replaces what it knows about the clock of the API server.
func believesDates() sim.Operator {
	operator := sim.Ours
	operator.Clock = func(own clock.WithTicker) (clock.WithTicker, func(date, sent, received time.Time)) {
		var c atomic.Pointer[serverclock.Clock]
		c.Store(serverclock.New(own))
		return latestClock{own, &c}, func(date, sent, received time.Time) {
			latest := serverclock.New(own)
			latest.Observe(date, sent, received)
			c.Store(latest)
		}
	}
	return operator
}

// latestClock is the clock that was stored last.
type latestClock struct {
	clock.WithTicker

	latest *atomic.Pointer[serverclock.Clock]
}

func (c latestClock) Now() time.Time                  { return c.latest.Load().Now() }
func (c latestClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Each defect must be detected. A check that cannot fail proves nothing.
func TestDefects(t *testing.T) {
	required := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(defects)) {
		d := defects[name]
		missing := strings.Fields(d.violates)
		if *detectWithin >= seldom {
			missing = append(missing, strings.Fields(d.seldom)...)
		}
		for _, invariant := range strings.Fields(d.violates + " " + d.seldom) {
			required[invariant] = true
		}
		t.Run(name, func(t *testing.T) {
			var found []string
			for seed := uint64(1); seed <= *detectWithin && len(missing) > 0; seed++ {
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
				t.Errorf("%d scenarios did not violate %v", *detectWithin, missing)
			}
		})
	}
	for _, invariant := range strings.Fields("P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15 P16 A1 A2 A3 A4 A5 A6 A7 A8 A9 A11 A12 A13 A14 A15 A16 A17 A18 A19 A20 A21 A22 A23 A24 A25 A26 X2 L1") {
		if !required[invariant] {
			t.Errorf("no defect must violate %s", invariant)
		}
	}
}
