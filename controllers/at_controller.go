// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/kube/caches"
	"github.com/redhat/podset-operator/internal/kube/clockjump"
	"github.com/redhat/podset-operator/internal/kube/objectstate"
	"github.com/redhat/podset-operator/internal/kube/write"
)

// +kubebuilder:rbac:groups=cnat.d2iq.com,resources=ats,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=cnat.d2iq.com,resources=ats/status,verbs=patch
// +kubebuilder:rbac:groups=cnat.d2iq.com,resources=ats/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// duePriority puts Ats that are due before Ats that have only changed. Without it an At that was in the initial list would
	// keep the low priority of that list.
	duePriority = 100
	// recordAfter is the delay before the status records a pod that was created. An event of the pod usually arrives earlier.
	// The record can wait, but other Ats that are due must not wait for their pods.
	recordAfter = 100 * time.Millisecond
)

// AtReconciler runs the commands of Ats. Its rules are those of the package at.
type AtReconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	// Recorder sends events.
	Recorder events.EventRecorder
	// Clock tells the time.
	Clock clock.WithTicker
	// Defaults are the values from the operator's environment that pods use.
	Defaults at.Defaults

	states  objectstate.Map[at.State]
	deleted deletedPods
}

func (r *AtReconciler) setup(mgr ctrl.Manager) error {
	jumps := clockjump.New(r.Clock, r.waiting)
	if err := mgr.Add(jumps); err != nil {
		return fmt.Errorf("adding the clock watch: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&cnatv1alpha1.At{}, builder.WithPredicates(countRuns(), r.states.IgnoreOwnStatusUpdates())).
		Watches(&corev1.Pod{}, caches.EnqueueController(atKind),
			builder.WithPredicates(caches.Changed(atKind), predicate.Funcs{DeleteFunc: r.deleted.note})).
		WatchesRawSource(jumps.Source()).
		Named("at").
		WithOptions(controllerOptions(atConcurrency)).
		Complete(r)
}

// waiting lists the Ats that may wait for a time.
func (r *AtReconciler) waiting(ctx context.Context) ([]client.Object, error) {
	ats := &cnatv1alpha1.AtList{}
	if err := r.Client.List(ctx, ats, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Ats: %w", err)
	}
	var waiting []client.Object
	for i := range ats.Items {
		if at.WaitsForTime(&ats.Items[i]) {
			waiting = append(waiting, &ats.Items[i])
		}
	}
	return waiting, nil
}

// Reconcile moves one At toward completion: observe, plan, act, then write the status now or in a later reconcile.
func (r *AtReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	entry, o, err := r.observe(ctx, req)
	if entry == nil || err != nil {
		return result(ctx, atKind, err, time.Time{}, time.Time{}, nil)
	}
	plan := at.MakePlan(o)
	outcome := r.act(ctx, o, plan)
	err = outcome.DeleteError
	reportNow := err == nil && !plan.DeleteAt && entry.State.ReportNow(o, outcome)
	var report at.Report
	if reportNow {
		report, err = r.report(ctx, entry, o, &outcome)
	}
	err = errors.Join(err, outcome.CreateError)
	now := r.Clock.Now() // The responses of the API server may have taken a while.
	entry.State.Record(o, outcome, now)
	switch {
	case err == nil && plan.DeleteAt:
		return ctrl.Result{}, nil
	case err == nil && !reportNow:
		return ctrl.Result{RequeueAfter: recordAfter, Priority: ptr.To(0)}, nil
	}
	priority := duePriority
	if outcome.Rejected != nil {
		priority = retryPriority
	}
	return result(ctx, atKind, err, now, entry.State.RequeueAt(o, report, outcome), &priority)
}

// observe reads everything that the decision depends on. The entry is nil if the At is gone.
func (r *AtReconciler) observe(ctx context.Context, req ctrl.Request) (*objectstate.Entry[at.State], at.Observation, error) {
	var none at.Observation
	current := &cnatv1alpha1.At{}
	if err := r.Client.Get(ctx, req.NamespacedName, current); err != nil {
		return nil, none, r.states.ForgetIfGone(req.NamespacedName, err)
	}
	now := r.Clock.Now()
	entry := r.states.Of(current)
	if pod := r.deleted.take(current.UID); pod != nil {
		entry.State.PodDeleted(pod)
	}
	cached, err := caches.List(ctx, r.Client, current)
	var stored map[string]*corev1.Pod
	if err == nil && entry.State.CreateIsUnanswered() {
		stored, err = podOwners.ListStored(ctx, r.APIReader, current.Namespace, at.SelectorLabels(current))
	}
	if err != nil {
		return nil, none, err
	}
	var o at.Observation
	err = podOwners.ReadMissing(ctx, r.APIReader, current.Namespace, stored, func(read map[string]*corev1.Pod) []string {
		o = entry.State.Observe(current, cached, read, now, r.Defaults)
		return o.Lookups
	})
	return entry, o, err
}

// act carries out the plan.
func (r *AtReconciler) act(ctx context.Context, o at.Observation, plan at.Plan) (outcome at.Outcome) {
	logger := log.FromContext(ctx)
	if plan.Delete != nil {
		logger.V(1).Info("Deleting the pod", "pod", plan.Delete.Name, "reason", o.At.Status.Reason)
		if outcome.Deleted, outcome.DeleteError = write.DeletePods(ctx, r.Client, []*corev1.Pod{plan.Delete}); outcome.DeleteError != nil {
			return outcome
		}
	}
	if plan.DeleteAt {
		logger.V(1).Info("Deleting the At: ttlSecondsAfterFinished exceeded")
		// An At that was edited in the meantime may have another TTL. The precondition makes the API server reject the delete then.
		same := client.Preconditions{UID: &o.At.UID, ResourceVersion: &o.At.ResourceVersion}
		if err := r.Client.Delete(ctx, o.At, same, client.PropagationPolicy(metav1.DeletePropagationBackground)); !apierrors.IsNotFound(err) && err != nil {
			outcome.DeleteError = fmt.Errorf("deleting At %s after its ttlSecondsAfterFinished: %w", o.At.Name, err)
		}
	}
	if plan.Check != nil {
		r.check(ctx, plan.Check, &outcome)
	}
	if plan.Create != nil {
		logger.V(1).Info("Creating the pod", "pod", plan.Create.Name)
		r.create(ctx, o, plan.Create, &outcome)
	}
	return outcome
}

// check asks the API server whether a pod is valid. The answer to a request that fails otherwise says nothing about the template.
func (r *AtReconciler) check(ctx context.Context, pod *corev1.Pod, outcome *at.Outcome) {
	err := r.Client.Create(ctx, pod, client.DryRunAll)
	outcome.Checked = err == nil || write.IsRejected(err)
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		outcome.Invalid = err.Error()
	}
}

// create creates the pod of an attempt. If a pod of the At already has the name, it is the requested pod.
func (r *AtReconciler) create(ctx context.Context, o at.Observation, pod *corev1.Pod, outcome *at.Outcome) {
	logger := log.FromContext(ctx)
	switch existing, err := write.CreatePod(ctx, r.Client, r.APIReader, pod); {
	case write.IsRejected(err):
		logger.V(1).Info("The API server rejected the pod", "reason", err.Error())
		outcome.Rejected = err
		rejectedCreates.WithLabelValues(atKind.Kind).Inc()
	case err != nil:
		outcome.CreateError = err
	case existing == nil: // Admission may have changed the name or removed the controller reference: the pod is the run all the same.
		outcome.Created = podOwners.Trim(pod)
		if since, ok := at.StartableSince(o); ok {
			atStartDelay.Observe(max(r.Clock.Since(since), 0).Seconds())
		}
	case at.IsOwn(o.At, existing):
		outcome.Created = podOwners.Trim(existing)
	default:
		logger.V(1).Info("Another pod has the name", "pod", existing.Name)
		outcome.Conflicting = podOwners.Trim(existing)
		nameCollisions.WithLabelValues(atKind.Kind).Inc()
	}
}

// report writes the status if it has changed, then sends the events.
func (r *AtReconciler) report(ctx context.Context, entry *objectstate.Entry[at.State], o at.Observation, outcome *at.Outcome) (at.Report, error) {
	report := at.MakeReport(o, *outcome)
	changed := *o.At
	changed.Status = report.Status
	outcome.Reported = &report.Status
	logger := log.FromContext(ctx)
	if !equality.Semantic.DeepEqual(o.At.Status, changed.Status) {
		logger.V(4).Info("Writing the status", "status", changed.Status)
		written, err := write.Status(ctx, r.Client, &changed, changed.Status)
		if err != nil || !written { // Nothing remains to be done for an At that is gone.
			return at.Report{}, err
		}
		entry.StatusWritten(changed.ResourceVersion)
		outcome.Written = &changed
	}
	if !at.IsDone(&o.At.Status) && at.IsDone(&report.Status) {
		logFinishedRun(logger, &changed)
	}
	recordEvents(r.Recorder, o.At, report.Events)
	return report, nil
}

// logFinishedRun writes the line of the history of runs. docs/how-to/history.md documents its keys. The logger adds namespace and name.
func logFinishedRun(logger logr.Logger, finished *cnatv1alpha1.At) {
	s := &finished.Status
	keys := []any{
		"uid", finished.UID, "result", s.Result, "reason", s.Reason,
		"attempts", s.Attempts, "scheduled", logTime(s.ScheduledTime), "started", logTime(s.StartTime), "finished", logTime(s.CompletionTime),
		"requester", finished.Annotations[cnatv1alpha1.AnnotationRequestedBy],
	}
	if s.ExitCode != nil {
		keys = append(keys, "exitCode", *s.ExitCode)
	}
	logger.Info("Run finished", keys...)
}

// logTime returns a time in RFC 3339, or nil. The logger would print a metav1.Time in the format of Go.
func logTime(t *metav1.Time) any {
	if t == nil {
		return nil
	}
	return t.ToUnstructured()
}

// deletedPods are the last states of deleted pods, by the UID of their controller, until it is reconciled.
type deletedPods struct {
	mu    sync.Mutex
	byUID map[types.UID]*corev1.Pod
}

// note remembers the last state of a pod. It drops no event: it is the predicate of a watch. After a gap in the watch, the last state is not
// known.
func (d *deletedPods) note(e event.DeleteEvent) bool {
	pod, ok := e.Object.(*corev1.Pod)
	if owner := metav1.GetControllerOfNoCopy(e.Object); ok && owner != nil && owner.Kind == atKind.Kind && !e.DeleteStateUnknown {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.byUID == nil {
			d.byUID = map[types.UID]*corev1.Pod{}
		}
		d.byUID[owner.UID] = pod
	}
	return true
}

// take returns the pod of a controller that was deleted last and forgets it, or returns nil if there is none.
func (d *deletedPods) take(controller types.UID) *corev1.Pod {
	d.mu.Lock()
	defer d.mu.Unlock()
	pod := d.byUID[controller]
	delete(d.byUID, controller)
	return pod
}
