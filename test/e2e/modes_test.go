// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// In every install mode, the operator serves its target namespaces. It has no permissions in other namespaces and does nothing there.
func TestInstallModes(t *testing.T) {
	skipInShortMode(t)
	home, one, two, three := newProject(t), newProject(t), newProject(t), newProject(t)
	everywhere := []*project{home, one, two, three}
	home.offer(previous)
	t.Cleanup(func() { home.removeRest() })

	for _, mode := range []struct {
		name    string
		targets []*project
	}{
		{"OwnNamespace", []*project{home}},
		{"SingleNamespace", []*project{one}},
		{"MultiNamespace", []*project{one, two}},
		{"AllNamespaces", nil},
	} {
		ok := t.Run(mode.name, func(t *testing.T) {
			home := home.of(t)
			served := everywhere
			var targets []string
			if mode.targets != nil {
				served = mode.targets
				for _, target := range mode.targets {
					targets = append(targets, target.name)
				}
			}
			home.subscribe(previous, targets...)
			defer home.unsubscribe()

			// The objects outside are created first. When those inside are served, those outside would also have been served.
			var inside, outside, privileged, plain []string
			for _, p := range everywhere {
				if !slices.Contains(served, p) {
					p.of(t).ask()
					outside = append(outside, p.name)
				}
			}
			for _, p := range served {
				p.of(t).ask()
				inside = append(inside, p.name)
			}
			if mode.targets == nil {
				later := newProject(t) // a namespace that is created after the operator
				later.ask()
				served = append(slices.Clone(served), later)
			}
			for _, p := range served {
				settled(t, p.podSet("web"))
				done(t, p.at("hello"))
			}
			for _, p := range everywhere {
				if slices.Contains(served, p) || p == everywhere[0] {
					privileged = append(privileged, p.name)
				} else {
					plain = append(plain, p.name)
				}
			}
			home.hasOnlyThePermissionsOf(previous, privileged, plain)
			for _, p := range everywhere {
				if !slices.Contains(served, p) {
					p.of(t).isIgnored()
				}
			}
			t.Logf("%s: served %s; not served %s", mode.name, strings.Join(inside, " "), strings.Join(outside, " "))
			home.types("kubectl get podsets,ats -A -o wide")
			for _, p := range everywhere {
				p.of(t).types("kubectl delete podset,at --all")
			}
		})
		if !ok {
			return
		}
	}
}

// ask creates a PodSet and an At that is due.
func (p *project) ask() {
	p.t.Helper()
	p.newPodSet("web", 2)
	p.newAt("hello", "now", "echo hello")
}

// isIgnored checks that the operator did not serve the objects of ask.
func (p *project) isIgnored() {
	p.t.Helper()
	g := gomega.NewWithT(p.t)
	set, at := refresh(p.t.Context(), g, p.podSet("web")), refresh(p.t.Context(), g, p.at("hello"))
	g.Expect(set.Status).To(gomega.Equal(appv1alpha1.PodSetStatus{ObservedGeneration: -1, Conditions: set.Status.Conditions}))
	g.Expect(at.Status).To(gomega.Equal(cnatv1alpha1.AtStatus{ObservedGeneration: -1, Conditions: at.Status.Conditions}))
	for _, conditions := range [][]metav1.Condition{set.Status.Conditions, at.Status.Conditions} {
		g.Expect(conditions).To(gomega.HaveExactElements(gomega.HaveField("Reason", appv1alpha1.ReasonAwaitingOperator)))
	}
	g.Expect(podsOf(p.t.Context(), g, set)).To(gomega.BeEmpty())
	g.Expect(podsOf(p.t.Context(), g, at)).To(gomega.BeEmpty())
}
