// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// firstRejectionBackoff and lastRejectionBackoff limit the back-off after rejected creates.
const firstRejectionBackoff, lastRejectionBackoff = time.Second, time.Minute

// rejected is what the checker knows about the rejected creates and changes of the pods of one owner.
type rejected struct {
	last   Write
	delay  time.Duration // the shortest time until the next request
	number int
}

// rejections checks that rejected creates, openings, and stops are retried with a back-off that doubles, and that a condition gives the reason
// for a create: P9. The requests of one reconcile are one step.
func (c *Checker) rejections() {
	type key struct {
		process int
		owner   types.UID
		changes bool // A rejected change of a pod says nothing about the create of the next one.
	}
	steps := map[key]*rejected{}
	for _, w := range c.writes {
		changes := w.Opens || w.Stops
		k := key{w.Process, w.Owner, changes}
		switch {
		case !w.createsPod() && !changes || w.Owner == "":
			continue
		case w.Fault != "" || w.Code != http.StatusForbidden && (changes || w.Code != http.StatusUnprocessableEntity) && !c.modified(w):
			if w.Committed() {
				delete(steps, k)
				delete(steps, key{w.Process, w.Owner, true})
			}
			continue
		}
		step, ok := steps[k]
		if ok && step.last.Sent.Equal(w.Sent) {
			continue
		}
		if !ok || c.edited(step.last, w) {
			step = &rejected{}
			steps[k] = step
		}
		c.step(step, w)
	}
}

func (c *Checker) step(step *rejected, w Write) {
	// Round removes the monotonic clock, which does not jump.
	gap, passed := w.Sent.Sub(step.last.Sent), w.Clock.Round(0).Sub(step.last.Clock.Round(0))
	subject := "owner " + string(w.Owner)
	// After a jump of the clock, a delay has another length, and an At may have waited for its time again.
	compared := step.number > 0 && (passed-gap).Abs() <= time.Second
	if c.ServerAhead != nil { // While the operator learns the time of the API server, its own time changes by up to a second.
		gap += time.Second
	}
	if compared {
		c.check("P9", gap >= step.delay/2, subject, "rejected %s came %v after the previous one, before the back-off of %v had passed", w.Call, gap, step.delay)
	}
	if compared && !c.LaggingPods && !w.isStale() && c.full && w.createsPod() { // A status from a stale cache is a conflict.
		c.check("P9", c.reportsRejection(w.Owner, w.Sent), subject, "no condition reports the rejection of %s", w.Name)
	}
	next := min(2*step.delay, lastRejectionBackoff)
	if step.number == 0 || gap > 5*step.delay/2 { // A back-off that was not used for a while starts over.
		next = firstRejectionBackoff
	}
	*step = rejected{last: w, delay: next, number: step.number + 1}
}

// edited reports whether the owner's spec changed between two of its creates, or at the moment of the first. If the caches may have been
// behind, the change may also precede the first create, which may then be for the earlier spec. A reconcile that reads the owner from the API
// server may also see a change after it began.
func (c *Checker) edited(first, second Write) bool {
	from := first.Sent
	if c.LaggingPods || first.isStale() {
		from = from.Add(-staleLimit)
	}
	history := c.history[second.Owner]
	for i, e := range history {
		if i > 0 && e.Object.GetGeneration() != history[i-1].Object.GetGeneration() && !e.Seen.Before(from) && !e.Seen.After(second.Sent.Add(clockError)) {
			return true
		}
	}
	return false
}

// reportsRejection reports whether a condition of an owner reported at a moment that its pods are rejected. It ignores a status that
// another client wrote last.
func (c *Checker) reportsRejection(owner types.UID, at time.Time) bool {
	reports := true
	for _, e := range c.history[owner] {
		if e.Seen.After(at) {
			break
		}
		_, ours := c.ours[e.Object.GetResourceVersion()]
		switch o := e.Object.(type) {
		case *appv1alpha1.PodSet:
			reports = !ours || meta.IsStatusConditionTrue(o.Status.Conditions, appv1alpha1.ConditionDegraded)
		case *cnatv1alpha1.At:
			reports = !ours || meta.IsStatusConditionFalse(o.Status.Conditions, cnatv1alpha1.ConditionScheduled)
		}
	}
	return reports
}
