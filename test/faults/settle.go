// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"

	"github.com/redhat/podset-operator/test/invariants"
)

// Quiet is how long the operator may write nothing in ExpectIdle.
var Quiet = 30 * time.Second

// statusTime is how long the operator may still update a status after everything has settled: its longest back-off, and
// a second for the reconcile.
const statusTime = 6 * time.Second

// Counts is how many pods were created for PodSets or opened for Ats, and how many pods the operator deleted that had been opened.
type Counts struct{ Creates, Deletes int }

// Counts counts pods, not requests.
func (e *Env) Counts() Counts {
	deleted := map[types.UID]bool{}
	for _, write := range e.Log.All() {
		if write.Verb == "delete" && write.Resource == "pods" && write.Committed() {
			deleted[write.UID] = true
		}
	}
	var counts Counts
	e.Observer.read(func(s *invariants.State) {
		for uid, pod := range s.Pods {
			owner := invariants.ControllerOf(pod)
			if invariants.IsGated(pod) {
				delete(deleted, uid)
			} else if s.Sets[owner] != nil || s.Ats[owner] != nil {
				counts.Creates++
			}
		}
	})
	counts.Deletes = len(deleted)
	return counts
}

// ExpectCounts checks P8: as many pods were created and deleted as in the reference.
func (e *Env) ExpectCounts(reference Counts) {
	e.Helper()
	counts := e.Counts()
	e.Check("P8", counts == reference, "created and deleted %+v, the reference %+v", counts, reference)
}

// Settle checks P3 and A3: it waits until every PodSet has its pods, every At is done or pending for a reason, and the kubelet has
// nothing left to do.
func (e *Env) Settle() {
	e.Helper()
	podSets, ats := false, false
	missing := e.waitFor(func(s *invariants.State) string {
		var problems []string
		for _, set := range s.NotDeleting() {
			podSets = true
			if problem := s.Settled(set, true); problem != "" {
				problems = append(problems, fmt.Sprintf("P3 PodSet %s: %s", set.Name, problem))
			}
		}
		for uid, at := range s.Ats {
			if s.Removed[uid] {
				continue
			}
			ats = true
			if problem := s.AtSettled(at, time.Now(), true); problem != "" {
				problems = append(problems, fmt.Sprintf("A3 At %s: %s", at.Name, problem))
			}
		}
		if len(problems) == 0 {
			return e.kubeletBusy(s)
		}
		return strings.Join(problems, "; ")
	})
	p3, a3 := strings.Contains(missing, "P3 "), strings.Contains(missing, "A3 ")
	if podSets {
		e.Check("P3", !p3, "%s", missing)
	}
	if ats {
		e.Check("A3", !a3, "%s", missing)
	}
	if !p3 && !a3 {
		e.mustHave(missing) // The kubelet is not under test.
	}
}

// kubeletBusy returns what the kubelet has left to do, or "" if there is nothing.
func (e *Env) kubeletBusy(s *invariants.State) string {
	kubelet := e.currentKubelet()
	if kubelet == nil {
		return ""
	}
	for uid, pod := range s.Pods {
		if !s.Removed[uid] && kubelet.next(pod) != nil {
			return fmt.Sprintf("the kubelet has not yet acted on the pod %s", pod.Name)
		}
	}
	return ""
}

// ExpectIdle calls Settle and then checks that the operator writes nothing for a while: the second part of P3. The pods that are being
// deleted must be gone first, because each removal changes status.terminatingReplicas.
func (e *Env) ExpectIdle() {
	e.Helper()
	e.Settle()
	e.waitForRemovals()
	timeout := time.After(statusTime)
	for settling := true; settling; {
		select {
		case <-e.Log.Next():
		case <-timeout:
			settling = false
		}
	}
	before, settled := len(e.Log.All()), time.Now()
	select {
	case <-e.Log.Next():
		e.Check("P3", false, "a write after everything had settled: %v; since then, the observer has seen %s", e.Log.All()[before], e.Observer.since(settled))
	case <-time.After(e.Quiet):
		e.Check("P3", true, "")
	}
}

// waitForRemovals waits until no pod of a PodSet is being deleted.
func (e *Env) waitForRemovals() {
	e.Helper()
	e.mustHave(e.waitFor(func(s *invariants.State) string {
		for uid, pod := range s.Pods {
			if !s.Removed[uid] && pod.DeletionTimestamp != nil && s.Sets[invariants.ControllerOf(pod)] != nil {
				return fmt.Sprintf("the pod %s is still being deleted", pod.Name)
			}
		}
		return ""
	}))
}

// Wait waits for a while.
func (e *Env) Wait(d time.Duration) { <-time.After(d) }

// WaitForNoPods waits until no pod is left, as after the deletion of all owners.
func (e *Env) WaitForNoPods() {
	e.Helper()
	missing := e.waitFor(func(s *invariants.State) string {
		var left []string
		for uid, pod := range s.Pods {
			if !s.Removed[uid] {
				left = append(left, pod.Name)
			}
		}
		if len(left) == 0 {
			return ""
		}
		return fmt.Sprintf("pods are left: %v", left)
	})
	e.Check("P3", missing == "", "%s", missing)
}

// WaitForPods waits until n pods are active, whoever owns them. It returns false after the timeout.
func (e *Env) WaitForPods(n int) bool {
	return e.waitFor(func(s *invariants.State) string {
		active := 0
		for _, pod := range s.Pods {
			if s.IsActive(pod) {
				active++
			}
		}
		if active == n {
			return ""
		}
		return fmt.Sprintf("%d pods", active)
	}) == ""
}

// WaitForSet waits for a state of a PodSet. If the PodSet does not reach it, the invariant is violated.
func (e *Env) WaitForSet(invariant, name string, want func(*appv1alpha1.PodSet) bool) {
	e.Helper()
	waitForNamed(e, invariant, name, func(s *invariants.State) map[types.UID]*appv1alpha1.PodSet { return s.Sets }, want)
}

// WaitForAt waits for a state of an At. If the At does not reach it, the invariant is violated.
func (e *Env) WaitForAt(invariant, name string, want func(*cnatv1alpha1.At) bool) {
	e.Helper()
	waitForNamed(e, invariant, name, func(s *invariants.State) map[types.UID]*cnatv1alpha1.At { return s.Ats }, want)
}

func waitForNamed[T client.Object](e *Env, invariant, name string, all func(*invariants.State) map[types.UID]T, want func(T) bool) {
	e.Helper()
	missing := e.waitFor(func(s *invariants.State) string {
		last := "no " + name
		for uid, object := range all(s) {
			if object.GetName() == name && !s.Removed[uid] {
				if want(object) {
					return ""
				}
				last = fmt.Sprintf("%+v", object)
			}
		}
		return last
	})
	e.Check(invariant, missing == "", "%s", missing)
}

// Pods returns the pods that exist, as the observer last saw them.
func (e *Env) Pods() []*corev1.Pod {
	var pods []*corev1.Pod
	e.Observer.read(func(s *invariants.State) {
		for uid, pod := range s.Pods {
			if !s.Removed[uid] {
				pods = append(pods, pod)
			}
		}
	})
	return pods
}

// Runs returns the names of all pods that each At has had without a gate, including pods that were removed.
func (e *Env) Runs() map[types.UID][]string {
	runs := map[types.UID][]string{}
	e.Observer.read(func(s *invariants.State) {
		for _, pod := range s.Pods {
			if owner := invariants.ControllerOf(pod); s.Ats[owner] != nil && !invariants.IsGated(pod) {
				runs[owner] = append(runs[owner], pod.Name)
			}
		}
	})
	return runs
}
