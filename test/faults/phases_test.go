// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// F17: pods that finish, and pods whose phase is Unknown.
func TestPodPhases(t *testing.T) {
	runCases(t, "F17", map[string]testCase{
		"Failed":    phase(corev1.PodFailed, "", true),
		"Evicted":   phase(corev1.PodFailed, "Evicted", true),
		"Succeeded": phase(corev1.PodSucceeded, "", true),
		"Unknown":   phase(corev1.PodUnknown, "NodeLost", false),
	})
}

// firstCleanup is the delay before the first finished pods are deleted (rule 8).
const firstCleanup = 10 * time.Second

// phase sets the phase of two of three pods. Finished pods are replaced at once and deleted later. Others stay.
func phase(phase corev1.PodPhase, reason string, ended bool) testCase {
	return func(e *faults.Env) {
		e.RunKubelet(&faults.Kubelet{})
		e.Supervise()
		e.Create(podSet("a", 3))
		e.Settle()
		e.AwaitSet("P3", "a", func(s *appv1alpha1.PodSet) bool { return s.Status.ReadyReplicas == 3 })
		start := time.Now()
		for _, pod := range e.Pods()[:2] {
			faults.EditStatus(e, pod.DeepCopy(), func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason, p.Status.Conditions = phase, reason, nil })
		}
		if !ended {
			e.Quiesce()
			e.ExpectCounts(faults.Counts{Creates: 3})
			e.AwaitSet("P7", "a", func(s *appv1alpha1.PodSet) bool { return s.Status.Replicas == 3 && s.Status.AvailableReplicas == 1 })
			return
		}
		e.Settle() // with replacements
		e.Check("P3", e.AwaitTotalPods(3), "the finished pods were not deleted")
		e.Quiesce()
		e.ExpectCounts(faults.Counts{Creates: 5, Deletes: 2})
		created := 0
		for _, write := range e.Log.All() {
			switch {
			case faults.Creates(write.Call):
				created++
			case write.Verb == "delete":
				e.Check("P3", created == 5, "a finished pod was deleted before both were replaced: %d pods created", created)
				e.Check("P8", write.Sent.Sub(start) >= firstCleanup, "a finished pod was deleted %v after its end", write.Sent.Sub(start))
			}
		}
	}
}

// F18: the wall clock jumps, because it is corrected or because the machine was suspended.
func TestClockJumps(t *testing.T) {
	runCases(t, "F18", map[string]testCase{
		"an hour forward": func(e *faults.Env) {
			e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
			e.Supervise()
			e.Create(at("a", "now + 1 hour", "echo YAY"), podSet("a", 2))
			e.Settle()
			e.Wait(2 * time.Second)
			e.Check("A2", e.Counts().Creates == 2, "ran too early")
			e.Clock.Jump(time.Hour)
			e.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonCompleted))
			e.Quiesce()
		},
		"an hour back, then forward": func(e *faults.Env) {
			e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
			e.Supervise()
			e.Create(at("a", "now + 15 seconds", "echo YAY"))
			e.Clock.Jump(-time.Hour)
			e.Wait(17 * time.Second)
			e.Check("A2", e.Counts().Creates == 0, "ran too early")
			e.Clock.Jump(time.Hour)
			e.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonCompleted))
			e.Quiesce()
		},
		"suspended for 100 minutes while three Ats become due": func(e *faults.Env) {
			e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
			e.Supervise()
			e.Create(at("a", "now + 20 minutes", "echo YAY"), at("b", "now + 50 minutes", "echo YAY"), at("c", "now + 90 minutes", "echo YAY"))
			e.Wait(2 * time.Second)
			e.Check("A2", e.Counts().Creates == 0, "ran too early")
			e.Clock.Jump(100 * time.Minute)
			e.AwaitAt("A3", "a", done(cnatv1alpha1.ReasonCompleted))
			e.AwaitAt("A3", "b", done(cnatv1alpha1.ReasonCompleted))
			e.AwaitAt("A3", "c", done(cnatv1alpha1.ReasonCompleted))
			e.Quiesce()
			e.ExpectCounts(faults.Counts{Creates: 3})
		},
	})
}

func done(reason string) func(*cnatv1alpha1.At) bool {
	return func(a *cnatv1alpha1.At) bool {
		return a.Status.Phase == cnatv1alpha1.PhaseDone && a.Status.Reason == reason
	}
}
