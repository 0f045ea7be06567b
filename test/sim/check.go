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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

// check returns the violations of the invariants.
func (e *env) check() []invariants.Violation {
	synctest.Wait()
	c := invariants.NewChecker(e.operator.Full, e.writes, e.started)
	c.InFlight = time.Nanosecond
	c.LaggingPods = e.lagging
	c.Calm, c.End, c.Ran, c.Told = e.calm, e.now(), e.ran, e.told
	c.StripsOwners, c.HidesSlots = e.webhook.owners, e.webhook.labels && e.webhook.annotations && e.webhook.generatedName
	if e.scenario.has(Clocks) {
		c.ServerAhead = &e.serverAhead
	}
	c.Replay(e.store.log)
	c.Lists(e.lists)
	c.KubernetesEvents(e.events)
	e.checkWords()
	return append(c.Violations, e.violations...)
}

// checkWords checks A8: the command of a pod has the words of a command that a user gave its At.
func (e *env) checkWords() {
	given := map[types.UID][][]string{}
	for _, change := range e.store.log {
		switch o := change.Object.(type) {
		case *cnatv1alpha1.At:
			given[o.UID] = append(given[o.UID], commands[o.Spec.Command])
		case *corev1.Pod:
			owner := metav1.GetControllerOfNoCopy(o)
			if change.Kind != watch.Added || owner == nil || owner.Kind != "At" {
				continue
			}
			var ran []string // as the kubelet expands it
			for _, word := range invariants.CommandContainer(o).Command {
				ran = append(ran, strings.ReplaceAll(word, "$$", "$"))
			}
			if words, ok := given[owner.UID]; ok && !slices.ContainsFunc(words, func(words []string) bool { return slices.Equal(words, ran) }) {
				e.violate("A8", "pod %s runs %q, which no user gave At %s", o.Name, ran, owner.Name)
			}
		}
	}
}

func (e *env) violate(invariant, format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.violations = append(e.violations, invariants.Violation{Invariant: invariant, What: fmt.Sprintf(format, args...)})
}
