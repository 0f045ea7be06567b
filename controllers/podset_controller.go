// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/kube/caches"
	"github.com/redhat/podset-operator/internal/kube/objectstate"
	"github.com/redhat/podset-operator/internal/kube/warnings"
	"github.com/redhat/podset-operator/internal/kube/write"
	"github.com/redhat/podset-operator/internal/podset"
)

// +kubebuilder:rbac:groups=app.example.com,resources=podsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=app.example.com,resources=podsets/status,verbs=patch
// +kubebuilder:rbac:groups=app.example.com,resources=podsets/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// PodSetReconciler keeps the pods of PodSets running. Package podset has its rules.
type PodSetReconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	// Recorder sends events.
	Recorder events.EventRecorder
	// Clock provides the current time.
	Clock clock.WithTicker
	// Defaults are the values that pods without a template use.
	Defaults podset.Defaults

	states objectstate.Map[podset.State]
}

func (r *PodSetReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("podset").
		Watches(&appv1alpha1.PodSet{}, &podSetHandler{}, builder.WithPredicates(r.states.IgnoreOwnStatusUpdates())).
		Watches(&corev1.Pod{}, podHandler{caches.EnqueueController(podSetKind)}, builder.WithPredicates(caches.Changed(podSetKind))).
		WatchesRawSource(afterJumps(mgr, r.Clock, &appv1alpha1.PodSetList{})).
		WithOptions(controllerOptions(podSetConcurrency)).
		Complete(r)
}

// Reconcile moves one PodSet toward its spec: observe, plan, act, then write the status now or in a later reconcile.
func (r *PodSetReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	entry, o, err := r.observe(ctx, req)
	if entry == nil || err != nil {
		return result(ctx, podSetKind, err, time.Time{}, time.Time{}, nil)
	}
	if !o.WaitUntil.IsZero() { // rule 6
		entry.State.Wait(o)
		return ctrl.Result{RequeueAfter: max(o.WaitUntil.Sub(o.Now), time.Millisecond)}, nil
	}
	plan := podset.MakePlan(o)
	outcome := r.act(ctx, o, plan)
	report := podset.MakeReport(o, plan, outcome)
	reportNow := entry.State.ReportNow(o, outcome)
	if reportNow {
		outcome.StatusError = r.writeStatus(ctx, entry, o, report.Status, &outcome)
	}
	if ctx.Err() == nil { // Otherwise the process is ending, and its requests were interrupted.
		recordEvents(r.Recorder, o.Set, report.Events)
		if outcome.Reported {
			recordEvents(r.Recorder, o.Set, report.StatusEvents)
		}
	}
	now := r.Clock.Now() // The responses of the API server may have taken a while.
	entry.State.Record(o, plan, outcome, now)
	if !reportNow {
		return ctrl.Result{RequeueAfter: coalesceWindow, Priority: ptr.To(reportPriority)}, nil
	}
	var priority *int
	webhook := outcome.FailedWebhook()
	if outcome.Rejected != nil || webhook != "" { // This is not an error, and its retry has its own back-off.
		priority = ptr.To(retryPriority)
	}
	if webhook != "" || !plan.IsEmpty() {
		noteWebhook(ctx, &entry.FailedWebhook, webhook, errors.Join(outcome.CreateError, outcome.DeleteError, outcome.StatusError))
	}
	return result(ctx, podSetKind, outcome.Unexplained(), now, entry.State.RequeueAt(o, report, outcome), priority)
}

// observe reads everything that the decision depends on. The entry is nil if the PodSet is gone.
func (r *PodSetReconciler) observe(ctx context.Context, req ctrl.Request) (entry *objectstate.Entry[podset.State], o podset.Observation, err error) {
	seen := podset.Seen{Set: &appv1alpha1.PodSet{}}
	if entry, seen.Pods, _, err = readCaches(ctx, r.Client, &r.states, podSetKind, req, seen.Set, nil); entry == nil || err != nil {
		return nil, o, err
	}
	now := r.Clock.Now()
	err = ownedPods.ReadMissing(ctx, r.APIReader, req.Namespace, func(read map[string]*corev1.Pod) []string {
		seen.LookedUp = read
		o = entry.State.Observe(seen, now, r.Defaults)
		return o.Lookups
	})
	return entry, o, err
}

// act carries out the plan. It tries every deletion; creates stop at the first error.
func (r *PodSetReconciler) act(ctx context.Context, o podset.Observation, plan podset.Plan) podset.Outcome {
	var outcome podset.Outcome
	if plan.IsEmpty() {
		return outcome
	}
	log.FromContext(ctx).V(1).Info("Creating and deleting pods", "create", len(plan.Create), "delete", len(plan.Delete), "cleanup", len(plan.Cleanup))
	var deleteErr, cleanupErr, createErr error
	outcome.Deleted, deleteErr = write.DeletePods(ctx, r.Client, plan.Delete)
	outcome.CleanedUp, cleanupErr = write.DeletePods(ctx, r.Client, plan.Cleanup)
	outcome.DeleteError = errors.Join(deleteErr, cleanupErr)
	var modified podList
	creates, warned := warnings.Collect(ctx)
	outcome.Created, createErr = write.InBatches(plan.Create, func(pod *corev1.Pod) (*corev1.Pod, error) {
		return r.create(creates, o, pod, &modified)
	})
	outcome.Warnings = warned.Text()
	r.classify(ctx, createErr, &outcome)
	if len(modified.pods) > 0 {
		r.deleteModified(ctx, modified.pods, &outcome)
	}
	return outcome
}

// podList collects pods from several goroutines.
type podList struct {
	mu   sync.Mutex
	pods []*corev1.Pod
}

func (l *podList) add(pod *corev1.Pod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pods = append(l.pods, pod)
}

// deleteModified deletes the pods whose name or controller was changed by admission when they were created.
func (r *PodSetReconciler) deleteModified(ctx context.Context, pods []*corev1.Pod, outcome *podset.Outcome) {
	deleted, err := write.DeletePods(ctx, r.Client, pods)
	outcome.Deleted = append(outcome.Deleted, deleted...)
	outcome.Modified = pods
	outcome.DeleteError = errors.Join(outcome.DeleteError, err)
}

// classify stores the first error of the creates by its consequence for the next reconcile.
func (r *PodSetReconciler) classify(ctx context.Context, err error, outcome *podset.Outcome) {
	logger := log.FromContext(ctx)
	var collision *nameCollisionError
	var modified *modifiedError
	switch {
	case errors.As(err, &collision):
		logger.V(1).Info("Another pod has this name, trying the next one", "pod", collision.pod.Name)
		outcome.Conflicting = collision.pod
		nameCollisions.WithLabelValues(podSetKind.Kind).Inc()
	case errors.As(err, &modified), write.IsRejected(err):
		logger.V(1).Info("A pod was rejected", "reason", err.Error())
		outcome.Rejected = err
		rejectedCreates.WithLabelValues(podSetKind.Kind).Inc()
	default:
		outcome.CreateError = err
		if expectations.Webhook(err) != "" {
			rejectedCreates.WithLabelValues(podSetKind.Kind).Inc()
		}
	}
}

// create creates one pod. If an active pod of the PodSet already has the name, it is the requested pod. A pod whose
// name or controller was changed by admission is rejected and added to created. If another pod already has the changed
// name, nothing is created.
func (r *PodSetReconciler) create(ctx context.Context, o podset.Observation, pod *corev1.Pod, created *podList) (*corev1.Pod, error) {
	name := pod.Name
	existing, err := write.CreatePod(ctx, r.Client, r.APIReader, pod)
	if err != nil {
		return nil, err
	}
	stored := cmp.Or(existing, pod)
	modified := podset.ModifiedError(o.Set, name, stored)
	switch {
	case existing != nil && existing.Name == name && !o.IsActive(existing):
		return nil, &nameCollisionError{ownedPods.Trim(existing)}
	case modified == nil:
		return ownedPods.Trim(stored), nil
	case existing == nil:
		created.add(ownedPods.Trim(pod))
	}
	return nil, &modifiedError{modified}
}

// modifiedError is how admission changed the name or the controller of a pod. Such a pod is not used.
type modifiedError struct{ error }

// nameCollisionError carries the pod that has the name of a pod that was to be created.
type nameCollisionError struct{ pod *corev1.Pod }

func (e *nameCollisionError) Error() string {
	return fmt.Sprintf("creating Pod %s: another pod has this name; trying the next one", e.pod.Name)
}

// writeStatus writes the status if it has changed.
func (r *PodSetReconciler) writeStatus(ctx context.Context, entry *objectstate.Entry[podset.State], o podset.Observation, status appv1alpha1.PodSetStatus, outcome *podset.Outcome) error {
	changed := *o.Set
	changed.Status = status
	if equality.Semantic.DeepEqual(o.Set.Status, status) {
		outcome.Reported = true
		return nil
	}
	log.FromContext(ctx).V(4).Info("Writing the status", "status", status)
	written, err := write.Status(ctx, r.Client, &changed, status)
	if err != nil {
		return err
	}
	outcome.Reported = true
	if written {
		entry.StatusWritten(changed.ResourceVersion)
		outcome.Written = &changed
	}
	return nil
}
