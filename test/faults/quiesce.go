// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// Quiet is how long nothing may be written at rest.
var Quiet = 30 * time.Second

// statusSettleTime is how long after the world has come to rest the words of a status may still change: the operator's longest
// step of back-off, and a second for the pass itself.
const statusSettleTime = 6 * time.Second

// Counts is what a life cost: how many pods were made for it and how many of them the operator deleted.
type Counts struct{ Creates, Deletes int }

// Counts counts what happened, not what was asked for.
func (e *Env) Counts() Counts {
	deleted := map[types.UID]bool{}
	for _, write := range e.Log.All() {
		if write.Verb == "delete" && write.Resource == "pods" && write.Committed() {
			deleted[write.UID] = true
		}
	}
	counts := Counts{Deletes: len(deleted)}
	e.Observer.look(func(s *state) {
		for _, pod := range s.pods {
			owner := controller(pod)
			if s.sets[owner] != nil || s.ats[owner] != nil {
				counts.Creates++
			}
		}
	})
	return counts
}

// ExpectCounts judges P8: the life cost what the reference cost.
func (e *Env) ExpectCounts(reference Counts) {
	e.Helper()
	counts := e.Counts()
	e.Check("P8", counts == reference, "made and deleted %+v, the reference %+v", counts, reference)
}

// Settle judges P3 and A3: it waits until every PodSet has what it asks for, every At is at rest and no pod is left of
// what was deleted.
func (e *Env) Settle() {
	e.Helper()
	podSets, ats := false, false
	missing := e.await(func(s *state) string {
		var problems []string
		for _, set := range s.notDeleting() {
			podSets = true
			if problem := s.settled(set, e.controllers.Full); problem != "" {
				problems = append(problems, fmt.Sprintf("P3 PodSet %s: %s", set.Name, problem))
			}
		}
		for uid, at := range s.ats {
			if s.removed[uid] {
				continue
			}
			ats = true
			if problem := s.atSettled(at, e.Clock.Now(), e.controllers.Full); problem != "" {
				problems = append(problems, fmt.Sprintf("A3 At %s: %s", at.Name, problem))
			}
		}
		return strings.Join(problems, "; ")
	})
	if podSets {
		e.Check("P3", !strings.Contains(missing, "P3 "), "%s", missing)
	}
	if ats {
		e.Check("A3", !strings.Contains(missing, "A3 "), "%s", missing)
	}
}

// Rest is Settle, and then nothing may be written for a while: the rest of P3.
func (e *Env) Quiesce() {
	e.Helper()
	e.Settle()
	e.release()
	timeout := time.After(statusSettleTime)
	for settling := true; settling; {
		select {
		case <-e.Log.Next():
		case <-timeout:
			settling = false
		}
	}
	before := len(e.Log.All())
	select {
	case <-e.Log.Next():
		e.Check("P3", false, "written at rest: %v", e.Log.All()[before])
	case <-time.After(e.Quiet):
		e.Check("P3", true, "")
	}
}

// Pass lets time pass, which is what some faults consist of. Other worlds may be busy meanwhile.
func (e *Env) Wait(d time.Duration) {
	<-e.Cluster.busy
	<-time.After(d)
	e.Cluster.busy <- struct{}{}
}

// Gone waits until no pod is left, as after the deletion of all owners.
func (e *Env) AwaitNoPods() {
	e.Helper()
	missing := e.await(func(s *state) string {
		var left []string
		for uid, pod := range s.pods {
			if !s.removed[uid] {
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

// AwaitPods waits until n pods are active, whoever owns them, and returns whether they came.
func (e *Env) AwaitPods(n int) bool {
	return e.await(func(s *state) string {
		active := 0
		for _, pod := range s.pods {
			if s.isActive(pod) {
				active++
			}
		}
		if active == n {
			return ""
		}
		return fmt.Sprintf("%d pods", active)
	}) == ""
}

// AwaitTotalPods waits until n pods exist, in any phase, and returns whether that came.
func (e *Env) AwaitTotalPods(n int) bool {
	return e.await(func(s *state) string {
		total := 0
		for uid := range s.pods {
			if !s.removed[uid] {
				total++
			}
		}
		if total == n {
			return ""
		}
		return fmt.Sprintf("%d pods", total)
	}) == ""
}

// AwaitSet waits until a PodSet is as wanted and judges an invariant by it.
func (e *Env) AwaitSet(invariant, name string, want func(*appv1alpha1.PodSet) bool) {
	e.Helper()
	missing := e.await(func(s *state) string {
		last := "no PodSet " + name
		for uid, set := range s.sets {
			if set.Name == name && !s.removed[uid] {
				if want(set) {
					return ""
				}
				last = fmt.Sprintf("status %+v", set.Status)
			}
		}
		return last
	})
	e.Check(invariant, missing == "", "%s", missing)
}

// AwaitAt waits until an At is as wanted and judges an invariant by it.
func (e *Env) AwaitAt(invariant, name string, want func(*cnatv1alpha1.At) bool) {
	e.Helper()
	missing := e.await(func(s *state) string {
		last := "no At " + name
		for uid, at := range s.ats {
			if at.Name == name && !s.removed[uid] {
				if want(at) {
					return ""
				}
				last = fmt.Sprintf("status %+v", at.Status)
			}
		}
		return last
	})
	e.Check(invariant, missing == "", "%s", missing)
}

// AwaitPod waits until a pod is as wanted, its absence being nil, and returns whether that came.
func (e *Env) AwaitPod(name string, want func(*corev1.Pod) bool) bool {
	return e.await(func(s *state) string {
		var found *corev1.Pod
		for uid, pod := range s.pods {
			if pod.Name == name && !s.removed[uid] {
				found = pod
			}
		}
		if want(found) {
			return ""
		}
		return "not yet"
	}) == ""
}

// Pods returns the pods that exist, as the observer saw them last.
func (e *Env) Pods() []*corev1.Pod {
	var pods []*corev1.Pod
	e.Observer.look(func(s *state) {
		for uid, pod := range s.pods {
			if !s.removed[uid] {
				pods = append(pods, pod)
			}
		}
	})
	return pods
}
