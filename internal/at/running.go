// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/atspec"
	"github.com/redhat/podset-operator/internal/pods"
)

// whileDeleted does nothing for an At that is being deleted, unless the end of a pod must be recorded.
func whileDeleted(o *Observation) (Plan, bool) {
	s := &o.At.Status
	return Plan{unchanged: true}, o.isDeleted() && (atrun.IsDone(s) || o.run().uid == "" || s.RetryTime != nil)
}

// afterEnd deletes a pod that must not continue, and an At whose TTL is over. A cache that lags may show a pod that has ended as running,
// and a deletion removes its logs. So if the status has the exit code, the cache must show the end of a container.
func afterEnd(o *Observation) (Plan, bool) {
	if !atrun.IsDone(&o.At.Status) {
		return Plan{}, false
	}
	p := Plan{phase: cnatv1alpha1.PhaseDone}
	if changed := o.Known.Pod; o.Known.Changed != "" && !atrun.IsOwn(o.At, changed) && !o.isTerminating(changed) {
		p.Delete = changed // Admission took it from the At, so the cache never shows it.
	}
	for _, pod := range o.Pods {
		if p.Delete == nil && (o.At.Status.ExitCode == nil || slices.ContainsFunc(pod.Status.ContainerStatuses, isTerminated)) {
			p.Delete = o.deletable(pod)
		}
	}
	if ttl := o.At.Spec.TTLSecondsAfterFinished; ttl != nil {
		p.requeueAt = o.At.Status.CompletionTime.Add(atspec.Seconds(int64(*ttl)))
		if !o.Now.Before(p.requeueAt) {
			p.DeleteAt, p.requeueAt = true, time.Time{}
		}
	}
	return p, true
}

func isTerminated(s corev1.ContainerStatus) bool { return s.State.Terminated != nil }

// changedPod ends the At if admission has changed the identity of a pod. Row 2 deletes the pod after that is recorded: if the pod were
// deleted first, a crash would leave no trace of the run.
func changedPod(o *Observation) (Plan, bool) {
	if !atrun.HasStarted(&o.At.Status) {
		return Plan{}, false
	}
	changed, command := o.Known.Changed, atspec.ContainerName(&o.At.Spec)
	for _, own := range o.Pods {
		switch {
		case changed != "":
		case !atrun.IsPodName(o.At, own.Name):
			changed = fmt.Sprintf("the name of a pod of the At to %s", own.Name)
		case !pods.IsFinished(own) && atrun.MayRestart(&own.Spec):
			changed = fmt.Sprintf("pod %s so that its containers can be restarted", own.Name)
		case !pods.IsFinished(own) && len(own.Spec.Containers) > 0 && atrun.Lacks(own, command):
			changed = atrun.WithoutCommand(own.Name, command)
		}
	}
	return o.finish(modifiedEnd(changed, "the pod is deleted, because the command could run more than once")), changed != ""
}

// modifiedEnd returns the end of an At whose pod was changed by admission. then is what happened to the pod.
func modifiedEnd(changed, then string) atrun.End {
	return atrun.End{Reason: cnatv1alpha1.ReasonPodModified, Message: modifiedMessage("admission changed "+changed, then)}
}

// modifiedMessage describes what admission changed, what follows, and what to do.
func modifiedMessage(changed, then string) string {
	return fmt.Sprintf("%s; %s. Exclude pods with the label %s: %s from the webhook or policy that changes them, then create the At again",
		changed, then, pods.LabelManagedBy, pods.ManagedBy)
}

// missingPod creates the pod of an attempt whose start is recorded and whose pod is not known. An earlier request may have created it: the
// API server accepts the name once.
func missingPod(o *Observation) (Plan, bool) {
	r := o.run()
	if r.attempt < 0 || r.uid != "" {
		return Plan{}, false
	}
	name := atrun.PodName(o.At, r.attempt)
	tooLate := o.deadlineOver() || r.attempt == 0 && o.hasMissed()
	due, _ := o.dueTime()
	p, blocked := o.whileRejected(r.attempt, waiting(due))
	if blocked && !tooLate && !o.isCanceled() { // 9
		return p, true
	}
	if p, asks := o.lookUp(name); asks && !o.Known.Begun {
		return p, true
	}
	switch {
	case o.isCanceled(): // 10
		return o.finish(canceledEnd(atrun.End{})), true
	case tooLate: // 10
		return o.finish(lostEnd(fmt.Sprintf("the start of pod %s was recorded, but the pod did not exist at the deadline", name))), true
	}
	p.Create = newPod(o, r.attempt) // 11
	return p, true
}

// lastStateGrace is how long the watch may take to deliver the last state of a pod that the cache does not show anymore.
const lastStateGrace = 5 * time.Second

// lostPod ends an At whose pod is gone, after the API server has confirmed that. What is proven about the end of the pod decides.
func lostPod(o *Observation) (Plan, bool) {
	r := o.run()
	if r.uid == "" || r.pod != nil {
		return Plan{}, false
	}
	name := atrun.PodName(o.At, r.attempt)
	if p, asks := o.lookUp(name); asks {
		return p, true
	}
	last := o.Known.LastState
	if last != nil {
		if e, proven := atrun.EndOfDeleted(o.At, last); proven {
			return o.ended(e), true // 16 to 20
		}
	}
	released := o.LookedUp[name] != nil && o.LookedUp[name].UID == r.uid
	if e, recorded := atrun.RecordedEnd(&o.At.Status); recorded {
		return o.ended(e), true // 16 to 20
	}
	switch until := o.Known.MissingSince.Add(lastStateGrace); {
	case released:
		return o.finish(lostEnd(fmt.Sprintf("the owner reference of pod %s was removed: the operator no longer manages the pod", name))), true
	case last == nil && o.Known.Pod != nil && o.Now.Before(until): // 12
		return Plan{unchanged: true, requeueAt: until}, true
	case o.isCanceled(): // 13
		return o.finish(canceledEnd(atrun.End{})), true
	case o.deadlineOver():
		return o.finish(o.deadlineEnd(atrun.End{Message: "its pod is gone, and it is unknown how the command ended"})), true
	}
	message := fmt.Sprintf("pod %s disappeared before its end was recorded", name)
	if last != nil {
		message = atrun.JoinNonEmpty(": ", message, atrun.Disruption(last))
	}
	return o.finish(lostEnd(message)), true
}

// lostEnd returns the end of an At whose pod is gone.
func lostEnd(what string) atrun.End {
	return atrun.End{Reason: cnatv1alpha1.ReasonPodLost, Message: what + "; the command may have run, so it is not run again. To run it, create another At"}
}

const (
	// stopGrace is how long the operator waits after the grace period of a pod before it deletes the pod at its deadline. The
	// kubelet should stop the pod first, because a deletion also removes the logs.
	stopGrace = 10 * time.Second
	// lingerGrace is how long other containers may run after the command has ended: the default grace period of Kubernetes.
	lingerGrace = 30 * time.Second
	// endGrace is how long the kubelet may take to end a pod whose last container has ended.
	endGrace = 5 * time.Second
)

// stopAt returns when the operator stops a pod at the deadline of the run, or zero if the run has none. The kubelet enforces the
// activeDeadlineSeconds of a pod on its node, and keeps the pod for its logs.
func (o *Observation) stopAt(pod *corev1.Pod) time.Time {
	deadline := o.deadline()
	if deadline.IsZero() || pod.Spec.NodeName == "" {
		return deadline
	}
	return deadline.Add(gracePeriod(o.At)).Add(stopGrace)
}

// isOver reports whether a pod has ended. A pod ends in the phase Succeeded or Failed, after all its containers have ended. A terminating
// pod ends with the command, because the pod can be gone before its phase changes. Otherwise the pod also ends with the command, after
// containers that admission added have had some time to end.
func (o *Observation) isOver(pod *corev1.Pod) bool {
	command := atrun.CommandState(o.At, pod).Terminated
	lingers := !o.isTerminating(pod) && !o.isCanceled() && command != nil && o.Now.Before(lingersUntil(pod, command, o.Now))
	return pods.IsFinished(pod) || command != nil && !lingers
}

// lingersUntil returns until when the other containers of a pod may run after its command has ended. If the clock of the node is ahead,
// they may run no longer than the pod has existed.
func lingersUntil(pod *corev1.Pod, command *corev1.ContainerStateTerminated, now time.Time) time.Time {
	from := command.FinishedAt.Time
	if from.After(now) {
		from = pod.CreationTimestamp.Time
	}
	return from.Add(lingerGrace)
}

// stoppedRun deletes the pod of an At that is canceled or exceeded its deadline. Another row records the end of the pod.
func stoppedRun(o *Observation) (Plan, bool) {
	pod := o.run().pod
	if pod == nil || o.isDeleted() || o.isOver(pod) {
		return Plan{}, false
	}
	because := "spec.cancel is true"
	if !o.isCanceled() {
		if at := o.stopAt(pod); at.IsZero() || o.Now.Before(at) {
			return Plan{}, false
		}
		because = "activeDeadlineSeconds exceeded"
	}
	p := o.wait(started(fmt.Sprintf("%s: stopping pod %s", because, pod.Name)), time.Time{})
	p.exitCode, p.output = o.exitSeen(pod)
	if pod.UID != o.At.Status.PodUID {
		p.requeueAt = o.Now // The pod is deleted after its UID is recorded, because nothing else shows that it existed.
		return p, true
	}
	p.Delete = o.deletable(pod)
	return p, true
}

// liveRun waits for the end of the pod.
func liveRun(o *Observation) (Plan, bool) {
	pod := o.run().pod
	if pod == nil || o.isOver(pod) {
		return Plan{}, false
	}
	s, requeueAt := progress(o, pod)
	stopAt := o.stopAt(pod)
	if !o.Now.Before(stopAt) { // The At is being deleted.
		stopAt = time.Time{}
	}
	p := o.wait(s, pods.Earliest(o.Now, requeueAt, stopAt))
	p.exitCode, p.output = o.exitSeen(pod)
	return p, true
}
