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

// judge returns the violations of the invariants.
func (w *world) judge() []invariants.Violation {
	synctest.Wait()
	c := invariants.NewChecker(w.operator.Full, w.writes, w.started)
	c.InFlight = time.Nanosecond
	c.LaggingPods = w.lagging
	c.Replay(w.store.log)
	c.Lists(w.lists)
	c.KubernetesEvents(w.events)
	w.checkWords()
	return append(c.Violations, w.violations...)
}

// checkWords checks A8: the command of a pod has the words of a command that a user gave its At.
func (w *world) checkWords() {
	given := map[types.UID][][]string{}
	for _, e := range w.store.log {
		switch o := e.Object.(type) {
		case *cnatv1alpha1.At:
			given[o.UID] = append(given[o.UID], commands[o.Spec.Command])
		case *corev1.Pod:
			owner := metav1.GetControllerOfNoCopy(o)
			if e.Kind != watch.Added || owner == nil || owner.Kind != "At" {
				continue
			}
			var ran []string // as the kubelet expands it
			for _, word := range o.Spec.Containers[0].Command {
				ran = append(ran, strings.ReplaceAll(word, "$$", "$"))
			}
			if words, ok := given[owner.UID]; ok && !slices.ContainsFunc(words, func(words []string) bool { return slices.Equal(words, ran) }) {
				w.violate("A8", "pod %s runs %q, which no user gave At %s", o.Name, ran, owner.Name)
			}
		}
	}
}

func (w *world) violate(invariant, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violations = append(w.violations, invariants.Violation{Invariant: invariant, What: fmt.Sprintf(format, args...)})
}
