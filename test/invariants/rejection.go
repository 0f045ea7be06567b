// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// rejections checks that rejected creates, openings, stops, and deletions are retried with a back-off that doubles, and that a condition gives the
// reason: P9. A stop that admission undoes was rejected. The requests of one reconcile are one step.
func (c *Checker) rejections() { //nolint:cyclop // A list of conditions.
	steps := map[request]*rejected{}
	for _, w := range c.writes {
		k := requestOf(w)
		refused := w.Code == http.StatusForbidden || w.Code == http.StatusUnprocessableEntity && k.kind != "open" && k.kind != "stop"
		switch {
		case k.kind == "" || w.Owner == "":
			continue
		case w.Fault == "" && w.Undone:
		case w.Fault != "" || !refused && !c.modified(w):
			if w.Committed() {
				maps.DeleteFunc(steps, func(other request, _ *rejected) bool {
					return other == k || k.kind == "create" && other.owner == k.owner && other.process == k.process
				})
			}
			continue
		}
		step, ok := steps[k]
		if ok && step.last.Sent.Equal(w.Sent) {
			continue
		}
		if !ok || c.edited(step.last, w) || k.kind == "create" && c.becameDue(step.last, w) {
			step = &rejected{}
			steps[k] = step
		}
		c.step(step, w)
	}
}

// request is what a process repeats after a rejection: creates of the pods of an owner, or changes of one pod.
type request struct {
	process int
	owner   types.UID
	kind    string // or "" if it is not about a pod
	pod     types.UID
}

func requestOf(w Write) request {
	r := request{process: w.Process, owner: w.Owner}
	switch {
	case w.createsPod():
		r.kind = "create"
	case w.Opens:
		r.kind, r.pod = "open", w.Precondition
	case w.Stops:
		r.kind, r.pod = "stop", w.Precondition
	case w.Verb == "delete" && w.Resource == "pods":
		r.kind, r.pod = "delete", w.Precondition
	}
	return r
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
	if compared && !c.hasJumped(step.last.Sent, w.Sent) {
		c.check("P9", gap >= step.delay/2, subject, "rejected %s came %v after the previous one, before the back-off of %v had passed", w.Call, gap, step.delay)
	}
	isStale := c.LaggingPods || w.isStale() // A status from a stale cache is a conflict.
	if compared && c.full && !isStale && !c.failedStatus(step.last, w) {
		c.check("P9", c.reportsRejection(w), subject, "no condition reports the rejection of %s", w.Name)
	}
	next := min(2*step.delay, lastRejectionBackoff)
	if step.number == 0 || gap > 5*step.delay/2 || c.hasJumped(step.last.Sent, w.Sent) { // A back-off that was not used for a while starts over.
		next = firstRejectionBackoff
	}
	*step = rejected{last: w, delay: next, number: step.number + 1}
}

// failedStatus reports whether a write of the status failed between two writes about the same owner. A PodSet waits for the cache before it writes
// another one.
func (c *Checker) failedStatus(first, second Write) bool {
	return slices.ContainsFunc(c.writes, func(w Write) bool {
		failed := w.Subresource == "status" && !w.Committed() && w.Name == c.history[second.Owner][0].Object.GetName()
		return failed && !w.Sent.Before(first.Sent) && w.Sent.Before(second.Sent)
	})
}

// edited reports whether the owner's spec changed between two of its creates, or at the moment of the first. If the caches may have been
// behind, the change may also precede the first create, which may then be for the earlier spec. A reconcile that reads the owner from the API
// server may also see a change after it began.
func (c *Checker) edited(first, second Write) bool {
	from := first.Sent
	if c.LaggingPods || first.isStale() {
		from = from.Add(-staleLimit)
	}
	until := second.left()
	history := c.history[second.Owner]
	for i, e := range history {
		if i > 0 && e.Object.GetGeneration() != history[i-1].Object.GetGeneration() && !e.Seen.Before(from) && !e.Seen.After(until) {
			return true
		}
	}
	return false
}

// becameDue reports whether the time of an At, or of its retry, came between two of its creates: then it is tried at once.
func (c *Checker) becameDue(first, second Write) bool {
	from, to := c.decisiveTime(first).Add(-c.clockError()), c.decisiveTime(second).Add(clockError)
	return slices.ContainsFunc(c.history[second.Owner], func(e Event) bool {
		at, ok := e.Object.(*cnatv1alpha1.At)
		if !ok || e.Seen.After(second.Sent) {
			return false
		}
		due, ok := Due(at)
		if retry := at.Status.RetryTime; retry != nil {
			due, ok = retry.Time, true
		}
		return ok && !due.Before(from) && !due.After(to)
	})
}

// reportsRejection reports whether a condition of an owner reported that its pods are rejected, or cannot be changed, when a request was repeated. It
// ignores a status that another client wrote last.
func (c *Checker) reportsRejection(w Write) bool {
	reports := true
	for _, e := range c.history[w.Owner] {
		if e.Seen.After(w.left()) { // The same pass may have recorded it before.
			break
		}
		_, ours := c.ours[e.Object.GetResourceVersion()]
		switch o := e.Object.(type) {
		case *appv1alpha1.PodSet:
			reports = !ours || meta.IsStatusConditionTrue(o.Status.Conditions, appv1alpha1.ConditionDegraded)
		case *cnatv1alpha1.At:
			reports = !ours || meta.IsStatusConditionFalse(o.Status.Conditions, cnatv1alpha1.ConditionScheduled)
			if !w.createsPod() {
				reports = !ours || slices.ContainsFunc(o.Status.Conditions, func(c metav1.Condition) bool {
					return strings.HasPrefix(c.Reason, "Failed") || strings.Contains(c.Message, "denied")
				})
			}
		}
	}
	return reports
}
