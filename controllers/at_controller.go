// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
)

// +kubebuilder:rbac:groups=cnat.d2iq.com,resources=ats,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=cnat.d2iq.com,resources=ats/status,verbs=patch
// +kubebuilder:rbac:groups=cnat.d2iq.com,resources=ats/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// duePriority puts Ats whose time has come before all that merely changed. Without it an At that was first seen in the
	// initial list would keep the low priority of that list for ever.
	duePriority = 100
	// recordAfter is when the run of a pod that was made is recorded, unless the news of the pod comes first, as it does. The
	// record can wait; the pods of other Ats that are due cannot.
	recordAfter = 100 * time.Millisecond
)

// AtReconciler runs the commands of Ats. Its rules are those of the package at.
type AtReconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder sends events.
	Recorder events.EventRecorder
	// Clock tells the time.
	Clock clock.WithTicker
	// Defaults are what pods take from the operator's environment.
	Defaults at.Defaults
	// Concurrency is how many Ats are reconciled at the same time; default 1.
	Concurrency int

	memories  memories
	freshness freshness
}

// SetupWithManager registers the controller with mgr. The cache of mgr must have the index of IndexPods.
func (r *AtReconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.freshness = freshness{live: r.Live, cache: mgr.GetCache(), owner: &cnatv1alpha1.At{}, list: cnatv1alpha1.GroupVersion.WithKind("AtList")}
	watch := newClockWatch(r.Clock, mgr.GetClient())
	if err := mgr.Add(watch); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&cnatv1alpha1.At{}, builder.WithPredicates(r.memories.news())).
		Watches(&corev1.Pod{}, enqueueController(atKind), builder.WithPredicates(podChanged(atKind))).
		WatchesRawSource(watch.source()).
		Named("at").
		WithOptions(controllerOptions(r.Concurrency)).
		Complete(r)
}

var atKind = cnatv1alpha1.GroupVersion.WithKind("At")

// Reconcile brings one At a step nearer to its end.
func (r *AtReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	o, m, err := r.observe(ctx, req)
	if o == nil || err != nil {
		return ctrl.Result{}, err
	}
	plan := at.MakePlan(*o)
	if !plan.IsEmpty() || !plan.WakeAt.IsZero() { // While it waits, so that its time costs no list.
		if fresh, err := r.freshness.verify(ctx, o.At, m, o.Pods); err != nil || !fresh {
			return wake(err, o.Now, o.Now.Add(staleRetry))
		}
	}
	for plan.Lookup != "" {
		if err := r.lookup(ctx, o, plan.Lookup); err != nil {
			return ctrl.Result{}, err
		}
		plan = at.MakePlan(*o)
	}
	outcome, created, err := r.act(ctx, *o, plan, m)
	if err != nil {
		return wake(err, o.Now)
	}
	if created {
		return ctrl.Result{RequeueAfter: recordAfter, Priority: ptr.To(0)}, nil
	}
	return r.report(ctx, *o, plan, outcome, m)
}

// observe reads once; nil means that the At is gone.
func (r *AtReconciler) observe(ctx context.Context, req ctrl.Request) (*at.Observation, *memory, error) {
	cached := &cnatv1alpha1.At{}
	if err := r.Client.Get(ctx, req.NamespacedName, cached); err != nil {
		return nil, nil, r.memories.forgetIfGone(req.NamespacedName, err)
	}
	now := r.Clock.Now()
	m := r.memories.of(cached)
	o := &at.Observation{At: newest(m, cached), Deleted: m.deleted, Now: now, Defaults: r.Defaults}
	pods, err := podsOf(ctx, r.Client, cached.Namespace, cached.UID)
	if err == nil {
		o.Pods, err = m.pods(ctx, r.Live, pods, now)
	}
	if err == nil {
		o.Taken, err = r.holder(ctx, m)
	}
	if err != nil {
		return nil, nil, err
	}
	o.Pods = m.withRun(o.Pods, o.At.Status.PodUID)
	if refused := m.refusalOf(cached.Generation); refused != nil {
		o.Refusal = &at.Refusal{Invalid: refused.invalid, Message: refused.message, Until: refused.until}
	}
	return o, m, nil
}

// holder is the pod that was met under the name of the next attempt, as long as it is there. The API server is asked: the
// cache does not show a foreign pod (see ConfigureCache).
func (r *AtReconciler) holder(ctx context.Context, m *memory) (*corev1.Pod, error) {
	if m.holder == nil {
		return nil, nil
	}
	pod := &corev1.Pod{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(m.holder), pod)
	if apierrors.IsNotFound(err) || err == nil && pod.UID != m.holder.UID {
		m.holder = nil
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking up Pod %s: %w", m.holder.Name, err)
	}
	return pod, nil
}

// lookup asks the API server for a pod that the cache does not show.
func (r *AtReconciler) lookup(ctx context.Context, o *at.Observation, name string) error {
	pod := &corev1.Pod{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: o.At.Namespace, Name: name}, pod)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("looking up Pod %s: %w", name, err)
	}
	if err == nil && metav1.IsControlledBy(pod, o.At) {
		o.Pods = append(o.Pods, trim(pod))
		return nil
	}
	if o.Absent == nil {
		o.Absent = sets.New[string]()
	}
	o.Absent.Insert(name)
	return nil
}

// act carries out the plan. It tells whether there is a pod of the At that was not there before.
func (r *AtReconciler) act(ctx context.Context, o at.Observation, plan at.Plan, m *memory) (outcome at.Outcome, created bool, err error) {
	if _, err := deletePods(ctx, r.Client, plan.Delete, m); err != nil {
		return outcome, false, err
	}
	if plan.DeleteAt {
		// An At that was edited in the meantime may have another TTL: the resource version makes the API server reject this.
		same := client.Preconditions{UID: &o.At.UID, ResourceVersion: &o.At.ResourceVersion}
		err := r.Client.Delete(ctx, o.At, same, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if err != nil && !apierrors.IsNotFound(err) {
			return outcome, false, fmt.Errorf("deleting At %s after its ttlSecondsAfterFinished: %w", o.At.Name, err)
		}
	}
	if plan.Create == nil {
		return outcome, false, nil
	}
	var made *corev1.Pod
	switch existing, err := createPod(ctx, r.Client, r.Live, plan.Create); {
	case isRefusal(err):
		m.refuse(err, o.At.Generation, r.Clock.Now()) // Counted from the answer, which may have taken a while.
		outcome.Refusal = &at.Refusal{Invalid: m.refusal.invalid, Message: m.refusal.message, Until: m.refusal.until}
	case err != nil:
		return outcome, false, err
	case existing == nil:
		made = trim(plan.Create)
		r.observeDelay(o)
	case metav1.IsControlledBy(existing, o.At):
		made = trim(existing)
	default:
		outcome.Taken = trim(existing)
		m.holder = outcome.Taken
	}
	if made != nil {
		m.accept()
		m.noteCreated(made, o.Now)
		m.run = made
	}
	return outcome, made != nil, nil
}

// report writes the status if it has changed, then sends the events.
func (r *AtReconciler) report(ctx context.Context, o at.Observation, plan at.Plan, outcome at.Outcome, m *memory) (ctrl.Result, error) {
	if plan.DeleteAt {
		return ctrl.Result{}, nil
	}
	report := at.MakeReport(o, outcome)
	m.noteRun(o.Pods, report.Status.PodUID)
	changed := *o.At
	changed.Status = report.Status
	if err := writeStatus(ctx, r.Client, m, &changed, o.At.Status, changed.Status); err != nil {
		return wake(err, o.Now)
	}
	if o.At.Status.Phase != cnatv1alpha1.PhaseDone && report.Status.Phase == cnatv1alpha1.PhaseDone {
		atRuns.WithLabelValues(string(report.Status.Result), report.Status.Reason).Inc()
	}
	send(r.Recorder, o.At, report.Events)
	result, err := wake(nil, r.Clock.Now(), report.WakeAt, m.checkUnseenAt()) // From now: writing has taken a while.
	result.Priority = ptr.To(duePriority)
	return result, err
}

// observeDelay measures how late a pod was created.
func (r *AtReconciler) observeDelay(o at.Observation) {
	if since, ok := at.StartableSince(o); ok {
		atStartDelay.Observe(max(r.Clock.Since(since), 0).Seconds())
	}
}
