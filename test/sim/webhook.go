// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/test/invariants"
)

// webhook is what admission changes in every new pod of a scenario.
type webhook struct {
	injects                                                             bool
	name, generatedName, labels, annotations, owners, renames, reorders bool
	// restarts is the restartPolicy of pods of Ats; "": it stays.
	restarts corev1.RestartPolicy
}

func newWebhook(s Scenario) webhook {
	w := webhook{injects: s.has(Sidecar)}
	if !s.has(Admission) {
		return w
	}
	random := rand.New(rand.NewPCG(s.Seed, 6)) //nolint:gosec // reproducible
	for _, change := range []*bool{&w.name, &w.generatedName, &w.labels, &w.annotations, &w.owners, &w.renames, &w.reorders} {
		*change = random.IntN(4) == 0
	}
	if random.IntN(8) == 0 {
		w.restarts = pick(random, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure)
	}
	return w
}

// hides reports whether the operator cannot find the pod of a create that got no response: see docs/at-most-once.md.
func (w webhook) hides(c *call) bool {
	if c.Verb != "create" || c.Resource != pods || c.Slot != "" {
		return c.Slot != "" && w.generatedName
	}
	return w.owners && w.annotations || w.labels && w.changesNames()
}

// changesNames reports whether the name of a pod may be another one than that of the request.
func (w webhook) changesNames() bool { return w.name || w.generatedName }

// hidesFromNext reports whether the next process cannot find the pod of an At that no status has recorded.
func (w webhook) hidesFromNext() bool {
	return w.owners && (w.annotations || w.generatedName || w.name && w.labels)
}

// admit changes a new pod of the operator.
func (w webhook) admit(pod *corev1.Pod) {
	ofAt := pod.Spec.RestartPolicy == corev1.RestartPolicyNever
	if w.injects && ofAt {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: invariants.InjectedContainer, Image: "proxy"})
	}
	if w.reorders {
		slices.Reverse(pod.Spec.Containers)
	}
	for i := range pod.Spec.Containers {
		if w.renames {
			pod.Spec.Containers[i].Name = "renamed-" + pod.Spec.Containers[i].Name
		}
	}
	if w.restarts != "" && ofAt {
		pod.Spec.RestartPolicy = w.restarts
	}
	switch {
	case w.generatedName:
		pod.Name, pod.GenerateName = "", pod.Name+"-"
	case w.name && ofAt:
		pod.Name = invariants.ChangedName + pod.Name
	}
	if w.labels {
		pod.Labels = nil
	}
	if w.annotations {
		pod.Annotations = nil
	}
	if w.owners {
		pod.OwnerReferences = nil
	}
}
