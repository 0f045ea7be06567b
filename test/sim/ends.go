// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//revive:disable:file-length-limit // One subject.

package sim

import (
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/redhat/podset-operator/test/invariants"
)

// planOf decides how a pod ends: with which exit code, or not at all.
func (e *env) planOf(pod *corev1.Pod) (code int32, ends bool) {
	switch {
	case e.scenario.NoUsers:
		return e.endOfPod(pod)
	case pod.Spec.RestartPolicy == corev1.RestartPolicyAlways:
		return 0, false
	case e.scenario.has(Purge) && e.chance(pod, "fails again", 2) || e.chance(pod, "fails", 3):
		return 3, true
	}
	return 0, true
}

// chance decides whether something happens to a pod. It happens to one in oneIn pods.
func (e *env) chance(pod *corev1.Pod, what string, oneIn uint64) bool {
	return hash(e.scenario.Seed, what+" "+string(pod.UID))>>32%oneIn == 0
}

// endRun lets the command of a running pod end. It returns false if there is nothing to do.
func (e *env) endRun(pod *corev1.Pod, code int32) bool {
	doubts := e.scenario.has(Doubt) && isOfAt(pod)
	random := rand.New(rand.NewPCG(e.scenario.Seed, hash(8, string(pod.UID)))) //nolint:gosec // reproducible
	switch {
	case doubts && termination(pod) != nil && e.chance(pod, "forgets", 2):
		e.doubt(random, pod)
	case e.outlives(pod):
		return e.endCommandOnly(pod)
	case !isReady(pod):
		e.run(pod)
	case doubts && e.chance(pod, "doubts", 2):
		e.doubt(random, pod)
	default:
		e.endWith(pod, code)
	}
	return true
}

func (e *env) endWith(pod *corev1.Pod, code int32) {
	if code != 0 {
		e.failPod(pod, "", code)
		return
	}
	e.terminate(pod, 0)
	e.succeed(pod)
}

// endDeleted removes a terminating pod, after its command may have ended because of the SIGTERM.
func (e *env) endDeleted(pod *corev1.Pod) {
	if isOfAt(pod) && !e.scenario.NoUsers && pod.Status.Phase == corev1.PodRunning && termination(pod) == nil && e.chance(pod, "stops", 2) {
		e.runOf(pod).Asked = e.now()
		code := []int32{0, 3, 143}[hash(e.scenario.Seed, string(pod.UID))>>32%3]
		e.note("the command of the terminating pod %s ends with exit code %d", pod.Name, code)
		e.terminate(pod, code)
		e.endPodWithContainers(pod)
		return
	}
	e.note("kubelet removes pod %s", pod.Name)
	_, _, _ = e.store.Delete(pods, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
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
// now knows its exit code.
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

// runOf returns what the node of a pod knows about its command.
func (e *env) runOf(pod *corev1.Pod) *invariants.Run {
	if e.runs[pod.UID] == nil {
		e.runs[pod.UID] = &invariants.Run{}
	}
	return e.runs[pod.UID]
}

// evict ends a pod because its node needs resources. The kubelet may lose one of its containers.
func (e *env) evict(pod *corev1.Pod, loses bool) {
	e.note("kubelet: pod %s is evicted", pod.Name)
	pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted"
	switch {
	case !e.runOf(pod).Started:
	case loses:
		e.loseContainers(pod)
	default:
		e.runOf(pod).Asked = e.now()
		e.terminate(pod, []int32{137, 0, 3}[hash(e.scenario.Seed, "evicts "+string(pod.UID))>>32%3]) // It may also handle the SIGTERM.
	}
	pod.Status.Conditions = nil
}

// loseContainers replaces the states of the containers of a pod that have not ended with what a kubelet reports about containers that it
// has lost: in the next status they wait, and the exit code of the last termination is not real (F38).
func (e *env) loseContainers(pod *corev1.Pod) {
	before := pod.Status.ContainerStatuses
	pod.Status.ContainerStatuses = statuses(pod.Spec.Containers, waitingFor("ContainerCreating"))
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		lost := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: invariants.LostContainer, Message: "The container could not be located when the pod was terminated"}}
		switch {
		case len(before) == len(pod.Status.ContainerStatuses) && before[i].State.Terminated != nil:
			*s = before[i]
		case e.chance(pod, "loses", 2):
			s.State = lost
		default:
			s.LastTerminationState, s.RestartCount = lost, 1
		}
	}
}

// loseNode does what the pod garbage collector does to a pod whose node is gone: the containers keep the states that the node reported
// last. The command may still run there.
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

// endBadly ends the pod of an At, or one of its containers, if the behaviors of the scenario allow it.
func (e *env) endBadly(n int, random *rand.Rand, pod *corev1.Pod) bool {
	switch {
	case n == 5 && e.scenario.has(Sidecar) && pod.Status.Phase == corev1.PodRunning && len(pod.Spec.Containers) > 1:
		e.endContainer(random, pod)
	case n > 5 && e.scenario.has(Doubt) && pod.Spec.NodeName != "":
		e.doubt(random, pod)
	default:
		return false
	}
	return true
}

// doubt ends a pod with a status that does not prove how its command ended, or that it ran (F38). Whatever the status shows, the command may
// have been started.
func (e *env) doubt(random *rand.Rand, pod *corev1.Pod) {
	ways := []string{"Evicted", "Unknown", "ProviderFailed", "NotFound", "StartError", "ContainerCannotRun", "lost exit code", "lost exit code"}
	if len(pod.Spec.InitContainers) > 1 {
		ways = append(ways, "sidecar", "sidecar", "sidecar", "sidecar", "sidecar", "sidecar")
	}
	way := pick(random, ways...)
	e.runOf(pod).Started = true
	e.note("pod %s fails, and its status does not prove how its command ended: %s", pod.Name, way)
	made := func(code int32, reason, id string) []corev1.ContainerStatus {
		return statuses(pod.Spec.Containers, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, ContainerID: id, Message: "made up", FinishedAt: metav1.NewTime(e.nodeNow()),
		}})
	}
	pod.Status.Phase, pod.Status.Conditions = corev1.PodFailed, nil
	switch way {
	case "Evicted": // The exit code of a command that has ended is also lost.
		pod.Status.Reason = way
		if random.IntN(2) == 0 {
			pod.Status.ContainerStatuses = nil
		}
		e.loseContainers(pod)
	case "lost exit code": // CRI-O, if the file is gone, and containerd, if the shim died. The command ended with any exit code, or runs on.
		if random.IntN(2) == 0 {
			e.ended(pod, invariants.CommandContainer(pod).Name, pick(random, int32(0), 3))
		}
		pod.Status.ContainerStatuses = made(255, "Error", "cri-o://lost")
	case "Unknown": // containerd, after a loss of power
		pod.Status.ContainerStatuses = made(255, way, "containerd://lost")
	case "ProviderFailed": // a virtual kubelet, which leaves the containers as they are
		pod.Status.Reason, pod.Status.Message = way, "the provider failed"
		if random.IntN(2) == 0 {
			pod.Status.ContainerStatuses = statuses(pod.Spec.Containers, waitingFor("ContainerCreating"))
		}
	case "NotFound": // a virtual kubelet
		pod.Status.Reason, pod.Status.Message = way, "the pod may have been deleted from the provider"
		pod.Status.ContainerStatuses = made(pick[int32](random, -137, 137), way, pick(random, "", "provider://lost"))
	case "StartError", "ContainerCannotRun": // The start failed after the process had begun.
		pod.Status.ContainerStatuses = made(128, way, "containerd://lost")
	case "sidecar": // It, or an init container that is restarted, crashed while the command waited, and then the node was lost, with a stale status.
		pod.Status.ContainerStatuses = statuses(pod.Spec.Containers, waitingFor("PodInitializing"))
		pod.Status.InitContainerStatuses = nil
		for i, c := range pod.Spec.InitContainers {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{Name: c.Name, State: e.ended(pod, c.Name, int32(i))}) //nolint:gosec // small
		}
	}
	_, _ = e.store.Update(pod, true)
}

// endContainer ends one container of a pod that has several: the command, or the injected one. The pod ends with its last container.
func (e *env) endContainer(random *rand.Rand, pod *corev1.Pod) {
	if len(pod.Status.ContainerStatuses) != len(pod.Spec.Containers) {
		pod.Status.ContainerStatuses = statuses(pod.Spec.Containers, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	}
	ended := &pod.Status.ContainerStatuses[random.IntN(len(pod.Status.ContainerStatuses))]
	if ended.State.Running == nil {
		return
	}
	code := pick(random, int32(0), 0, 3)
	e.note("container %s of pod %s ends with exit code %d", ended.Name, pod.Name, code)
	ended.State = e.ended(pod, ended.Name, code)
	e.endPodWithContainers(pod)
}

// endPodWithContainers ends a pod whose containers have all ended, and stores its status.
func (e *env) endPodWithContainers(pod *corev1.Pod) {
	phase := corev1.PodSucceeded
	for _, s := range pod.Status.ContainerStatuses {
		switch {
		case s.State.Terminated == nil:
			phase = corev1.PodRunning
		case s.State.Terminated.ExitCode != 0 && phase == corev1.PodSucceeded:
			phase = corev1.PodFailed
		}
	}
	pod.Status.Phase, pod.Status.Conditions = phase, nil
	_, _ = e.store.Update(pod, true)
}

// outlives reports whether the injected container of a pod never ends by itself. The other containers then end with exit code 0.
func (e *env) outlives(pod *corev1.Pod) bool {
	return e.scenario.has(Sidecar) && len(pod.Spec.Containers) > 1 && hash(e.scenario.Seed, string(pod.UID))>>32%2 == 0
}

// endCommandOnly ends all containers of a pod except the injected one. It returns false if they have ended.
func (e *env) endCommandOnly(pod *corev1.Pod) bool {
	before := pod.Status.ContainerStatuses
	if len(before) != len(pod.Spec.Containers) {
		pod.Status.ContainerStatuses = statuses(pod.Spec.Containers, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	}
	changed := false
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if s.State.Terminated == nil && !invariants.IsInjected(s.Name) {
			s.State, changed = e.ended(pod, s.Name, 0), true
		}
	}
	if changed {
		e.note("the command of pod %s ends, and an added container runs on", pod.Name)
		e.endPodWithContainers(pod)
	}
	return changed
}
