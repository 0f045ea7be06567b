// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"errors"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

// call is a request of a process. It waits until the scheduler commits it and delivers the response.
type call struct {
	invariants.Call
	process *process
	// began is the beginning of the reconcile that sent the call.
	began
	sent time.Time
	// date is the time of the API server when the call was committed.
	date time.Time
	// commit carries out the call.
	commit func() (client.Object, error)
	// answers receives the response.
	answers chan answer
	// committed is the response once the call is committed, or nil before.
	committed *answer
	// verdict is that of a committed dry run.
	verdict invariants.Verdict
	// listed are the pods in a list.
	listed []types.UID
	// written is the number of this call's write in env.writes, from 1, or 0 if there is none.
	written int
	// abandoned is true if the process has crashed, so that it does not wait for the response.
	abandoned bool
}

func (c *call) isRead() bool { return c.Verb == "get" || c.Verb == "list" || c.Verb == "check" }

type answer struct {
	object client.Object
	err    error
}

// errCrashed is the error of every call of a process that has crashed.
var errCrashed = errors.New("the process has crashed")

// do sends a call and waits for the response.
func (p *process) do(ctx context.Context, request invariants.Call, commit func() (client.Object, error)) (client.Object, error) {
	c := &call{Call: request, process: p, sent: p.env.now(), commit: commit, answers: make(chan answer, 1)}
	c.began = p.reconcileOf(ctx)
	if !p.env.arrive(c) {
		return nil, errCrashed
	}
	from := p.clock.Now()
	select {
	case a := <-c.answers:
		if p.observe != nil && !c.date.IsZero() && a.err == nil {
			p.observe(c.date, from, p.clock.Now())
		}
		return a.object, a.err
	case <-p.ctx.Done():
		return nil, errCrashed
	}
}

// maxIdle is how often a process may reconcile between two events.
const maxIdle = 2000

// began is the beginning of a reconcile.
type began struct {
	// at is the time, and clock that of the operator's clock.
	at, clock time.Time
	// stale is true if a cache of PodSets or Ats was behind, and stalePods if the cache of pods was.
	stale, stalePods bool
}

// reconcileOf returns the beginning of the reconcile of a context. The first read of a reconcile calls it.
func (p *process) reconcileOf(ctx context.Context) began {
	id := controller.ReconcileIDFromContext(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.reconciles[id]
	if !ok || id == "" {
		if p.idle++; p.idle == maxIdle {
			p.env.violate("P3", "process %d reconciled %d times in a row without a call", p.number, maxIdle)
		}
		if p.idle >= maxIdle {
			p.mu.Unlock()
			<-p.ctx.Done() // Otherwise the scenario would not end.
			p.mu.Lock()
		}
		known = began{p.env.now(), p.clock.Now(), p.behind(podSets) || p.behind(ats), p.behind(pods)}
		if (known.stale || known.stalePods) && p.ctx.Err() == nil {
			p.env.stats.StaleReads++
		}
		p.reconciles[id] = known
	}
	return known
}

// nextPass notes that a reconcile of an At reads its caches again: each pass decides anew.
func (p *process) nextPass(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.reconciles, controller.ReconcileIDFromContext(ctx))
}

// carryOut commits a call and records a write.
func (e *env) carryOut(c *call) {
	requested := c.Name
	object, err := c.commit()
	c.committed, c.date, c.verdict = &answer{object, err}, e.store.now().Truncate(time.Second), e.verdict(c, err)
	if c.Verb == "list" {
		e.lists = append(e.lists, c.Call)
	}
	if c.isRead() {
		e.noteShown(c, err)
		return
	}
	write := c.write()
	write.Code = http.StatusOK
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		write.Code = int(status.Status().Code)
	}
	if c.stale {
		write.StaleUntil = e.now()
	}
	switch {
	case object != nil:
		write.UID, write.Version, write.Name = object.GetUID(), object.GetResourceVersion(), object.GetName()
		write.Stripped = c.Verb == "create" && metav1.GetControllerOfNoCopy(object) == nil
		write.Renamed = c.Verb == "create" && object.GetName() != requested
		if pod, ok := object.(*corev1.Pod); ok && c.Stops {
			write.Undone = ptr.Deref(pod.Spec.ActiveDeadlineSeconds, 0) != 1
		}
	case status != nil && status.Status().Details != nil:
		write.UID = status.Status().Details.UID
	}
	e.writes = append(e.writes, write)
	c.written = len(e.writes)
	e.countWrite(c, write)
}

// noteShown records which pods a read shows to a process. A list in a namespace selects those with the UID of an At.
func (e *env) noteShown(read *call, err error) {
	if read.Resource != pods {
		return
	}
	for _, pod := range e.store.pods() {
		listed := read.Verb == "list" && (read.Namespace == "" || pod.Labels[cnatv1alpha1.LabelUID] != "")
		if listed {
			read.listed = append(read.listed, pod.UID)
		}
		read.process.shown[pod.UID] = read.process.shown[pod.UID] || listed || read.Verb == "get" && read.Name == pod.Name
	}
	e.noteRenamed(read, err)
}

// noteRenamed records that a process knows that its last create failed because another pod has the name that admission gave its pod. In a
// large scenario it is not known which object a read is for.
func (e *env) noteRenamed(read *call, err error) {
	if !e.webhook.oneName || e.scenario.Only == "" || read.Verb != "get" || read.Name != oneName || err != nil {
		return
	}
	for i := len(e.writes) - 1; i >= 0; i-- {
		if w := &e.writes[i]; w.Process == read.process.number && w.Verb == "create" {
			w.Renamed = w.Renamed || w.Code == http.StatusConflict
			return
		}
	}
}

// write returns what is known about a write before the Store answers it.
func (c *call) write() invariants.Write {
	write := invariants.Write{Call: &c.Call, Process: c.process.number, Sent: c.at, Left: c.sent, Clock: c.clock, StalePods: c.stalePods, Uncached: !c.process.shown[c.Precondition]}
	if c.Resource == ats {
		write.Shown = map[types.UID]bool{}
		for uid, since := range c.process.cached {
			write.Shown[uid] = since.Before(c.at)
		}
	}
	return write
}

// fail records that a call did not reach the Store.
func (e *env) fail(c *call, why string) {
	if !c.isRead() {
		write := c.write()
		write.Fault = why
		e.writes = append(e.writes, write)
	}
}

func (e *env) respond(c *call, a answer) {
	e.remove(c)
	if c.written > 0 && c.Verb == "delete" {
		e.store.finish(c.Name, e.writes[c.written-1].UID)
	}
	if c.written > 0 && a != *c.committed {
		e.writes[c.written-1].Fault = "the response was lost"
	}
	if a.err == nil {
		e.makeOdd(c)
		for _, uid := range c.listed {
			c.process.caches(uid)
		}
	}
	if !c.abandoned {
		c.answers <- a
	}
	if c.Verb == "check" && !c.abandoned {
		if c.committed == nil || a != *c.committed {
			c.verdict = invariants.NoAnswer
		}
		e.checks = append(e.checks, invariants.Check{Call: c.Call, Process: c.process.number, Received: e.now(), Verdict: c.verdict})
	}
}

// verdict returns the meaning of the answer to a dry run.
func (e *env) verdict(c *call, err error) invariants.Verdict {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
		return invariants.Rejected
	case apierrors.IsAlreadyExists(err) && errors.As(err, &status) && status.Status().Details.Name != c.Name: // Admission gives the pod this name.
		return invariants.Changed
	case apierrors.IsAlreadyExists(err):
		return invariants.Taken
	case err != nil:
		return invariants.NoAnswer
	case e.webhook.changesIdentity(true):
		return invariants.Changed
	}
	return invariants.Accepted
}

// fault is an error that a call can get without being carried out.
type fault struct {
	name string
	err  func(c *call) error
}

var faults = []fault{
	{"500", func(*call) error { return apierrors.NewInternalError(errors.New("injected")) }},
	{"503", func(*call) error { return apierrors.NewServiceUnavailable("injected") }},
	{"429", func(*call) error { return apierrors.NewTooManyRequestsError("injected") }},
	{"409", func(c *call) error { return conflict(c.Resource, c.Name, "injected") }},
	{"504", func(c *call) error { return apierrors.NewTimeoutError("injected", 0) }},
	connectionReset,
}

var connectionReset = fault{"connection reset", func(*call) error { return errors.New("injected: connection reset by peer") }}

func deletePrecondition(options *metav1.DeleteOptions) types.UID {
	if options.Preconditions == nil || options.Preconditions.UID == nil {
		return ""
	}
	return *options.Preconditions.UID
}
