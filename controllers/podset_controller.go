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
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/kube/caches"
	"github.com/redhat/podset-operator/internal/kube/objectstate"
	"github.com/redhat/podset-operator/internal/kube/write"
	"github.com/redhat/podset-operator/internal/podset"
)

// +kubebuilder:rbac:groups=app.example.com,resources=podsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=app.example.com,resources=podsets/status,verbs=patch
// +kubebuilder:rbac:groups=app.example.com,resources=podsets/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// PodSetReconciler keeps the pods of PodSets running. Its rules are those of the package podset.
type PodSetReconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	// Recorder sends events.
	Recorder events.EventRecorder
	// Clock tells the time.
	Clock clock.Clock
	// Defaults are the values that pods without a template use.
	Defaults podset.Defaults

	states objectstate.Map[podset.State]
}

func (r *PodSetReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("podset").
		Watches(&appv1alpha1.PodSet{}, &podSetHandler{}, builder.WithPredicates(r.states.IgnoreOwnStatusUpdates())).
		Watches(&corev1.Pod{}, podHandler{caches.EnqueueController(podSetKind)}, builder.WithPredicates(caches.Changed(podSetKind))).
		WithOptions(controllerOptions(podSetConcurrency)).
		Complete(r)
}

// Reconcile brings one PodSet closer to its spec: it observes, plans once, acts, and reports now or later.
func (r *PodSetReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	entry, o, err := r.observe(ctx, req)
	if entry == nil || err != nil {
		return result(ctx, podSetKind, err, time.Time{}, time.Time{}, nil)
	}
	plan := podset.MakePlan(o)
	outcome := r.act(ctx, o, plan)
	err = outcome.DeleteError
	if !outcome.Rejected { // The status shows a rejection, and its retry has its own back-off.
		err = errors.Join(outcome.CreateError, err)
	}
	reportNow := entry.State.ReportNow(o, outcome)
	if reportNow {
		err = errors.Join(err, r.report(ctx, entry, o, &outcome))
	}
	now := r.Clock.Now() // The responses of the API server may have taken a while.
	entry.State.Record(o, plan, outcome, now)
	if !reportNow {
		return ctrl.Result{RequeueAfter: coalesceWindow, Priority: ptr.To(reportPriority)}, nil
	}
	var priority *int
	if outcome.Rejected {
		priority = ptr.To(retryPriority)
	}
	return result(ctx, podSetKind, err, now, entry.State.RequeueAt(o, plan, outcome), priority)
}

// observe reads everything that the decision depends on. The entry is nil if the PodSet is gone.
func (r *PodSetReconciler) observe(ctx context.Context, req ctrl.Request) (*objectstate.Entry[podset.State], podset.Observation, error) {
	var none podset.Observation
	set := &appv1alpha1.PodSet{}
	if err := r.Client.Get(ctx, req.NamespacedName, set); err != nil {
		return nil, none, r.states.ForgetIfGone(req.NamespacedName, err)
	}
	now := r.Clock.Now()
	entry := r.states.Of(set)
	cached, err := caches.List(ctx, r.Client, set)
	if err != nil {
		return nil, none, err
	}
	var o podset.Observation
	err = podOwners.ReadMissing(ctx, r.APIReader, set.Namespace, func(lookedUp map[string]*corev1.Pod) []string {
		o = entry.State.Observe(set, cached, lookedUp, now, r.Defaults)
		return o.Lookups
	})
	return entry, o, err
}

// act carries out the plan and sends the events about it. It tries every deletion; creates stop at the first error.
func (r *PodSetReconciler) act(ctx context.Context, o podset.Observation, plan podset.Plan) podset.Outcome {
	var outcome podset.Outcome
	if plan.IsEmpty() {
		return outcome
	}
	logger := log.FromContext(ctx)
	logger.V(1).Info("Creating and deleting pods", "create", len(plan.Create), "delete", len(plan.Delete), "cleanup", len(plan.Cleanup))
	outcome.Deleted, outcome.DeleteError = write.DeletePods(ctx, r.Client, plan.Delete)
	var err error
	outcome.CleanedUp, err = write.DeletePods(ctx, r.Client, plan.Cleanup)
	outcome.DeleteError = errors.Join(outcome.DeleteError, err)
	outcome.Created, outcome.CreateError = write.InBatches(plan.Create, func(pod *corev1.Pod) (*corev1.Pod, error) {
		return r.create(ctx, o, pod)
	})
	var collision *nameCollisionError
	switch {
	case errors.As(outcome.CreateError, &collision):
		logger.V(1).Info("Another pod has the name, the next name will be used", "pod", collision.name)
		outcome.CreateError, outcome.NameCollision = nil, collision.name
		nameCollisions.WithLabelValues(podSetKind.Kind).Inc()
	case write.IsRejected(outcome.CreateError):
		logger.V(1).Info("The API server rejected a pod", "reason", outcome.CreateError.Error())
		outcome.Rejected = true
		rejectedCreates.WithLabelValues(podSetKind.Kind).Inc()
	}
	reported := outcome
	if ctx.Err() != nil { // The process ends, and its requests were interrupted.
		reported.CreateError, reported.DeleteError = nil, nil
	}
	recordEvents(r.Recorder, o.Set, podset.Events(reported))
	return outcome
}

// create creates one pod. If an active pod of the PodSet already has the name, it is the requested pod.
func (r *PodSetReconciler) create(ctx context.Context, o podset.Observation, pod *corev1.Pod) (*corev1.Pod, error) {
	existing, err := write.CreatePod(ctx, r.Client, r.APIReader, pod)
	switch {
	case err != nil:
		return nil, err
	case existing == nil:
		return podOwners.Trim(pod), nil
	case o.IsActive(existing):
		return podOwners.Trim(existing), nil
	}
	return nil, &nameCollisionError{name: pod.Name}
}

// nameCollisionError says that another pod has the name of a pod that was to be created.
type nameCollisionError struct{ name string }

func (e *nameCollisionError) Error() string {
	return fmt.Sprintf("creating Pod %s: another pod has this name; the next name is tried", e.name)
}

// report writes the status if it has changed.
func (r *PodSetReconciler) report(ctx context.Context, entry *objectstate.Entry[podset.State], o podset.Observation, outcome *podset.Outcome) error {
	changed := *o.Set
	changed.Status = podset.Status(o, *outcome)
	if equality.Semantic.DeepEqual(o.Set.Status, changed.Status) {
		outcome.Reported = true
		return nil
	}
	log.FromContext(ctx).V(4).Info("Writing the status", "status", changed.Status)
	written, err := write.Status(ctx, r.Client, &changed, changed.Status)
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
