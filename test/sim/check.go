// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

// check returns the violations of the invariants.
func (e *env) check() []invariants.Violation {
	synctest.Wait()
	c := invariants.NewChecker(e.operator.Full, e.writes, e.started)
	c.InFlight = time.Nanosecond
	c.LaggingPods = e.lagging
	c.FaultsEnded, c.End, c.Runs, c.Told = e.faultsEnded, e.now(), e.runs, e.told
	c.Checks, c.ChangesIdentity = append([]invariants.Check{}, e.checks...), e.webhook.canChangeIdentity()
	c.Jumps, c.NodesAhead = e.jumps, e.nodesAhead
	c.StripsOwners, c.HidesSlots = e.webhook.owners, e.webhook.labels && e.webhook.annotations
	if e.scenario.has(Clocks) {
		c.ServerAhead = &e.serverAhead
	}
	c.Replay(e.store.log)
	c.Lists(e.lists)
	c.KubernetesEvents(e.events)
	e.checkWords()
	return append(c.Violations, e.violations...)
}

// checkWords checks A8 and A18: the command of a pod of an At has the words of the At at the recorded start of the attempt.
func (e *env) checkWords() { //nolint:cyclop // A list of conditions.
	requested, opens := map[types.UID]string{}, map[string]bool{}
	for _, w := range e.writes {
		opens[w.Version] = opens[w.Version] || w.Opens && w.Committed()
		if w.Verb == "create" && w.Committed() {
			requested[w.UID] = w.Requested
		}
	}
	owners, given, started, opened := map[types.UID]*cnatv1alpha1.At{}, map[types.UID][][]string{}, map[types.UID]map[int32][]string{}, map[types.UID]bool{}
	for _, change := range e.store.log {
		switch o := change.Object.(type) {
		case *cnatv1alpha1.At:
			before, words := owners[o.UID], commands[o.Spec.Command]
			given[o.UID] = append(given[o.UID], words)
			if before == nil {
				started[o.UID] = map[int32][]string{}
			} else if o.Status.Attempts > before.Status.Attempts {
				started[o.UID][o.Status.Attempts] = words
			}
			owners[o.UID] = o
		case *corev1.Pod:
			at := owners[e.ownerOf(o)]
			if opened[o.UID] || invariants.IsGated(o) || at == nil || requested[o.UID] == "" {
				continue
			}
			opened[o.UID] = true
			if e.scenario.has(Hand) && !opens[o.ResourceVersion] { // A user has opened it.
				continue
			}
			var ran []string // as the kubelet expands it
			for _, word := range invariants.CommandContainer(o).Command {
				ran = append(ran, strings.ReplaceAll(word, "$$", "$"))
			}
			if !slices.ContainsFunc(given[at.UID], func(words []string) bool { return slices.Equal(words, ran) }) {
				e.violate("A8", "pod %s runs %q, which no user gave At %s", o.Name, ran, at.Name)
			}
			words, ok := started[at.UID][invariants.AttemptOf(at, requested[o.UID])]
			if e.operator.Full && !e.webhook.strips && (!ok || !slices.Equal(words, ran)) {
				e.violate("A18", "pod %s runs %q, but the start of At %s that was recorded has the words %q", o.Name, ran, at.Name, words)
			}
		}
	}
}

// ownerOf returns the UID of the owner for which a pod was created, although admission may have removed it.
func (e *env) ownerOf(pod *corev1.Pod) types.UID {
	for _, w := range e.writes {
		if w.UID == pod.UID && w.Verb == "create" {
			return w.Owner
		}
	}
	return invariants.ControllerOf(pod)
}

func (e *env) violate(invariant, format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.violations = append(e.violations, invariants.Violation{Invariant: invariant, What: fmt.Sprintf(format, args...)})
}
