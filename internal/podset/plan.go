// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

// Plan is what to do next. Carrying it out takes no further decision.
type Plan struct {
	// Create are the pods to create, in this order.
	Create []*corev1.Pod
	// Delete are the pods to delete.
	Delete []*corev1.Pod
	// Sweep are the finished pods to remove.
	Sweep []*corev1.Pod
	// WakeAt is when to look again though nothing has changed; zero: not needed.
	WakeAt time.Time
}

// IsEmpty tells whether the plan asks for no write.
func (p Plan) IsEmpty() bool { return len(p.Create)+len(p.Delete)+len(p.Sweep) == 0 }

// MakePlan decides what a PodSet needs.
func MakePlan(o Observation) Plan {
	if o.held() { // rule 3
		return Plan{}
	}
	var p Plan
	c := takeCensus(o)
	hash := o.templateHash()
	p.planSweep(o, c)
	p.planDeletes(o, c, hash)
	p.planCreates(o, c, hash)
	return p
}

// planSweep removes finished pods once their back-off is over (rule 8).
func (p *Plan) planSweep(o Observation, c census) {
	if len(c.finished) == 0 {
		return
	}
	if o.Now.Before(o.SweepAt) {
		p.wake(o.SweepAt)
		return
	}
	p.Sweep = c.finished
}

// planDeletes gives up surplus pods, and pods of an older template (rules 7, 9 and 12).
func (p *Plan) planDeletes(o Observation, c census, hash string) {
	pods := worstFirst(c.active, hash)
	surplus := max(len(pods)-o.wanted(), 0)
	p.Delete = pods[:surplus:surplus]
	if o.Set.Spec.UpdateStrategy.Type == appv1alpha1.OnDelete || templateProblem(o.Set.Spec.Template) != "" {
		return
	}
	kept := pods[surplus:]
	// What may still become unready, with the pods that are missing or unready already taken off.
	budget := count(kept, isReady) - (o.wanted() - o.maxUnavailable())
	for _, pod := range kept {
		if !isOutdated(pod, hash) {
			continue
		}
		if isReady(pod) {
			if budget <= 0 {
				continue
			}
			budget--
		}
		p.Delete = append(p.Delete, pod)
	}
}

// planCreates makes the missing pods (rules 4, 5, 8 and 12).
func (p *Plan) planCreates(o Observation, c census, hash string) {
	missing := o.wanted() - len(c.active)
	if ahead := len(c.finished) - len(p.Sweep); ahead > o.wanted() {
		missing -= ahead - o.wanted()
	}
	if missing <= 0 || templateProblem(o.Set.Spec.Template) != "" {
		return
	}
	if o.Refusal != nil && o.Now.Before(o.Refusal.Until) {
		p.wake(o.Refusal.Until)
		return
	}
	for _, place := range freePlaces(o, c.active, missing) {
		p.Create = append(p.Create, newPod(o, place, hash))
	}
}

func (p *Plan) wake(at time.Time) {
	if p.WakeAt.IsZero() || at.Before(p.WakeAt) {
		p.WakeAt = at
	}
}
