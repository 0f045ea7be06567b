// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"strings"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// followsTheTutorial runs the commands of the tutorial and checks their output.
func (p *project) followsTheTutorial() {
	shows := func(line string, want ...string) {
		p.t.Helper()
		output := p.types("%s", line)
		for _, text := range want {
			if !strings.Contains(output, text) {
				p.t.Errorf("%s\ndoes not show %q:\n%s", line, text, output)
			}
		}
	}
	set := p.podSet("podset-sample")

	shows("kubectl create -f config/samples/app_v1alpha1_podset.yaml", "podset.app.example.com/podset-sample created")
	settled(p.t, set)
	shows("kubectl get podset -o wide", "DESIRED", "READY", "AGE", "AVAILABLE", "podset-sample   3")
	shows("kubectl get pods", "podset-sample-pod", "Running")
	if pods := strings.Count(p.types("kubectl get pods -l app=podset-sample --no-headers"), "podset-sample-pod"); pods != 3 {
		p.t.Errorf("the label app=podset-sample selects %d pods", pods)
	}
	shows("kubectl get podset podset-sample -o yaml", "availableReplicas: 3", "podNames:", "- podset-sample-pod")
	shows("kubectl describe podset/podset-sample", "Replicas:", "Pod Names:")
	shows("kubectl get pods -o yaml | grep ownerReferences -A10", "kind: PodSet", "name: podset-sample", "controller: true")

	shows(`kubectl patch podset podset-sample --type=json -p '[{"op": "replace", "path": "/spec/replicas", "value":5}]'`, "patched")
	settled(p.t, set)
	shows("kubectl get podset podset-sample", "podset-sample   5         5")
	shows("kubectl scale podset/podset-sample --replicas=4", "scaled")
	settled(p.t, set)
	victim := set.Status.PodNames[0]
	shows("kubectl delete pod "+victim, "deleted")
	eventually(p.t, "the pod is replaced", func(g gomega.Gomega) { g.Expect(settled(p.t, set)).NotTo(gomega.HaveKey(victim)) })
	shows("kubectl delete podset podset-sample", "deleted")
	p.hasNoPods()

	shows("kubectl create -f config/samples/cnat_v1alpha1_at.yaml", "at.cnat.d2iq.com/at-sample created")
	shows("kubectl wait --for=condition=Complete at/at-sample --timeout=60s", "condition met")
	shows("kubectl get at", "SCHEDULE", "PHASE", "DUE", "at-sample", "2020-01-30T10:02:00Z", "DONE", "Succeeded")
	shows("kubectl describe at at-sample", "PhaseChange", "PENDING", "RUNNING", "DONE", "at-controller")
	shows("kubectl get pods -l app=at-sample", "at-sample-pod")
	shows("kubectl logs at-sample-pod", "YAY\n")
	shows("kubectl explain at.spec.schedule", "schedule is when to run", "RFC 3339")
	done(p.t, p.at("at-sample"))
	shows("kubectl delete at at-sample", "deleted")
	p.hasNoPods()
}

func (p *project) hasNoPods() {
	p.t.Helper()
	eventually(p.t, "the pods are gone", func(g gomega.Gomega) {
		pods := &corev1.PodList{}
		g.Expect(admin.List(p.t.Context(), pods, client.InNamespace(p.name))).To(gomega.Succeed())
		g.Expect(pods.Items).To(gomega.BeEmpty())
	})
}

// deletes deletes PodSets in each of the three ways.
func (p *project) deletes() {
	settled(p.t, p.newPodSet("web", 3))
	p.types("kubectl delete podset web --cascade=background")
	p.hasNoPods()

	settled(p.t, p.newPodSet("web", 3))
	p.types("kubectl delete podset web --cascade=foreground --timeout 10s")
	p.hasNoPods()

	before := settled(p.t, p.newPodSet("web", 3))
	p.types("kubectl delete podset web --cascade=orphan --timeout 10s")
	// A new PodSet of the same name is another owner: it creates its own pods and does not adopt the orphans.
	after := settled(p.t, p.newPodSet("web", 2))
	for name, uid := range before {
		pod := &corev1.Pod{}
		if err := admin.Get(p.t.Context(), client.ObjectKey{Namespace: p.name, Name: name}, pod); err != nil {
			p.t.Fatal(err)
		}
		if pod.UID != uid || pod.DeletionTimestamp != nil || metav1.GetControllerOf(pod) != nil || after[name] != "" {
			p.t.Errorf("pod %s is not an orphan", name)
		}
	}
	p.types("kubectl get podset,pods --show-labels")
}
