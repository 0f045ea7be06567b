// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// What the operator may request from the API server. Writes are counted, not timed, so these limits hold on any
// machine.
const (
	countedSets, podsPerSet = 20, 10
	countedPods             = countedSets * podsPerSet
	countedAts              = 50
)

const (
	podSetStatus = "patch app.example.com/podsets/status"
	atStatus     = "patch cnat.d2iq.com/ats/status"
	newPod       = "create /pods"
	checkedPod   = "check /pods" // a dry run
	oldPod       = "delete /pods"
	newEvent     = "create events.k8s.io/events"
)

// tally is what was counted while something was done.
type tally struct {
	writes     int
	reads      int // of single objects, and lists in the namespace
	byVerb     map[string]int
	reconciles int
	elapsed    time.Duration
}

// countWhile does something in a namespace, waits until the operator is idle there, and returns the requests.
func countWhile(t *testing.T, namespace, controller string, do func()) tally {
	t.Helper()
	verbs := []string{podSetStatus, atStatus, newPod, checkedPod, oldPod, newEvent}
	before := map[string]int{}
	for _, verb := range verbs {
		before[verb] = used.writesIn(namespace, verb)
	}
	all, writes, reconciles, start := len(used.in(namespace)), used.writesIn(namespace), reconcilesOf(t, controller), time.Now()
	do()
	result := tally{byVerb: map[string]int{}, elapsed: time.Since(start)}
	last := -1
	NewWithT(t).Eventually(func() bool {
		now := used.writesIn(namespace)
		rest := now == last
		last = now
		return rest
	}).WithTimeout(patience).WithPolling(quiet).Should(BeTrue(), "the operator never comes to rest")
	for _, verb := range verbs {
		result.byVerb[verb] = used.writesIn(namespace, verb) - before[verb]
	}
	result.writes, result.reconciles = used.writesIn(namespace)-writes, reconcilesOf(t, controller)-reconciles
	result.reads = len(used.in(namespace)) - all - result.writes
	t.Logf("%d writes %v, %d reads, %d reconciles in %s", result.writes, result.byVerb, result.reads, result.reconciles, result.elapsed)
	return result
}

func reconcilesOf(t *testing.T, controller string) int {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var n float64
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == controller {
					n += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return int(n)
}

func atMost(t *testing.T, what string, got int, limit float64) {
	t.Helper()
	if float64(got) > limit {
		t.Errorf("%s: %d, more than %g", what, got, math.Floor(limit))
	}
}

// everySet waits until all PodSets of a namespace meet a condition.
func everySet(t *testing.T, namespace string, holds func(*appv1alpha1.PodSet) bool) {
	t.Helper()
	NewWithT(t).Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		list := &appv1alpha1.PodSetList{}
		g.Expect(admin.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		for i := range list.Items {
			g.Expect(list.Items[i].Status.ObservedGeneration).To(Equal(list.Items[i].Generation))
			g.Expect(holds(&list.Items[i])).To(BeTrue())
		}
	}).WithTimeout(patience).Should(Succeed())
}

// countUntilReady makes all pods of a namespace ready, and waits until the status of each PodSet includes them.
func countUntilReady(t *testing.T, namespace string, each int32) tally {
	t.Helper()
	return countWhile(t, namespace, "podset", func() {
		for _, pod := range podsIn(t.Context(), NewWithT(t), namespace) {
			setPhase(t, &pod, corev1.PodRunning)
		}
		everySet(t, namespace, func(set *appv1alpha1.PodSet) bool { return set.Status.ReadyReplicas == each })
	})
}

func TestCounts_podSets(t *testing.T) {
	namespace := newNamespace(t)
	var sets []*appv1alpha1.PodSet

	created := countWhile(t, namespace, "podset", func() {
		for i := range countedSets {
			sets = append(sets, podSet(namespace, fmt.Sprintf("set-%d", i), podsPerSet))
		}
		for _, set := range sets {
			create(t, set)
		}
		everySet(t, namespace, func(set *appv1alpha1.PodSet) bool { return set.Status.Replicas == podsPerSet })
	})
	if got := created.byVerb[newPod]; got != countedPods {
		t.Errorf("creates of pods: %d, want %d", got, countedPods)
	}
	atMost(t, "writes to create pods", created.writes, 1.2*countedPods+2) // A machine that stalls may split the window of a set or two.

	ready := countUntilReady(t, namespace, podsPerSet)
	atMost(t, "writes while pods become ready", ready.writes, countedSets*(2+4*ready.elapsed.Seconds()))
	// On a slow machine, the pods of a set become ready in more than one window of the operator. The usual limit is for
	// two seconds.
	slow := countedSets * max(0, (created.elapsed+ready.elapsed).Seconds()-2)
	atMost(t, "reconciles until all pods are ready", created.reconciles+ready.reconciles, 0.5*countedPods+slow)

	scaled := countWhile(t, namespace, "podset", func() {
		for _, set := range sets {
			change(t, set, func(set *appv1alpha1.PodSet) { *set.Spec.Replicas = podsPerSet - 3 })
		}
		everySet(t, namespace, func(set *appv1alpha1.PodSet) bool {
			return set.Status.Replicas == podsPerSet-3 && set.Status.TerminatingReplicas == 0
		})
	})
	if got := scaled.byVerb[oldPod]; got != 3*countedSets {
		t.Errorf("deletes of pods: %d, want %d", got, 3*countedSets)
	}
	// And an event.
	atMost(t, "writes to scale down", scaled.writes, countedSets*(3+2+1)+2)

	if rest := countWhile(t, namespace, "podset", func() {}); rest.writes != 0 || rest.reconciles != 0 {
		t.Errorf("at rest: %d writes, %d reconciles, want none", rest.writes, rest.reconciles)
	}

	deleted := countWhile(t, namespace, "podset", func() {
		if err := admin.DeleteAllOf(t.Context(), &appv1alpha1.PodSet{}, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		// The garbage collector's part.
		if err := admin.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(namespace), client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
	})
	if deleted.writes != 0 {
		t.Errorf("writes to delete PodSets: %d, want none", deleted.writes)
	}
	if reads := created.reads + ready.reads + scaled.reads + deleted.reads; reads != 0 {
		t.Errorf("reads from the API server: %d, want none", reads)
	}
}

// The limits of the reconciles are what the ReplicaSet controller needs.
func TestCounts_onePod(t *testing.T) {
	namespace := newNamespace(t)
	created := countWhile(t, namespace, "podset", func() {
		for i := range countedSets {
			create(t, podSet(namespace, fmt.Sprintf("set-%d", i), 1))
		}
		everySet(t, namespace, func(set *appv1alpha1.PodSet) bool { return set.Status.Replicas == 1 })
	})
	atMost(t, "writes to create PodSets of one pod", created.writes, 3*countedSets)
	atMost(t, "reconciles to create PodSets of one pod", created.reconciles, 3*countedSets)
	ready := countUntilReady(t, namespace, 1)
	atMost(t, "writes while the pods become ready", ready.writes, countedSets)
	atMost(t, "reconciles while the pods become ready", ready.reconciles, 2*countedSets)
}

func TestCounts_ats(t *testing.T) {
	for title, tc := range map[string]struct {
		delay          time.Duration
		writes, events int
		reconciles     int
	}{
		// The pod, the record of the start, the removal of the gate, and the record of the end.
		"due when they are created": {delay: -time.Hour, writes: 4, events: 3, reconciles: 5},
		// The fifth write reports that it waits. An At that finds no slot for its request is reconciled up to ten times a
		// second until it finds one.
		"due later": {delay: 9 * time.Second, writes: 5, events: 3, reconciles: 30},
	} {
		t.Run(title, func(t *testing.T) {
			namespace := newNamespace(t)
			run := countWhile(t, namespace, "at", func() {
				schedule := time.Now().Add(tc.delay).UTC().Format(time.RFC3339)
				for i := range countedAts {
					create(t, newAt(namespace, fmt.Sprintf("at-%d", i), schedule, "true"))
				}
				g := NewWithT(t)
				g.Eventually(func() []corev1.Pod { return podsIn(t.Context(), g, namespace) }).WithTimeout(patience).Should(HaveLen(countedAts))
				for _, pod := range podsIn(t.Context(), g, namespace) {
					exit(t, &pod, 0, "")
				}
				for i := range countedAts {
					at := &cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("at-%d", i)}}
					expectPhase(t, at, cnatv1alpha1.PhaseDone)
				}
			})
			if got := run.byVerb[newPod]; got != countedAts {
				t.Errorf("creates of pods: %d, want %d", got, countedAts)
			}
			if got := run.byVerb[checkedPod]; got != 0 {
				t.Errorf("dry runs of pods that are created at once: %d", got)
			}
			atMost(t, "writes without events and checks", run.writes-run.byVerb[newEvent]-run.byVerb[checkedPod], float64(tc.writes*countedAts))
			atMost(t, "events", run.byVerb[newEvent], float64(tc.events*countedAts))
			atMost(t, "reconciles", run.reconciles, float64(tc.reconciles*countedAts))
			if run.reads != 0 {
				t.Errorf("reads from the API server: %d, want none", run.reads)
			}
			if rest := countWhile(t, namespace, "at", func() {}); rest.writes != 0 || rest.reconciles != 0 {
				t.Errorf("at rest: %d writes, %d reconciles, want none", rest.writes, rest.reconciles)
			}
		})
	}
}
