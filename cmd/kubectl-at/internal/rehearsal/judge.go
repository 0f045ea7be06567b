// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/internal/at/proof"
)

// Finding is what keeps a container or the pod from its start, in the words of the scheduler, the kubelet, or the
// container runtime.
type Finding struct {
	About   string `json:"about"` // a container, or "pod"
	Reason  string `json:"reason"`
	Message string `json:"message"`
	lasts   bool   // It does not pass by itself.
}

func (f Finding) String() string { return f.About + ": " + f.Reason + ": " + f.Message }

// Shown is what the state of the pod of a rehearsal shows.
type Shown struct {
	Node     string            `json:"node,omitempty"`
	Pulls    map[string]string `json:"pulls,omitempty"` // what the kubelet says about the image of a container, if events are known
	Findings []Finding         `json:"findings,omitempty"`
	Unknown  string            `json:"unknown,omitempty"` // why there is no answer
	Waits    string            `json:"-"`                 // what the pod waits for, or "" if nothing more is expected
	Look     string            `json:"-"`                 // why the programs cannot be looked for
}

// IsSettled reports whether the pod will not show more.
func (s *Shown) IsSettled() bool { return s.Waits == "" || s.Look != "" || s.Unknown != "" }

var (
	// lasting matches what does not pass by itself. Other problems may, such as a registry that does not answer, or a
	// node that is missing.
	lasting = regexp.MustCompile(`"[^"]*" not found|: not found|manifest unknown|no match for platform|unauthorized|denied|couldn't find key|` +
		`non-existent|type check failed|will run as root|non-numeric user|missing value for|[Ii]nvalid ?image ?name|not present with pull policy`)
	// passing matches the exceptions: what Kubernetes itself creates a moment later.
	passing = regexp.MustCompile(`"kube-root-ca\.crt" not found|timed out|pods? "`)
	// refusal matches what a runtime says about a program that it cannot execute: runc and gVisor, or crun. Older ones
	// do not name it.
	refusal = regexp.MustCompile("exec: \"([^\"]+)\"|executable \"([^\"]+)\"|(?:executable file|the path|open) `([^`]+)`|(open executable)")
	// isFile matches the answer about a path with a slash behind it if the file exists.
	isFile = regexp.MustCompile(`(?i)not a directory`)
	// ends are the reasons of a pod that say nothing about its template, and opens those of events before which the volumes are mounted.
	ends  = []string{"Evicted", "Preempting", "NodeShutdown", "NodeLost", "Terminated", "DeadlineExceeded"}
	opens = []string{"SuccessfulAttachVolume", "Pulling", "Pulled", "Created", "Started"}
	// mounts are the reasons of events about a pod whose containers cannot be created, and creating those of a container that is created.
	mounts   = []string{"FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox"}
	creating = []string{"", "ContainerCreating", "PodInitializing"}
)

func newFinding(about, reason, message string) Finding {
	return Finding{about, reason, strings.TrimSpace(message), lasting.MatchString(message) && !passing.MatchString(message)}
}

// Judge returns what the state of a pod shows about the containers of the one that NewPod returned. events are those of the pod, oldest first.
func Judge(requested, pod *corev1.Pod, events []corev1.Event) Shown {
	s := Shown{Node: pod.Spec.NodeName, Pulls: map[string]string{}}
	for i := range events {
		if name, ok := strings.CutPrefix(events[i].InvolvedObject.FieldPath, "spec.containers{"); ok && events[i].Reason == "Pulled" {
			s.Pulls[strings.TrimSuffix(name, "}")] = events[i].Message
		}
	}
	switch status := &pod.Status; {
	case slices.Contains(ends, status.Reason):
		s.Unknown = status.Reason + ": " + status.Message
	case status.Phase == corev1.PodFailed && status.Reason != "" && len(status.ContainerStatuses) == 0:
		s.Findings = []Finding{{"pod", status.Reason, status.Message, true}} // The kubelet refuses it.
	case s.Node == "":
		s.Waits = "a node"
		for _, c := range status.Conditions {
			if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
				s.Findings = []Finding{newFinding("pod", c.Reason, c.Message)}
			}
		}
	default:
		s.judgeContainers(requested, pod)
		if s.Waits != "" && len(s.Findings) == 0 {
			s.judgeEvents(events)
		}
	}
	if len(s.Findings) > 0 && s.Findings[0].About == "pod" && s.Findings[0].lasts {
		s.Waits = ""
	}
	return s
}

func (s *Shown) judgeContainers(requested, pod *corev1.Pod) {
	var waits []string
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for _, c := range slices.Concat(requested.Spec.InitContainers, requested.Spec.Containers) {
		var state corev1.ContainerState
		if i := slices.IndexFunc(statuses, func(status corev1.ContainerStatus) bool { return status.Name == c.Name }); i >= 0 {
			state = statuses[i].State
		}
		finding, isKnown := s.judgeContainer(&c, &state)
		switch {
		case finding.Reason != "" && c.Name == lookName:
			s.Look = finding.Reason + ": " + finding.Message
		case finding.Reason != "":
			s.Findings = append(s.Findings, finding)
		}
		if !isKnown {
			waits = append(waits, c.Name)
		}
	}
	if len(waits) > 0 {
		s.Waits = fmt.Sprintf("the volumes and images of %s on node %s", strings.Join(waits, ", "), s.Node)
	}
}

// judgeContainer returns what keeps a container from its start, if anything, and whether that is the last word.
func (s *Shown) judgeContainer(c *corev1.Container, state *corev1.ContainerState) (finding Finding, isKnown bool) {
	if t := state.Terminated; t != nil {
		switch {
		case proof.IsStartFailure(t):
			return s.judgeRefusal(c, t.Reason, t.Message), true
		case t.ExitCode == 0 && t.Reason == "Completed" && (c.Name == lookName || c.Command[0] == lookProgram):
			return Finding{}, true
		case strings.TrimSpace(t.Message) == "":
			return newFinding(c.Name, t.Reason, fmt.Sprintf("exit code %d", t.ExitCode)), true
		}
		return newFinding(c.Name, t.Reason, t.Message), true
	}
	w := state.Waiting
	switch {
	case w == nil || slices.Contains(creating, w.Reason):
		return Finding{}, false
	case w.Reason == "CreateContainerError" || w.Reason == "RunContainerError":
		finding = s.judgeRefusal(c, w.Reason, w.Message)
	default:
		finding = newFinding(c.Name, w.Reason, w.Message)
	}
	return finding, finding.Reason == "" || finding.lasts
}

// judgeRefusal returns nothing if the runtime refused to start a container because of the program of the rehearsal: the rest was there.
func (s *Shown) judgeRefusal(c *corev1.Container, reason, message string) Finding {
	program := strings.Join(append(refusal.FindStringSubmatch(message), "", "")[1:], "")
	switch {
	case strings.Contains(message, lookProgram):
		s.Look = "the busybox of its image cannot run in the container " + c.Name + "; is it static? " + message
	case strings.Contains(message, noProgram), isFile.MatchString(message) && (strings.HasSuffix(program, "/") || program == "open executable"):
	default:
		return newFinding(c.Name, reason, message)
	}
	return Finding{}
}

// judgeEvents finds out why the containers of a pod that has a node cannot be created: only events say it.
func (s *Shown) judgeEvents(events []corev1.Event) {
	for _, e := range slices.Backward(events) {
		if slices.Contains(mounts, e.Reason) {
			s.Findings = append(s.Findings, newFinding("pod", e.Reason, e.Message))
		}
		if slices.Contains(mounts, e.Reason) || slices.Contains(opens, e.Reason) {
			return
		}
	}
}
