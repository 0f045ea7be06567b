// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

// Behavior is something that nodes, webhooks, clocks, and other controllers do in real clusters.
type Behavior string

// The behaviors, each with the number of its fault.
const (
	CrashLoop  Behavior = "crash-loop" // F29: a container of a PodSet crashes again and again
	Sidecar    Behavior = "sidecar"    // F30: admission adds a container that ends before or after the command, or never
	Disruption Behavior = "disruption" // F31: Kubernetes ends pods before, while, and after their commands run
	Admission  Behavior = "admission"  // F32: admission changes new pods
	Clocks     Behavior = "clocks"     // F33: the clocks of API server, operator, and nodes differ
	Conditions Behavior = "conditions" // X2: another controller has conditions of its own in the status
	Hang       Behavior = "hang"       // F35: a pod hangs before its containers start
	Doubt      Behavior = "doubt"      // F38: the last status of a pod does not prove how its command ended
	Race       Behavior = "race"       // F39: users edit, cancel, suspend, and resume Ats while they are started
	TwoKeys    Behavior = "two-keys"   // F39: a policy suspends an At with each edit of its command
	Frozen     Behavior = "frozen"     // a process was frozen beyond its lease: its requests arrive while the next one runs
	Stuck      Behavior = "stuck"      // F42: a pod of a PodSet is not Ready, or terminates, for longer than the progress deadline
	Purge      Behavior = "purge"      // F19: users delete all pods of Ats by force, or Ats, and create them again at once
	Policy     Behavior = "policy"     // F41: policies that reject pods, and webhooks that do not answer dry runs, come and go
	Queue      Behavior = "queue"      // a controller such as Kueue adds a gate before that of the operator, and a finalizer
	Updates    Behavior = "updates"    // admission adds an annotation to each pod that the operator changes
	Refusal    Behavior = "refusal"    // admission rejects or undoes stops, and rejects openings and deletions of the pods of Ats
	Hand       Behavior = "hand"       // a user removes the gates of pods, or changes their images
	Jumps      Behavior = "jumps"      // F18: the clock of the operator's machine jumps while those of other machines do not
	Gap        Behavior = "gap"        // F5: a watch misses how the pod of an At ran and was deleted
	Budget     Behavior = "budget"     // users create Ats that must not be interrupted
)

// behaviors are those of scenarios. A new one comes last, so that it does not change which others a scenario has.
var behaviors = []Behavior{
	Sidecar, Disruption, Admission, Clocks, Conditions, Hang, CrashLoop, Doubt, Race, TwoKeys, Policy, Frozen, Stuck, Purge,
	Queue, Updates, Refusal, Hand, Jumps, Gap, Budget,
}

// behave selects the behaviors of the scenario of a seed.
func behave(seed uint64) []Behavior {
	random := rand.New(rand.NewPCG(seed, 5)) //nolint:gosec // reproducible
	var some []Behavior
	for _, b := range behaviors {
		if random.IntN(4) == 0 {
			some = append(some, b)
		}
	}
	return some
}

func (s Scenario) has(b Behavior) bool { return slices.Contains(s.With, b) }

// fate is what a node does with one pod for a while.
type fate struct {
	// crashes is true if a container crashes, and false if the pod hangs.
	crashes bool
	// next is when the node acts again.
	next time.Time
}

const (
	hangTime  = 100 * time.Second
	crashTime = 4 * time.Second
	// backOffReset is how long a container must run before the kubelet restarts it without a delay again.
	backOffReset = 10 * time.Minute
	maxRestarts  = 5 // of a container that crashes, before it keeps running
	// fateTime is longer than a fate takes.
	fateTime = 4 * time.Minute
)

// harm does something to a pod that the behaviors of the scenario allow. It returns false if it does nothing.
func (e *env) harm(random *rand.Rand, pod *corev1.Pod) bool {
	finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if len(e.scenario.With) == 0 || finished || len(pod.Spec.SchedulingGates) > 0 || pod.DeletionTimestamp != nil || e.fates[pod.UID] != nil {
		return false
	}
	switch n := random.IntN(8); {
	case n < 3 && e.scenario.has(Hang) && pod.Status.Phase == corev1.PodPending:
		e.hang(random, pod)
	case n == 3 && e.mayCrash(pod):
		e.fates[pod.UID] = &fate{crashes: true}
	case n == 6 && e.mayStick(pod):
		e.fates[pod.UID], pod.Status.Phase = &fate{next: e.now().Add(hangTime)}, corev1.PodRunning
		e.setReady(pod, corev1.ConditionFalse)
	case n == 4 && e.scenario.has(Disruption):
		return e.disruptPod(random, pod)
	case n >= 5 && isOfAt(pod):
		return e.endBadly(n, random, pod)
	default:
		return false
	}
	return true
}

// hang lets a pod hang before its containers start: no node is free, or the kubelet cannot start a container.
func (e *env) hang(random *rand.Rand, pod *corev1.Pod) {
	e.fates[pod.UID] = &fate{next: e.now().Add(hangTime)}
	e.note("pod %s hangs", pod.Name)
	if pod.Spec.NodeName == "" {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available"}}
	} else {
		pod.Status.StartTime = ptr.To(metav1.NewTime(e.nodeNow()))
		waiting := &corev1.ContainerStateWaiting{Reason: pick(random, "ImagePullBackOff", "CreateContainerConfigError"), Message: "it cannot start"}
		pod.Status.ContainerStatuses = statuses(pod.Spec.Containers, corev1.ContainerState{Waiting: waiting})
	}
	_, _ = e.store.Update(pod, true)
}

func statuses(containers []corev1.Container, state corev1.ContainerState) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for _, c := range containers {
		all = append(all, corev1.ContainerStatus{Name: c.Name, State: *state.DeepCopy()})
	}
	return all
}

// followFate takes the next step of a pod's fate. It returns false if it is not time yet.
func (e *env) followFate(pod *corev1.Pod, f *fate) bool {
	if e.now().Before(f.next) {
		return false
	}
	if f.crashes {
		e.crashAgain(pod, f)
		return true
	}
	delete(e.fates, pod.UID)
	pod.Status.Conditions, pod.Status.ContainerStatuses = nil, nil
	_, _ = e.store.Update(pod, true)
	return true
}

// mayCrash reports whether a container of a PodSet can begin to crash: it has not done so before. The clocks must not differ, because the
// operator gets the start time of a container from its node.
func (e *env) mayCrash(pod *corev1.Pod) bool {
	return e.scenario.has(CrashLoop) && !e.scenario.has(Clocks) && pod.Spec.NodeName != "" && pod.Status.ContainerStatuses == nil && invariants.OwnerKind(pod) == "PodSet"
}

// crashAgain makes the next change of a container that crashes again and again, as the kubelet of Kubernetes 1.37 reports it: the container
// is terminated during the back-off, and then waits for an instant. The first restart, and one after a run of 10 minutes, have no back-off.
// Half of the pods are Ready while they run.
func (e *env) crashAgain(pod *corev1.Pod, f *fate) {
	now, ready := metav1.NewTime(e.nodeNow()), corev1.ConditionFalse
	if pod.Status.ContainerStatuses == nil {
		pod.Status.ContainerStatuses = statuses(pod.Spec.Containers, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}})
	}
	pod.Status.Phase, e.runOf(pod).Started, f.next = corev1.PodRunning, true, e.now()
	status := &pod.Status.ContainerStatuses[0]
	backsOff := func(ended *corev1.ContainerStateTerminated) bool {
		return status.RestartCount > 0 && ended.FinishedAt.Sub(ended.StartedAt.Time) < backOffReset
	}
	switch state := status.State; {
	case state.Running != nil:
		status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", StartedAt: state.Running.StartedAt, FinishedAt: now}}
		if backsOff(status.State.Terminated) {
			f.next = e.now().Add(5 * time.Second << status.RestartCount)
		}
	case state.Terminated != nil && backsOff(state.Terminated):
		status.LastTerminationState = state
		status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off restarting failed container"}}
	default:
		if state.Terminated != nil {
			status.LastTerminationState = state
		}
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
		status.RestartCount++
		f.next = e.now().Add(crashTime)
		survives := status.RestartCount == maxRestarts
		if survives {
			delete(e.fates, pod.UID)
		}
		if survives || hash(e.scenario.Seed, string(pod.UID))>>32%2 == 0 {
			ready = corev1.ConditionTrue
		}
	}
	e.setReady(pod, ready)
}

// hasFate reports whether a node will do something later.
func (e *env) hasFate() bool {
	return slices.ContainsFunc(e.store.pods(), func(pod *corev1.Pod) bool {
		return e.holds(pod) || e.fates[pod.UID] != nil && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
	})
}

// disruptPod lets Kubernetes end a pod. A deleted pod must be in recordedPods.
func (e *env) disruptPod(random *rand.Rand, pod *corev1.Pod) bool {
	by := pick(random, corev1.PodReasonTerminationByKubelet, corev1.PodReasonPreemptionByScheduler, "DeletionByTaintManager", "DeletionByPodGC")
	recorded := slices.ContainsFunc(e.recordedPods(), func(other *corev1.Pod) bool { return other.UID == pod.UID })
	if pod.Spec.NodeName == "" && by != corev1.PodReasonPreemptionByScheduler || by != corev1.PodReasonTerminationByKubelet && !recorded {
		return false
	}
	e.note("pod %s is disrupted: %s", pod.Name, by)
	switch by {
	case corev1.PodReasonTerminationByKubelet:
		if e.evict(pod, random.IntN(2) == 0); !e.runOf(pod).Started && random.IntN(2) == 0 {
			pod.Status.ContainerStatuses = statuses(pod.Spec.Containers, waitingFor("ContainerCreating"))
		}
	case "DeletionByPodGC": // The node does not respond, so it may have started the command without a report.
		run := e.runOf(pod)
		run.Started = run.Started || random.IntN(2) == 0
		pod.Status.Phase = corev1.PodFailed
		if run.Started && pod.Status.ContainerStatuses == nil && random.IntN(2) == 0 {
			pod.Status.ContainerStatuses = statuses(pod.Spec.Containers, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
		}
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: by, Message: "the pod is disrupted"}}
	_, _ = e.store.Update(pod, true)
	if by != corev1.PodReasonTerminationByKubelet {
		grace := int64(30)
		if by == "DeletionByPodGC" {
			grace = 0
		}
		_, _, _ = e.store.Delete(pods, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace})
	}
	return true
}

// addCondition adds a condition of another controller to a status.
func (e *env) addCondition(resource, name string) {
	object, err := e.store.Get(resource, name)
	if err != nil {
		return
	}
	condition := metav1.Condition{Type: invariants.ForeignCondition, Status: metav1.ConditionTrue, Reason: "Tried", Message: "of another controller", LastTransitionTime: metav1.NewTime(e.store.now()).Rfc3339Copy()}
	switch o := object.(type) {
	case *appv1alpha1.PodSet:
		o.Status.Conditions = append(withoutForeign(o.Status.Conditions), condition)
	case *cnatv1alpha1.At:
		o.Status.Conditions = append(withoutForeign(o.Status.Conditions), condition)
	}
	if _, err := e.store.Update(object, true); err == nil {
		e.note("another controller adds a condition to %s %s", resource, name)
	}
}

func withoutForeign(conditions []metav1.Condition) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool { return c.Type == invariants.ForeignCondition })
}
