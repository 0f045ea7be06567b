// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/podset"
)

// +kubebuilder:rbac:groups=app.example.com,resources=podsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=app.example.com,resources=podsets/status,verbs=patch
// +kubebuilder:rbac:groups=app.example.com,resources=podsets/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Finished pods are removed after 10 s, doubling to 5 minutes while pods keep ending.
const minSweepBackoff, maxSweepBackoff = 10 * time.Second, 5 * time.Minute

// PodSetReconciler keeps the pods of PodSets. Its rules are those of the package podset.
type PodSetReconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder sends events.
	Recorder events.EventRecorder
	// Clock tells the time.
	Clock clock.Clock
	// Defaults are what pods without a template are made of.
	Defaults podset.Defaults
	// Concurrency is how many PodSets are reconciled at the same time; default 1.
	Concurrency int

	memories  memories
	freshness freshness
}

// SetupWithManager registers the controller with mgr. The cache of mgr must have the index of IndexPods.
func (r *PodSetReconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.freshness = freshness{live: r.Live, cache: mgr.GetCache(), owner: &appv1alpha1.PodSet{}, list: podSetListKind}
	return ctrl.NewControllerManagedBy(mgr).
		Named("podset").
		Watches(&appv1alpha1.PodSet{}, &podSetEvents{}, builder.WithPredicates(r.memories.news())).
		Watches(&corev1.Pod{}, podEvents{enqueueController(podSetKind)}, builder.WithPredicates(podChanged(podSetKind))).
		WithOptions(controllerOptions(r.Concurrency)).
		Complete(r)
}

var (
	podSetKind     = appv1alpha1.GroupVersion.WithKind("PodSet")
	podSetListKind = appv1alpha1.GroupVersion.WithKind("PodSetList")
)

// Reconcile brings one PodSet a step nearer to its spec.
func (r *PodSetReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	o, m, err := r.observe(ctx, req)
	if o == nil || err != nil {
		return ctrl.Result{}, err
	}
	plan := podset.MakePlan(*o)
	if !plan.IsEmpty() {
		if fresh, err := r.freshness.verify(ctx, o.Set, m, o.Pods); err != nil || !fresh {
			return wake(err, o.Now, o.Now.Add(staleRetry))
		}
	}
	outcome := r.act(ctx, *o, plan, m)
	if m.unreported = m.unreported.Merge(outcome); m.reportBy.IsZero() {
		m.reportBy = o.Now.Add(reportWithin)
	}
	if outcome.Succeeded() && o.Now.Before(m.reportBy) {
		return ctrl.Result{RequeueAfter: batchWindow, Priority: ptr.To(reportPriority)}, nil
	}
	return r.report(ctx, *o, plan, outcome, m)
}

// observe reads once; nil means that the PodSet is gone.
func (r *PodSetReconciler) observe(ctx context.Context, req ctrl.Request) (*podset.Observation, *memory, error) {
	set := &appv1alpha1.PodSet{}
	if err := r.Client.Get(ctx, req.NamespacedName, set); err != nil {
		return nil, nil, r.memories.forgetIfGone(req.NamespacedName, err)
	}
	now := r.Clock.Now()
	m := r.memories.of(set)
	set = newest(m, set)
	pods, err := podsOf(ctx, r.Client, set.Namespace, set.UID)
	if err == nil {
		pods, err = m.pods(ctx, r.Live, pods, now)
	}
	if err != nil {
		return nil, nil, err
	}
	o := &podset.Observation{
		Set: set, TemplateHash: m.hash(set), Pods: pods, Deleted: m.deleted, Attempts: m.attempts, Now: now,
		Defaults: r.Defaults,
	}
	if refused := m.refusalOf(set.Generation); refused != nil {
		o.Rejection = &expectations.Rejection{Message: refused.message, Until: refused.until}
	}
	o.CleanupAt = scheduleSweep(*o, m)
	return o, m, nil
}

// scheduleSweep decides when the finished pods are removed, from the first one on that is seen.
func scheduleSweep(o podset.Observation, m *memory) time.Time {
	switch {
	case !o.HasFinished():
		m.sweepAt = time.Time{}
	case m.sweepAt.IsZero():
		m.sweepAt = m.sweeps.next(o.Now, minSweepBackoff, maxSweepBackoff)
	}
	return m.sweepAt
}

// act carries out the plan. It tries every deletion; creates stop at the first error.
func (r *PodSetReconciler) act(ctx context.Context, o podset.Observation, plan podset.Plan, m *memory) podset.Outcome {
	var outcome podset.Outcome
	outcome.Deleted, outcome.DeleteError = deletePods(ctx, r.Client, plan.Delete, m)
	var err error
	outcome.CleanedUp, err = deletePods(ctx, r.Client, plan.Cleanup, m)
	outcome.DeleteError = errors.Join(outcome.DeleteError, err)
	if len(plan.Cleanup) > 0 {
		m.sweepAt = time.Time{}
	}
	outcome.Created, outcome.CreateError = createPods(plan.Create, func(pod *corev1.Pod) (*corev1.Pod, error) {
		return r.create(ctx, o, pod)
	})
	for _, pod := range outcome.Created {
		m.noteCreated(pod, o.Now)
	}
	var taken *nameTakenError
	switch err := outcome.CreateError; {
	case errors.As(err, &taken):
		outcome.CreateError, outcome.NameCollision = nil, taken.name // The next name is tried; nobody needs to know.
	case isRefusal(err):
		m.refuse(err, o.Set.Generation, r.Clock.Now()) // Counted from the answer, which may have taken a while.
		outcome.Rejected = true
	case len(plan.Create) > 0 && err == nil:
		m.accept()
	}
	m.attempts = podset.AttemptsAfter(m.attempts, plan, outcome)
	return outcome
}

// create makes one pod. A pod of the same name that is active and the PodSet's own is the pod that was wanted.
func (r *PodSetReconciler) create(ctx context.Context, o podset.Observation, pod *corev1.Pod) (*corev1.Pod, error) {
	existing, err := createPod(ctx, r.Client, r.Live, pod)
	if existing == nil || err != nil {
		return trim(pod), err
	}
	if o.IsActive(existing) {
		return trim(existing), nil
	}
	return nil, &nameTakenError{name: pod.Name}
}

// report writes the status if it has changed, then sends the events.
func (r *PodSetReconciler) report(ctx context.Context, o podset.Observation, plan podset.Plan, outcome podset.Outcome, m *memory) (ctrl.Result, error) {
	changed := *o.Set
	changed.Status = podset.Status(o, outcome)
	err := errors.Join(retryable(outcome.CreateError), outcome.DeleteError)
	if statusErr := writeStatus(ctx, r.Client, m, &changed, o.Set.Status, changed.Status); statusErr != nil {
		return wake(errors.Join(err, statusErr), o.Now)
	}
	send(r.Recorder, o.Set, podset.Events(m.unreported))
	m.unreported, m.reportBy = podset.Outcome{}, time.Time{}
	var retryAt time.Time
	switch {
	case outcome.Rejected:
		retryAt = m.refusal.until
	case outcome.NameCollision != "":
		retryAt = o.Now
	}
	return wake(err, r.Clock.Now(), plan.RequeueAt, retryAt, m.checkUnseenAt())
}
