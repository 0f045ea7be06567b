// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

var crdNames = []string{"podsets.app.example.com", "ats.cnat.d2iq.com"}

// newPodSet creates a PodSet of pods without a template.
func (p *project) newPodSet(name string, replicas int32) *appv1alpha1.PodSet {
	p.t.Helper()
	set := &appv1alpha1.PodSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.name},
		Spec:       appv1alpha1.PodSetSpec{Replicas: &replicas},
	}
	create(p.t, set)
	return set
}

func (p *project) newAt(name, schedule, command string) *cnatv1alpha1.At {
	p.t.Helper()
	at := &cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.name},
		Spec:       cnatv1alpha1.AtSpec{Schedule: schedule, Command: command},
	}
	create(p.t, at)
	return at
}

// podSet and at return empty objects of that name, to be read into.
func (p *project) podSet(name string) *appv1alpha1.PodSet {
	return &appv1alpha1.PodSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.name}}
}

func (p *project) at(name string) *cnatv1alpha1.At {
	return &cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.name}}
}

// settled waits until set has spec.replicas Ready pods and lists them in its status. It returns their UIDs by name.
func settled(t *testing.T, set *appv1alpha1.PodSet) map[string]types.UID {
	t.Helper()
	uids := map[string]types.UID{}
	eventually(t, "PodSet "+set.Name+" has its pods", func(g gomega.Gomega) {
		refresh(t.Context(), g, set)
		clear(uids)
		for _, pod := range podsOf(t.Context(), g, set) {
			uids[pod.Name] = pod.UID
		}
		g.Expect(set.Status.ObservedGeneration).To(gomega.Equal(set.Generation))
		g.Expect(set.Status.ReadyReplicas).To(gomega.Equal(*set.Spec.Replicas), "readyReplicas")
		g.Expect(uids).To(gomega.HaveLen(int(*set.Spec.Replicas)))
		for _, name := range set.Status.PodNames {
			g.Expect(uids).To(gomega.HaveKey(name))
		}
	})
	return uids
}

// done waits until at is DONE, and checks that it succeeded with one attempt and one pod.
func done(t *testing.T, at *cnatv1alpha1.At) {
	t.Helper()
	eventually(t, "At "+at.Name+" is done", func(g gomega.Gomega) {
		refresh(t.Context(), g, at)
		g.Expect(at.Status.Phase).To(gomega.Equal(cnatv1alpha1.PhaseDone))
	})
	g := gomega.NewWithT(t)
	g.Expect(at.Status.Result).To(gomega.Equal(cnatv1alpha1.ResultSucceeded), at.Status.Reason)
	g.Expect(at.Status.Attempts).To(gomega.BeEquivalentTo(1))
	g.Expect(podsOf(t.Context(), g, at)).To(gomega.HaveLen(1))
}

// pending waits until at, which is not due yet, is PENDING.
func pending(t *testing.T, at *cnatv1alpha1.At) {
	t.Helper()
	eventually(t, "At "+at.Name+" is pending", func(g gomega.Gomega) {
		g.Expect(refresh(t.Context(), g, at).Status.Phase).To(gomega.Equal(cnatv1alpha1.PhasePending))
	})
}

// record is the state that must not change when the operator changes: the pods and statuses of a PodSet and of an At that is DONE.
type record struct {
	set  *appv1alpha1.PodSet
	at   *cnatv1alpha1.At
	uids map[string]types.UID
}

// newRecord creates the two objects and waits until they no longer change.
func newRecord(p *project) record {
	p.t.Helper()
	r := record{set: p.newPodSet("kept", 3), at: p.newAt("done", "now", "echo YAY")}
	r.uids = settled(p.t, r.set)
	done(p.t, r.at)
	eventually(p.t, "PodSet "+r.set.Name+" is at rest", func(g gomega.Gomega) {
		for _, condition := range refresh(p.t.Context(), g, r.set).Status.Conditions {
			if condition.Type == appv1alpha1.ConditionProgressing {
				g.Expect(condition.Status).To(gomega.Equal(metav1.ConditionFalse), condition.Reason)
			}
		}
	})
	p.types("kubectl get podset,at,pods -o custom-columns=KIND:.kind,NAME:.metadata.name,UID:.metadata.uid,PHASE:.status.phase")
	return r
}

// compare checks that the pods and statuses are still the same, and that they were not even written without a change.
func (r record) compare(t *testing.T) {
	t.Helper()
	set, at := r.set.DeepCopy(), r.at.DeepCopy()
	if diff := cmp.Diff(r.uids, settled(t, set)); diff != "" {
		t.Errorf("the pods of the PodSet have changed (-before +now): %s", diff)
	}
	done(t, at)
	if diff := cmp.Diff(r.set.Status, set.Status); diff != "" || set.ResourceVersion != r.set.ResourceVersion {
		t.Errorf("the PodSet was written (-before +now): %s", diff)
	}
	if diff := cmp.Diff(r.at.Status, at.Status); diff != "" || at.ResourceVersion != r.at.ResourceVersion {
		t.Errorf("the At was written (-before +now): %s", diff)
	}
}

func dueNow(at *cnatv1alpha1.At) { at.Spec.Schedule = time.Now().UTC().Format(time.RFC3339) }
