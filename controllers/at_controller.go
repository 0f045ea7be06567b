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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/kube/caches"
	"github.com/redhat/podset-operator/internal/kube/objectstate"
	"github.com/redhat/podset-operator/internal/kube/write"
)

// +kubebuilder:rbac:groups=cnat.d2iq.com,resources=ats,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=cnat.d2iq.com,resources=ats/status,verbs=patch
// +kubebuilder:rbac:groups=cnat.d2iq.com,resources=ats/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// duePriority puts Ats that are due before Ats that have only changed. Without it, an At from the initial list would keep the low
	// priority of that list.
	duePriority = 100
	// recordAfter is the delay before the status records a created pod. An event of the pod usually arrives earlier. The record can wait,
	// but other Ats that are due must not wait for their pods.
	recordAfter = 100 * time.Millisecond
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

	states objectstate.Map[at.State]
	checks checkLine
}

func (r *AtReconciler) setup(mgr ctrl.Manager) error {
	jumps, err := afterJumps(mgr, r.Clock, &cnatv1alpha1.AtList{}, func(obj client.Object) bool { return at.WaitsForTime(obj.(*cnatv1alpha1.At)) })
	if err != nil {
		return err
	}
	r.checks.next = make(chan event.GenericEvent)
	return ctrl.NewControllerManagedBy(mgr).
		For(&cnatv1alpha1.At{}, builder.WithPredicates(r.states.IgnoreOwnStatusUpdates())).
		Watches(&cnatv1alpha1.At{}, countRuns()).
		Watches(&corev1.Pod{}, atPodHandler{caches.EnqueueController(atKind), &r.states}, builder.WithPredicates(caches.Changed(atKind))).
		WatchesRawSource(jumps).
		WatchesRawSource(r.checks.source()).
		Named("at").
		WithOptions(controllerOptions(atConcurrency)).
		Complete(r)
}

// decided is one At, its observation, and the plan that follows.
type decided struct {
	entry *objectstate.Entry[at.State]
	seen  at.Seen
	o     at.Observation
	plan  at.Plan
	// startable is since when the At could have started, if this reconcile starts it.
	startable *time.Time
}

// Reconcile moves one At toward completion: observe, start if that is due, act, then write the status now or in a later reconcile.
func (r *AtReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	defer r.checks.request(ctx)
	d, err := r.observe(ctx, req)
	if d == nil || err != nil {
		return result(ctx, atKind, err, time.Time{}, time.Time{}, nil)
	}
	outcome := r.check(ctx, d)
	if d.plan.Start && !outcome.Answer.Holds() {
		if exists, err := r.start(ctx, d, &outcome); err != nil || !exists {
			return result(ctx, atKind, err, time.Time{}, time.Time{}, nil)
		}
	}
	r.act(ctx, d, &outcome)
	err = outcome.DeleteError
	report, exists := at.MakeReport(d.o, d.plan, outcome), true
	if err == nil && !d.plan.DeleteAt && d.entry.State.ReportNow(d.o, d.plan, outcome) {
		exists, err = r.write(ctx, d, report, &outcome)
	}
	err = errors.Join(err, outcome.CreateError)
	now := r.Clock.Now() // The responses of the API server may have taken a while.
	d.entry.State.Record(d.o, d.plan, outcome, now)
	priority := duePriority
	switch {
	case err == nil && (d.plan.DeleteAt || !exists):
		return ctrl.Result{}, nil
	case err == nil && outcome.Created != nil:
		return ctrl.Result{RequeueAfter: recordAfter, Priority: ptr.To(0)}, nil
	}
	requeueAt, canWait := d.entry.State.RequeueAt(d.o, d.plan, report, outcome)
	if outcome.Rejected != nil || canWait {
		priority = retryPriority
	}
	return result(ctx, atKind, err, now, requeueAt, &priority)
}

// observe reads everything that the plan depends on, and makes the plan. It returns nil if the At is gone.
func (r *AtReconciler) observe(ctx context.Context, req ctrl.Request) (d *decided, err error) {
	d = &decided{seen: at.Seen{At: &cnatv1alpha1.At{}}}
	if d.entry, d.seen.Pods, d.seen.Older, err = readCaches(ctx, r.Client, &r.states, atKind, req, d.seen.At); d.entry == nil || err != nil {
		return nil, err
	}
	d.seen.LastState = d.entry.DeletedPod()
	return d, r.decide(ctx, d)
}

// decide makes the plan, after it has looked up the necessary pods.
func (r *AtReconciler) decide(ctx context.Context, d *decided) error {
	now := r.Clock.Now()
	return podOwners.ReadMissing(ctx, r.APIReader, d.seen.At.Namespace, func(read map[string]*corev1.Pod) []string {
		d.seen.LookedUp = read
		d.o = d.entry.State.Observe(d.seen, now, r.Defaults)
		d.plan = at.MakePlan(d.o)
		return d.plan.LookUp
	})
}

// start records the start of an attempt, and makes the plan that follows. If an edit, a cancel, or a deletion came first, the API server
// rejects the record as a conflict. It returns false if the At is gone.
func (r *AtReconciler) start(ctx context.Context, d *decided, outcome *at.Outcome) (exists bool, err error) {
	since, first := at.StartableSince(d.o)
	written, err := r.write(ctx, d, at.StartedStatus(d.o, d.plan), outcome)
	d.entry.State.Record(d.o, d.plan, *outcome, r.Clock.Now())
	if err != nil || !written {
		return false, err
	}
	*outcome = at.Outcome{}
	if first {
		d.startable = &since
	}
	return true, r.decide(ctx, d)
}

func (r *AtReconciler) act(ctx context.Context, d *decided, outcome *at.Outcome) {
	logger := log.FromContext(ctx)
	if d.plan.Delete != nil {
		logger.V(1).Info("Deleting the pod", "pod", d.plan.Delete.Name, "reason", d.o.At.Status.Reason)
		if outcome.Deleted, outcome.DeleteError = write.DeletePods(ctx, r.Client, []*corev1.Pod{d.plan.Delete}); outcome.DeleteError != nil {
			return
		}
	}
	if d.plan.DeleteAt {
		logger.V(1).Info("Deleting the At: ttlSecondsAfterFinished exceeded")
		// An At that was edited in the meantime may have another TTL. Because of the precondition, the API server then rejects the delete.
		same := client.Preconditions{UID: &d.o.At.UID, ResourceVersion: &d.o.At.ResourceVersion}
		if err := r.Client.Delete(ctx, d.o.At, same, client.PropagationPolicy(metav1.DeletePropagationBackground)); !apierrors.IsNotFound(err) && err != nil {
			outcome.DeleteError = fmt.Errorf("deleting At %s after its ttlSecondsAfterFinished: %w", d.o.At.Name, err)
		}
	}
	if d.plan.Create != nil {
		logger.V(1).Info("Creating the pod", "pod", d.plan.Create.Name)
		r.create(ctx, d, outcome)
	}
}

// create creates the pod of an attempt. If a pod of the At already has the name, it is the requested pod.
func (r *AtReconciler) create(ctx context.Context, d *decided, outcome *at.Outcome) {
	logger, requested := log.FromContext(ctx), d.plan.Create
	pod := requested.DeepCopy()
	switch existing, err := write.CreatePod(ctx, r.Client, r.APIReader, pod); {
	case write.IsRejected(err):
		logger.V(1).Info("The API server rejected the pod", "reason", err.Error())
		outcome.Rejected = err
		rejectedCreates.WithLabelValues(atKind.Kind).Inc()
	case err != nil:
		outcome.CreateError = err
	case existing == nil:
		outcome.Created, outcome.Changed = podOwners.Trim(pod), atrun.Changed(requested, pod)
		if d.startable != nil {
			atStartDelay.Observe(max(r.Clock.Since(*d.startable), 0).Seconds())
		}
	case existing.Name != requested.Name:
		outcome.Changed = nameChange(requested, existing.Name)
	case atrun.IsOwn(d.o.At, existing):
		outcome.Created, outcome.Changed = podOwners.Trim(existing), atrun.Changed(requested, existing)
	default:
		logger.V(1).Info("Another pod has this name", "pod", existing.Name)
		outcome.Conflicting = podOwners.Trim(existing)
		nameCollisions.WithLabelValues(atKind.Kind).Inc()
	}
}

// write writes the status of a report if it has changed, then sends the events. It returns false if the At is gone.
func (r *AtReconciler) write(ctx context.Context, d *decided, report at.Report, outcome *at.Outcome) (exists bool, err error) {
	before := d.o.At
	changed := *before
	changed.Status = report.Status
	logger := log.FromContext(ctx)
	if !equality.Semantic.DeepEqual(before.Status, changed.Status) {
		logger.V(4).Info("Writing the status", "status", changed.Status)
		written, err := write.Status(ctx, r.Client, &changed, changed.Status)
		if err != nil || !written { // Nothing remains to be done for an At that is gone.
			return written, err
		}
		d.entry.StatusWritten(changed.ResourceVersion)
		outcome.Written = &changed
	}
	if !atrun.IsDone(&before.Status) && atrun.IsDone(&report.Status) {
		r.logFinishedRun(logger, d.o, &changed)
	}
	recordEvents(r.Recorder, before, report.Events)
	return true, nil
}
