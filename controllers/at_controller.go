// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/kube/caches"
	"github.com/redhat/podset-operator/internal/kube/objectstate"
	"github.com/redhat/podset-operator/internal/kube/write"
)

// +kubebuilder:rbac:groups=cnat.d2iq.com,resources=ats,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=cnat.d2iq.com,resources=ats/status,verbs=patch
// +kubebuilder:rbac:groups=cnat.d2iq.com,resources=ats/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete;patch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// duePriority puts Ats that are due before Ats that have only changed. Without it, an At from the initial list
	// would keep the low priority of that list.
	duePriority = 100
	// maxPasses bounds the passes of one reconcile. The longest useful sequence is: delete a pod, create it, record and
	// open it, look again.
	maxPasses = 4
)

// AtReconciler runs the commands of Ats. Package at has its rules.
type AtReconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	// Recorder sends events.
	Recorder events.EventRecorder
	// Clock provides the current time.
	Clock clock.WithTicker
	// Defaults are the values from the operator's environment that pods use.
	Defaults at.Defaults
	// OmitCommands leaves commands out of the log.
	OmitCommands bool

	states objectstate.Map[at.Memory]
	slots  requestSlots
}

func (r *AtReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&cnatv1alpha1.At{}, builder.WithPredicates(r.states.IgnoreOwnStatusUpdates())).
		Watches(&cnatv1alpha1.At{}, countRuns()).
		Watches(&corev1.Pod{}, atPodHandler{caches.EnqueueController(atKind), &r.states}, builder.WithPredicates(caches.Changed(atKind))).
		WatchesRawSource(afterJumps(mgr, r.Clock, &cnatv1alpha1.AtList{})).
		Named("at").
		WithOptions(controllerOptions(atConcurrency)).
		Complete(r)
}

// pass is one At, what was seen of it, and the step that follows.
type pass struct {
	entry *objectstate.Entry[at.Memory]
	view  at.View
	step  at.Step
	// exists is false if the At is gone.
	exists bool
	// ended is true if the step recorded the end of the At. No event follows.
	ended bool
	// since is when the At could have started at the earliest, if the step starts its first attempt.
	since *time.Time
}

// Reconcile moves one At toward completion. Each pass reads, asks what it must know, decides, records the decision in
// the status, and then sends at most one request. The next pass sees the answer.
func (r *AtReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	for range maxPasses {
		p, err := r.decide(ctx, req)
		if err != nil || !p.exists {
			return result(ctx, atKind, err, time.Time{}, time.Time{}, nil)
		}
		next, again, err := r.carryOut(ctx, req, &p)
		if !again {
			return next, err
		}
	}
	return ctrl.Result{RequeueAfter: time.Millisecond, Priority: ptr.To(duePriority)}, nil
}

// carryOut records a decision and sends its request. It returns true if another pass must follow at once.
func (r *AtReconciler) carryOut(ctx context.Context, req ctrl.Request, p *pass) (_ ctrl.Result, again bool, err error) {
	if u, needed := urgencyOf(&p.step); needed {
		if turn := r.slots.enter(req.Namespace, u, r.Clock.Now()); turn > 0 {
			return ctrl.Result{RequeueAfter: turn, Priority: ptr.To(retryPriority)}, false, nil
		}
		defer r.slots.leave(req.Namespace, u)
	}
	if p.exists, err = r.record(ctx, p); apierrors.IsConflict(err) {
		p.entry.State.Conflicted()
		conflicts.WithLabelValues(atKind.Kind).Inc()
		return ctrl.Result{}, true, nil
	}
	if err != nil || !p.exists {
		next, err := result(ctx, atKind, err, time.Time{}, time.Time{}, nil)
		return next, false, err
	}
	sent, err := r.act(ctx, p)
	switch {
	case err != nil:
		next, err := result(ctx, atKind, err, time.Time{}, time.Time{}, ptr.To(retryPriority))
		return next, false, err
	case sent || p.ended:
		return ctrl.Result{}, true, nil
	}
	now := r.Clock.Now() // The responses of the API server may have taken a while.
	requeueAt, urgent := p.entry.State.RequeueAt(&p.view, p.step)
	priority := duePriority
	if !urgent {
		priority = retryPriority
	}
	next, err := result(ctx, atKind, nil, now, requeueAt, &priority)
	return next, false, err
}

// urgencyOf returns the urgency of the request of a step, and false if it has none that admission can delay.
func urgencyOf(s *at.Step) (urgency, bool) {
	if s.Open != nil || s.Stop != nil || s.Delete != nil && s.Stops() {
		return atItsTime, true
	}
	return beforehand, s.Create != nil || s.Delete != nil
}

// decide reads the caches and makes the step, after the API server has answered the questions of the rules.
func (r *AtReconciler) decide(ctx context.Context, req ctrl.Request) (p pass, err error) {
	seen := at.Seen{At: &cnatv1alpha1.At{}}
	p.entry, seen.Pods, seen.OfPredecessor, err = readCaches(ctx, r.Client, &r.states, atKind, req, seen.At, r.logDeletedRun)
	if p.entry == nil || err != nil {
		return p, err
	}
	p.exists, seen.LastStates = true, p.entry.DeletedPods()
	memory, now := &p.entry.State, r.Clock.Now()
	answers := at.Answers{}
	if memory.IsStale() {
		p.exists, err = r.ask(ctx, at.Ask{At: true}, seen.At, &answers)
	}
	for p.exists && err == nil {
		p.view = memory.View(seen, answers, now, r.Defaults)
		if p.step = at.Next(&p.view); !p.step.Asks() {
			break
		}
		p.exists, err = r.ask(ctx, p.step.Ask, seen.At, &answers)
	}
	if err != nil || !p.exists || p.step.Open == nil {
		return p, err
	}
	if since, first := at.EarliestStart(&p.view); first {
		p.since = &since
	}
	return p, nil
}

// record writes the status of a step if it has changed, then sends the events. The write requires the resource version
// of the decision: an edit, a cancel, or a deletion that came first makes it a conflict. It returns false if the At is
// gone.
func (r *AtReconciler) record(ctx context.Context, p *pass) (exists bool, err error) {
	before, report := p.view.At, at.MakeReport(&p.view, p.step)
	logger := log.FromContext(ctx)
	if equality.Semantic.DeepEqual(before.Status, report.Status) {
		p.entry.State.Recorded(&p.view, p.step, nil)
		return true, nil
	}
	changed := *before
	changed.Status = report.Status
	logger.V(4).Info("Writing the status", "status", changed.Status)
	written, err := write.Status(ctx, r.Client, &changed, changed.Status)
	if err != nil || !written { // Nothing remains to be done for an At that is gone.
		return written, err
	}
	p.entry.StatusWritten(changed.ResourceVersion)
	p.entry.State.Recorded(&p.view, p.step, &changed)
	p.view.At = &changed
	if p.ended = !proof.IsDone(&before.Status) && proof.IsDone(&report.Status); p.ended {
		r.logRun(logger, "Run finished", &changed, p.view.Pod)
	}
	recordEvents(r.Recorder, before, report.Events)
	return true, nil
}

// errCacheBehind is the error of a request that the API server has answered with a state of the pod that the cache does
// not show yet. The At is looked at again when the cache has caught up.
var errCacheBehind = apierrors.NewConflict(corev1.Resource("pods"), "", errors.New("the cache does not show the present state of the pod"))

// act sends the request of a step, if it has one, and remembers the answer.
func (r *AtReconciler) act(ctx context.Context, p *pass) (sent bool, err error) {
	logger, s := log.FromContext(ctx), &p.step
	var answer at.Result
	switch {
	case s.Create != nil:
		logger.V(1).Info("Creating the pod with its scheduling gate", "pod", s.Create.Name)
		answer = r.create(ctx, p.view.At, s.Create)
	case s.Open != nil:
		answer = r.open(ctx, p)
	case s.Stop != nil:
		logger.V(1).Info("Lowering the deadline of the pod, so that its node ends it", "pod", s.Stop.Name)
		answer = r.patch(ctx, s.Stop, stopPatch(s.Stop))
	case s.Delete != nil:
		logger.V(1).Info("Deleting the pod", "pod", s.Delete.Name)
		answer = r.deletePod(ctx, s.Delete, s.Delete.UID == p.view.At.Status.PodUID)
	case s.Budget != nil:
		logger.V(1).Info("Deleting the PodDisruptionBudget of the At", "budget", s.Budget.Name)
		r.unprotect(ctx, s.Budget)
		return true, nil
	case s.DeleteAt:
		return false, r.deleteAt(ctx, p.view.At)
	default:
		return false, nil
	}
	if apierrors.IsConflict(answer.Failed) {
		p.entry.State.Contradicted()
		return true, answer.Failed
	}
	webhook := expectations.Webhook(answer.Failed) // It is the fault of whoever owns the webhook, and the condition names it.
	noteWebhook(ctx, &p.entry.FailedWebhook, webhook, answer.Failed)
	if answer.Rejected != nil || webhook != "" {
		rejectedCreates.WithLabelValues(atKind.Kind).Inc()
	}
	p.entry.State.Heard(&p.view, p.step, answer, r.Clock.Now())
	if webhook != "" {
		return true, nil
	}
	return true, answer.Failed
}

// open removes the gate of the recorded pod, after its budget exists if the At must not be interrupted.
func (r *AtReconciler) open(ctx context.Context, p *pass) at.Result {
	logger, pod := log.FromContext(ctx), p.step.Open
	if budget := p.step.Budget; budget != nil {
		logger.V(1).Info("Creating the PodDisruptionBudget of the At", "budget", budget.Name)
		if answer := r.protect(ctx, budget); answer.Rejected != nil || answer.Failed != nil {
			return answer
		}
	}
	logger.V(1).Info("Removing the scheduling gate of the pod", "pod", pod.Name)
	answer := r.patch(ctx, pod, openPatch(pod))
	if p.since != nil && answer.Pod != nil {
		atStartDelay.Observe(max(r.Clock.Since(*p.since), 0).Seconds())
	}
	return answer
}

// deleteAt deletes an At whose TTL is over. An At that was edited in the meantime may have another TTL. Because of the
// precondition, the API server then rejects the deletion.
func (r *AtReconciler) deleteAt(ctx context.Context, over *cnatv1alpha1.At) error {
	log.FromContext(ctx).V(1).Info("Deleting the At: ttlSecondsAfterFinished exceeded")
	same := client.Preconditions{UID: &over.UID, ResourceVersion: &over.ResourceVersion}
	if err := r.Client.Delete(ctx, over, same, client.PropagationPolicy("Background")); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting At %s after its ttlSecondsAfterFinished: %w", over.Name, err)
	}
	return nil
}
