// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/kube/caches"
	"github.com/redhat/podset-operator/internal/podset"
	"github.com/redhat/podset-operator/internal/testutil"
)

// These tests show how one reconcile handles the answers of the API server, which come from a fake client. They are
// about what the simulation does not see: metrics, priorities, the log, the requests of an end of the process, and
// answers that it does not give or gives rarely.

// fields lets caches.Index add its index to a fake client.
type fields struct{ *fake.ClientBuilder }

func (f fields) IndexField(_ context.Context, obj client.Object, field string, of client.IndexerFunc) error {
	f.WithIndex(obj, field, of)
	return nil
}

func newStore(t *testing.T, calls interceptor.Funcs, objects ...client.Object) client.WithWatch {
	t.Helper()
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&appv1alpha1.PodSet{}, &cnatv1alpha1.At{}).WithInterceptorFuncs(calls)
	if err := caches.Index(t.Context(), fields{b}); err != nil {
		t.Fatal(err)
	}
	return b.Build()
}

func atOn(store client.WithWatch, now time.Time) (*AtReconciler, *events.FakeRecorder) {
	recorder := events.NewFakeRecorder(8)
	return &AtReconciler{
		Client: store, APIReader: store, Recorder: recorder, Clock: clocktesting.NewFakeClock(now), Defaults: at.Defaults{Image: "busybox"},
	}, recorder
}

func setOn(store client.WithWatch, now time.Time) (*PodSetReconciler, *events.FakeRecorder) {
	recorder := events.NewFakeRecorder(8)
	return &PodSetReconciler{Client: store, APIReader: store, Recorder: recorder, Clock: clocktesting.NewFakeClock(now)}, recorder
}

func requestFor(obj client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)}
}

func valueOf(t *testing.T, metric prometheus.Metric) *dto.Metric {
	t.Helper()
	var m dto.Metric
	if err := metric.Write(&m); err != nil {
		t.Fatal(err)
	}
	return &m
}

func counted(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	return valueOf(t, c).GetCounter().GetValue()
}

func rejectCreates(answer error) interceptor.Funcs {
	return interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return answer }}
}

// slowStatus is an API server that takes a while to write a status.
func slowStatus(c *clocktesting.FakeClock, takes time.Duration) interceptor.Funcs {
	return interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, store client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			c.Step(takes)
			return store.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
	}
}

func doneAt(at *testutil.AtBuilder, result cnatv1alpha1.Result, reason string) *cnatv1alpha1.At {
	done := at.Recorded(1, "a-pod", "a-pod-uid").Obj()
	done.Status.Phase, done.Status.Result, done.Status.Reason = cnatv1alpha1.PhaseDone, result, reason
	done.Status.CompletionTime = ptr.To(metav1.NewTime(testutil.AtDue))
	return done
}

var podResource = schema.GroupResource{Resource: "pods"}

func TestAtReconcile_createError(t *testing.T) {
	for title, tc := range map[string]struct {
		answer             error // or nil if a foreign pod has the name
		fails              bool
		reason             string
		rejected, collided float64
		priority           int
	}{
		"a quota":             {apierrors.NewForbidden(podResource, "a-pod", errors.New("quota")), false, cnatv1alpha1.ReasonFailedCreate, 1, 0, handler.LowPriority},
		"an invalid pod":      {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a-pod", field.ErrorList{field.Required(field.NewPath("spec", "containers"), "")}), false, cnatv1alpha1.ReasonInvalidTemplate, 1, 0, handler.LowPriority},
		"a policy":            {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a-pod", nil), false, cnatv1alpha1.ReasonFailedCreate, 1, 0, handler.LowPriority},
		"a broken API server": {apierrors.NewInternalError(errors.New("etcd")), true, "", 0, 0, handler.LowPriority},
		"a foreign pod":       {nil, false, cnatv1alpha1.ReasonPodNameConflict, 1, 1, handler.LowPriority},
	} {
		at, objects, calls := testutil.MakeAt("a").Template(nil, "main").Obj(), []client.Object{}, interceptor.Funcs{}
		if tc.answer == nil {
			objects = append(objects, testutil.MakePod("a-pod").Obj())
		} else {
			calls = rejectCreates(tc.answer)
		}
		store := newStore(t, calls, append(objects, at)...)
		r, _ := atOn(store, testutil.AtDue.Add(2*time.Second))
		rejected, collided := rejectedCreates.WithLabelValues("At"), nameCollisions.WithLabelValues("At")
		rejectedBefore, collidedBefore := counted(t, rejected), counted(t, collided)
		result, err := r.Reconcile(t.Context(), requestFor(at))
		if (err != nil) != tc.fails || tc.rejected > 0 && result.RequeueAfter != time.Second {
			t.Errorf("%s: %v, %v", title, result, err)
		}
		// The retries of slow failures must not occupy all workers.
		if ptr.Deref(result.Priority, 0) != tc.priority {
			t.Errorf("%s: the retry has the priority %d, want %d", title, ptr.Deref(result.Priority, 0), tc.priority)
		}
		if counted(t, rejected)-rejectedBefore != tc.rejected || counted(t, collided)-collidedBefore != tc.collided {
			t.Errorf("%s: not counted", title)
		}
		if len(r.slots.taken) > 0 {
			t.Errorf("%s: the slot of the request is still taken: %v", title, r.slots.taken)
		}
		if err := store.Get(t.Context(), client.ObjectKeyFromObject(at), at); err != nil || scheduledReason(at) != tc.reason {
			t.Errorf("%s: %s (%v)", title, scheduledReason(at), err)
		}
	}
}

func TestAtReconcile_delayMetric(t *testing.T) {
	at := testutil.MakeAt("a").Obj()
	r, _ := atOn(newStore(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
		obj.SetUID("uid")
		return c.Create(ctx, obj, opts...)
	}}, at), testutil.AtDue.Add(2*time.Second))
	before := valueOf(t, atStartDelay).GetHistogram()
	if _, err := r.Reconcile(t.Context(), requestFor(at)); err != nil {
		t.Error(err)
	}
	after := valueOf(t, atStartDelay).GetHistogram()
	if count, sum := after.GetSampleCount()-before.GetSampleCount(), after.GetSampleSum()-before.GetSampleSum(); count != 1 || math.Round(sum) != 2 {
		t.Errorf("%d starts with a delay of %g s", count, sum)
	}
}

func TestAtReconcile_deleteError(t *testing.T) {
	at := testutil.MakeAt("a").Cancel().Recorded(1, "a-pod", "a-pod-uid").Obj()
	store := newStore(t, interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
		return apierrors.NewInternalError(errors.New("etcd"))
	}}, at, testutil.MakeAtPod(at, "a-pod").Gated(1).Obj())
	r, _ := atOn(store, testutil.AtDue.Add(time.Minute))
	if _, err := r.Reconcile(t.Context(), requestFor(at)); err == nil {
		t.Error("the pod stays")
	}
}

// A pod whose node could have begun to run it since the decision is not deleted.
func TestAtReconciler_deletePod(t *testing.T) {
	pod := func() *testutil.AtPodBuilder { return testutil.MakeAtPod(testutil.MakeAt("a").Obj(), "a-pod") }
	for title, tc := range map[string]struct {
		known   *corev1.Pod
		ofRun   bool
		changed bool
		stays   bool
	}{
		"no node has it":                       {known: pod().Gated(1).Obj()},
		"no node had it, and it has changed":   {known: pod().Gated(1).Obj(), changed: true, stays: true},
		"it is that of the run":                {known: pod().OnNode().Obj(), ofRun: true},
		"that of the run has changed":          {known: pod().OnNode().Obj(), ofRun: true, changed: true, stays: true},
		"admission started it, and it changes": {known: pod().OnNode().Obj(), changed: true},
	} {
		store := newStore(t, interceptor.Funcs{}, tc.known.DeepCopy())
		known := &podsOf(t, store)[0]
		if tc.changed {
			now := known.DeepCopy()
			now.Status.Phase = corev1.PodRunning
			if err := store.Status().Update(t.Context(), now); err != nil {
				t.Fatal(err)
			}
		}
		r, _ := atOn(store, testutil.AtDue)
		answer := r.deletePod(t.Context(), known, tc.ofRun)
		if left := len(podsOf(t, store)) == 1; left != tc.stays || apierrors.IsConflict(answer.Failed) != tc.stays {
			t.Errorf("%s: it is left: %t, %+v", title, left, answer)
		}
	}
}

func TestAtReconcile_ttl(t *testing.T) {
	for title, tc := range map[string]struct {
		calls     interceptor.Funcs
		requeue   time.Duration
		stays     bool
		conflicts float64
	}{
		"it is deleted": {},
		"it is gone": {calls: interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "ats"}, "a")
		}}, stays: true},
		"it was edited, and the cache does not show it yet": {calls: interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				err := c.Get(ctx, key, obj, opts...)
				obj.SetResourceVersion("998")
				return err
			},
		}, requeue: time.Millisecond, stays: true, conflicts: maxPasses},
	} {
		at := doneAt(testutil.MakeAt("a").TTL(0), cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted)
		store := newStore(t, tc.calls, at)
		r, _ := atOn(store, testutil.AtDue.Add(time.Minute))
		before := counted(t, conflicts.WithLabelValues("At"))
		if result, err := r.Reconcile(t.Context(), requestFor(at)); err != nil || result.RequeueAfter != tc.requeue {
			t.Errorf("%s: %+v, %v", title, result, err)
		}
		if got := counted(t, conflicts.WithLabelValues("At")) - before; got != tc.conflicts {
			t.Errorf("%s: %v conflicts are counted", title, got)
		}
		list := &cnatv1alpha1.AtList{}
		if err := store.List(t.Context(), list); err != nil || (len(list.Items) == 1) != tc.stays {
			t.Errorf("%s: %d Ats, %v", title, len(list.Items), err)
		}
	}
}

// TestAnswerOf has the kinds of answers to the dry run of a pod.
func TestAnswerOf(t *testing.T) {
	at0 := testutil.MakeAt("a").Obj()
	requested := testutil.MakeAtPod(at0, "a-pod").Obj()
	requested.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: cnatv1alpha1.StartGate}}
	requested.Spec.Containers = []corev1.Container{{Name: "busybox"}}
	renamed := requested.DeepCopy()
	renamed.Name = "x"
	shorter := requested.DeepCopy()
	shorter.Spec.ActiveDeadlineSeconds = ptr.To[int64](60)
	taken := apierrors.NewAlreadyExists(podResource, "x")
	for title, tc := range map[string]struct {
		got      *corev1.Pod
		err      error
		rejected bool
		modified bool
		unknown  bool
		warning  bool
	}{
		"accepted":                           {got: requested},
		"a shorter deadline":                 {got: shorter, warning: true},
		"renamed":                            {got: renamed, modified: true},
		"renamed, and the name is taken":     {got: requested, err: taken, modified: true},
		"forbidden":                          {got: requested, err: apierrors.NewForbidden(podResource, "a-pod", errors.New("quota")), rejected: true},
		"invalid":                            {got: requested, err: apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a-pod", nil), rejected: true},
		"a webhook denies it with code 400":  {got: requested, err: &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 400, Message: "denied"}}, rejected: true},
		"a webhook does not support dry run": {got: requested, err: apierrors.NewBadRequest("admission webhook does not support dry run"), unknown: true},
		"a webhook does not answer":          {got: requested, err: apierrors.NewInternalError(errors.New("failed calling webhook")), unknown: true},
		"a timeout":                          {got: requested, err: context.DeadlineExceeded, unknown: true},
	} {
		got := answerOf(requested, tc.got, tc.err)
		if (got.Rejection != nil) != tc.rejected || (got.Modified != "") != tc.modified || (len(got.Warnings) > 0) != tc.warning || (got.Unknown != "") != tc.unknown {
			t.Errorf("%s: %+v", title, got)
		}
	}
}

// TestAtReconcile_dryRunTaken has the pods that can have the name of the pod of a waiting At.
func TestAtReconcile_dryRunTaken(t *testing.T) {
	older := testutil.MakeAt("a").Obj()
	older.UID = "older"
	for title, tc := range map[string]struct {
		holder *corev1.Pod
		want   string
	}{
		"a foreign pod": {testutil.MakePod("a-pod").Obj(), "PodNameConflict: pod a-pod already exists. It does not belong to this At, which can start when the name is free: " +
			"delete the pod, or choose another name for the At"},
		"a pod of a deleted At": {testutil.MakeAtPod(older, "a-pod").Obj(), "AdmissionWarning: runs at 2030-01-30T10:02:00Z; " +
			"pod a-pod belongs to a deleted At with the same name: this At starts when that pod is gone"},
		"a pod that is gone when it is read": {nil, "Waiting: runs at 2030-01-30T10:02:00Z"},
	} {
		at0, objects := testutil.MakeAt("a").Obj(), []client.Object{}
		if tc.holder != nil {
			objects = append(objects, tc.holder)
		}
		store := newStore(t, rejectCreates(apierrors.NewAlreadyExists(podResource, "a-pod")), append(objects, at0)...)
		r, _ := atOn(store, testutil.AtDue.Add(-time.Hour))
		if _, err := r.Reconcile(t.Context(), requestFor(at0)); err != nil {
			t.Errorf("%s: %v", title, err)
		}
		if err := store.Get(t.Context(), client.ObjectKeyFromObject(at0), at0); err != nil {
			t.Fatal(err)
		}
		if ready := meta.FindStatusCondition(at0.Status.Conditions, cnatv1alpha1.ConditionReady); ready == nil || ready.Reason+": "+ready.Message != tc.want {
			t.Errorf("%s: %+v, want %s", title, ready, tc.want)
		}
	}
}

// The create of a pod whose owner and gate admission takes is not answered. The pod runs, and the next create finds it:
// the command must not run again when the name is free, and the pod is stopped.
func TestAtReconcile_runWithoutOwner(t *testing.T) {
	at0, lost := testutil.MakeAt("a").Obj(), true
	store := newStore(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
		pod := obj.(*corev1.Pod)
		pod.UID, pod.OwnerReferences, pod.Spec.SchedulingGates, pod.Spec.NodeName = "uid", nil, nil, "node"
		if err := c.Create(ctx, obj, opts...); err != nil || !lost {
			return err
		}
		lost = false
		return io.ErrUnexpectedEOF
	}}, at0)
	r, _ := atOn(store, testutil.AtDue.Add(time.Second))
	if _, err := r.Reconcile(t.Context(), requestFor(at0)); err == nil {
		t.Fatal("the create was answered")
	}
	if _, err := r.Reconcile(t.Context(), requestFor(at0)); err != nil {
		t.Fatal(err)
	}
	if err := store.Get(t.Context(), client.ObjectKeyFromObject(at0), at0); err != nil {
		t.Fatal(err)
	}
	if s := at0.Status; s.Reason != cnatv1alpha1.ReasonPodModified || s.PodUID != "uid" || scheduledReason(at0) == cnatv1alpha1.ReasonPodNameConflict {
		t.Errorf("%+v", s)
	}
	if pods := podsOf(t, store); len(pods) != 1 || ptr.Deref(pods[0].Spec.ActiveDeadlineSeconds, 0) != at.StopNow {
		t.Errorf("it is not stopped: %+v", pods)
	}
}

// If admission changes the name of a pod, another pod can have that name: one whose create was not answered, or one of
// another owner.
func TestAtReconcile_renamedPod(t *testing.T) {
	for title, foreign := range map[string]bool{"that of a lost answer": false, "that of another owner": true} {
		at0, lost, objects := testutil.MakeAt("a").Obj(), !foreign, []client.Object{}
		if foreign {
			objects = append(objects, testutil.MakeAtPod(testutil.MakeAt("b").Obj(), "renamed").Obj())
		}
		store := newStore(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			pod := obj.(*corev1.Pod)
			pod.UID, pod.Name, pod.Spec.SchedulingGates = "uid", "renamed", nil
			if err := c.Create(ctx, obj, opts...); err != nil || !lost {
				return err
			}
			lost = false
			return io.ErrUnexpectedEOF
		}}, append(objects, at0)...)
		r, _ := atOn(store, testutil.AtDue.Add(time.Second))
		if _, err := r.Reconcile(t.Context(), requestFor(at0)); (err == nil) != foreign {
			t.Fatalf("%s: %v", title, err)
		}
		for range 3 {
			if _, err := r.Reconcile(t.Context(), requestFor(at0)); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.Get(t.Context(), client.ObjectKeyFromObject(at0), at0); err != nil {
			t.Fatal(err)
		}
		if pods := podsOf(t, store); (len(pods) > 0) != foreign || at0.Status.Reason != cnatv1alpha1.ReasonPodModified {
			t.Errorf("%s: %d pods are left, %+v", title, len(pods), at0.Status)
		}
	}
}

func TestReconcile_gone(t *testing.T) {
	store := newStore(t, interceptor.Funcs{})
	ats, _ := atOn(store, testutil.AtDue)
	sets, _ := setOn(store, testutil.AtDue)
	for _, r := range []reconcile.Reconciler{ats, sets} {
		if result, err := r.Reconcile(t.Context(), reconcile.Request{}); err != nil || result != (ctrl.Result{}) {
			t.Errorf("%T: %+v, %v", r, result, err)
		}
	}
}

func TestPodSetReconcile_rejected(t *testing.T) {
	set := testutil.MakePodSet("a").Obj()
	now := testutil.Created.Add(time.Hour)
	rejected, collided := rejectedCreates.WithLabelValues("PodSet"), nameCollisions.WithLabelValues("PodSet")
	rejectedBefore, collidedBefore := counted(t, rejected), counted(t, collided)

	r, _ := setOn(newStore(t, rejectCreates(apierrors.NewForbidden(podResource, "p", errors.New("quota"))), set), now)
	if result, err := r.Reconcile(t.Context(), requestFor(set)); err != nil || result.RequeueAfter != time.Second || ptr.Deref(result.Priority, 0) != handler.LowPriority {
		t.Errorf("%+v, %v", result, err)
	}
	taken := podset.MakePlan(podset.Observation{Set: set, Now: now}).Create[0].Name
	r, recorder := setOn(newStore(t, interceptor.Funcs{}, testutil.MakePodSet("a").Obj(), testutil.MakePod(taken).Obj()), now)
	if result, err := r.Reconcile(t.Context(), requestFor(set)); err != nil || result.RequeueAfter != time.Millisecond || len(recorder.Events) > 0 {
		t.Errorf("%+v, %v, %d events", result, err, len(recorder.Events))
	}
	if got := counted(t, rejected) - rejectedBefore; got != 1 {
		t.Errorf("%v rejections are counted", got)
	}
	if got := counted(t, collided) - collidedBefore; got != 1 {
		t.Errorf("%v name collisions are counted", got)
	}
}

func TestPodSetReconcile_retry(t *testing.T) {
	for title, calls := range map[string]interceptor.Funcs{
		"a create fails": rejectCreates(apierrors.NewInternalError(errors.New("etcd"))),
		"a list fails": {List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no index")
		}},
	} {
		set := testutil.MakePodSet("a").Obj()
		r, _ := setOn(newStore(t, calls, set), testutil.Created.Add(time.Hour))
		if result, err := r.Reconcile(t.Context(), requestFor(set)); err == nil || ptr.Deref(result.Priority, 0) != handler.LowPriority {
			t.Errorf("%s: %+v, %v", title, result, err)
		}
	}
}

// The cache never shows the created pods, which exist.
func TestPodSetReconcile_staleCache(t *testing.T) {
	set, creates, reads := testutil.MakePodSet("a").Replicas(2).Obj(), 0, 0
	store := newStore(t, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return nil },
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			creates++
			return c.Create(ctx, obj, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, ofPod := obj.(*corev1.Pod); ofPod {
				reads++
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}, set)
	now := clocktesting.NewFakeClock(testutil.Created.Add(time.Hour))
	r, _ := setOn(store, now.Now())
	r.Clock = now
	for began := now.Now(); now.Since(began) < 12*time.Second; now.Step(time.Second) {
		if _, err := r.Reconcile(t.Context(), requestFor(set)); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		t.Fatal(err)
	}
	if creates != 2 || reads != 4 || set.Status.ObservedGeneration != 0 {
		t.Errorf("%d creates, %d lookups, status %+v", creates, reads, set.Status)
	}
}

// A broken webhook of a tenant is not an error of the operator. The log has one line when it is noticed.
func TestPodSetReconcile_webhook(t *testing.T) {
	broken := apierrors.NewInternalError(errors.New(`failed calling webhook "injector.example.com": no endpoints`))
	set, rejected := testutil.MakePodSet("a").Obj(), rejectedCreates.WithLabelValues("PodSet")
	before := counted(t, rejected)
	store := newStore(t, interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return broken },
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return broken },
	}, set, testutil.MakePod("done").OwnedBy(set).Slot(0).Finished(corev1.PodFailed, "").Obj())
	now := clocktesting.NewFakeClock(testutil.Created.Add(time.Hour))
	r := &PodSetReconciler{Client: store, APIReader: store, Recorder: events.NewFakeRecorder(64), Clock: now}
	var output strings.Builder
	ctx := log.IntoContext(t.Context(), zap.New(zap.WriteTo(&output)))
	for began := now.Now(); now.Since(began) < 5*time.Minute; {
		result, err := r.Reconcile(ctx, requestFor(set))
		if err != nil || result.RequeueAfter == 0 || ptr.Deref(result.Priority, 0) != handler.LowPriority && result.RequeueAfter < time.Second {
			t.Fatalf("%+v, %v", result, err)
		}
		now.Step(result.RequeueAfter)
	}
	if got := counted(t, rejected) - before; got < 12 || got > 17 {
		t.Errorf("%v creates are counted", got)
	}
	if log := output.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, `"webhook":"injector.example.com"`) || !strings.Contains(log, "no endpoints") {
		t.Error(log)
	}
	if err := store.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		t.Fatal(err)
	}
	if c := meta.FindStatusCondition(set.Status.Conditions, appv1alpha1.ConditionDegraded); c.Reason != appv1alpha1.ReasonFailedCreate || !strings.Contains(c.Message, "injector.example.com") {
		t.Errorf("%+v", c)
	}
	if meta.FindStatusCondition(set.Status.Conditions, appv1alpha1.ConditionStalled) != nil {
		t.Errorf("the webhook may be back at any time: %+v", set.Status.Conditions)
	}
}

// As for a PodSet.
func TestAtReconcile_webhook(t *testing.T) {
	cause, at := "a.example.com", testutil.MakeAt("a").Obj()
	store := newStore(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		return apierrors.NewInternalError(fmt.Errorf("failed calling webhook %q: no endpoints", cause))
	}}, at)
	now := clocktesting.NewFakeClock(testutil.AtDue)
	r, _ := atOn(store, now.Now())
	r.Clock = now
	var output strings.Builder
	ctx := log.IntoContext(t.Context(), zap.New(zap.WriteTo(&output)))
	for began := now.Now(); now.Since(began) < time.Minute; {
		if now.Since(began) > 30*time.Second {
			cause = "b.example.com"
		}
		result, err := r.Reconcile(ctx, requestFor(at))
		if err != nil || result.RequeueAfter == 0 {
			t.Fatalf("%+v, %v", result, err)
		}
		now.Step(result.RequeueAfter)
	}
	lines := strings.Split(strings.TrimSpace(output.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"webhook":"a.example.com"`) || !strings.Contains(lines[1], `"webhook":"b.example.com"`) {
		t.Errorf("%q", lines)
	}
}

func TestPodSetReconcile_interrupted(t *testing.T) {
	for ends, want := range map[bool]int{false: 1, true: 0} {
		ctx, cancel := context.WithCancel(t.Context())
		set := testutil.MakePodSet("a").Obj()
		r, recorder := setOn(newStore(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			if ends {
				cancel()
			}
			return context.Canceled
		}}, set), testutil.Created.Add(time.Hour))
		if _, err := r.Reconcile(ctx, requestFor(set)); err == nil || len(recorder.Events) != want {
			t.Errorf("the process ends: %t; %d events, want %d (%v)", ends, len(recorder.Events), want, err)
		}
		cancel()
	}
}

func TestAtReconcile_ownStatus(t *testing.T) {
	at, writes := testutil.MakeAt("a").Obj(), 0
	store := newStore(t, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, obj, opts...)
			if shown, ok := obj.(*cnatv1alpha1.At); ok && err == nil { // The cache is behind.
				at.DeepCopyInto(shown)
				shown.ResourceVersion = "999"
			}
			return err
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
	}, at)
	r, _ := atOn(store, testutil.AtDue.Add(-time.Minute))
	for range 2 {
		if _, err := r.Reconcile(t.Context(), requestFor(at)); err != nil {
			t.Error(err)
		}
	}
	list := &cnatv1alpha1.AtList{}
	if err := store.List(t.Context(), list); err != nil || writes != 1 {
		t.Fatal(writes, err)
	}
	if r.states.IgnoreOwnStatusUpdates().Update(event.UpdateEvent{ObjectOld: at, ObjectNew: &list.Items[0]}) {
		t.Error("the own write is reconciled")
	}
}

func TestPodSetReconcile_statusError(t *testing.T) {
	set, fails := testutil.MakePodSet("a").Replicas(1).Obj(), true
	store := newStore(t, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if fails {
				return errors.New("connection reset")
			}
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
	}, set, testutil.MakePod("runs").OwnedBy(set).Slot(0).Running().Obj())
	r, _ := setOn(store, testutil.Created.Add(time.Hour))
	if _, err := r.Reconcile(t.Context(), requestFor(set)); err == nil {
		t.Error("the write of the status is not repeated")
	}
	fails = false
	if _, err := r.Reconcile(t.Context(), requestFor(set)); err != nil {
		t.Error(err)
	}
	stored := &appv1alpha1.PodSet{}
	if err := store.Get(t.Context(), client.ObjectKeyFromObject(set), stored); err != nil || stored.Status.ReadyReplicas != 1 {
		t.Errorf("%v, status %+v", err, stored.Status)
	}
	if r.states.IgnoreOwnStatusUpdates().Update(event.UpdateEvent{ObjectOld: set, ObjectNew: stored}) {
		t.Error("the own write is reconciled")
	}
}

func TestPodSetReconcile_slowWrites(t *testing.T) {
	set, now := testutil.MakePodSet("a").Obj(), clocktesting.NewFakeClock(testutil.Created.Add(time.Hour))
	store := newStore(t, slowStatus(now, 4*time.Second), set, testutil.MakePod("runs").OwnedBy(set).Slot(0).Running().Obj(), testutil.MakePod("ended").OwnedBy(set).Slot(1).Finished(corev1.PodFailed, "Evicted").Obj())
	r := &PodSetReconciler{Client: store, APIReader: store, Recorder: events.NewFakeRecorder(8), Clock: now}
	if result, err := r.Reconcile(t.Context(), requestFor(set)); err != nil || result.RequeueAfter != 6*time.Second {
		t.Errorf("%s, %v: the cleanup is due 10 s after the observation", result.RequeueAfter, err)
	}
}

func podsOf(t *testing.T, store client.Client) []corev1.Pod {
	t.Helper()
	list := &corev1.PodList{}
	if err := store.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}
