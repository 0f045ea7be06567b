// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package write

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestIsRejected(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for title, tc := range map[string]struct {
		err  error
		want bool
	}{
		"a quota":                     {apierrors.NewForbidden(pods, "a", errors.New("exceeded quota")), true},
		"an invalid pod":              {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil), true},
		"a bad request":               {apierrors.NewBadRequest("no"), true},
		"a rejection that is wrapped": {fmt.Errorf("creating: %w", apierrors.NewBadRequest("no")), true},
		"a namespace that is gone":    {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "a"), true},
		"a conflict":                  {apierrors.NewConflict(pods, "a", nil), false},
		"overload":                    {apierrors.NewTooManyRequests("slow down", 1), false},
		"an expired token":            {apierrors.NewUnauthorized("who"), false},
		"408":                         {&apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusRequestTimeout}}, false},
		"a time-out":                  {apierrors.NewTimeoutError("slow", 1), false},
		"a broken API server":         {apierrors.NewInternalError(errors.New("oops")), false},
		"a broken connection":         {errors.New("connection reset"), false},
		"nothing":                     {nil, false},
	} {
		if got := IsRejected(tc.err); got != tc.want {
			t.Errorf("%s: got %t", title, got)
		}
	}
}

func TestInBatches(t *testing.T) {
	pods := make([]*corev1.Pod, 10)
	for i := range pods {
		pods[i] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod", i)}}
	}
	for title, tc := range map[string]struct{ failing, calls, created int }{
		"all go well":             {-1, 10, 10},
		"the first is rejected":   {0, 1, 0},
		"the third is rejected":   {2, 3, 2},
		"the seventh is rejected": {6, 7, 6},
		"the eighth is rejected":  {7, 10, 9},
	} {
		var calls atomic.Int32
		created, err := InBatches(pods, func(pod *corev1.Pod) (*corev1.Pod, error) {
			calls.Add(1)
			if tc.failing >= 0 && pod.Name == pods[tc.failing].Name {
				return nil, errors.New("rejected")
			}
			return pod, nil
		})
		if int(calls.Load()) != tc.calls || len(created) != tc.created || (err != nil) != (tc.failing >= 0) {
			t.Errorf("%s: %d calls, %d created, error %v", title, calls.Load(), len(created), err)
		}
	}
}

// A batch can have several kinds of errors. If the rejection were dropped, the next reconcile would retry without its
// back-off.
func TestInBatches_rejection(t *testing.T) {
	pods := []*corev1.Pod{{}, {ObjectMeta: metav1.ObjectMeta{Name: "lost"}}, {ObjectMeta: metav1.ObjectMeta{Name: "rejected"}}}
	_, err := InBatches(pods, func(pod *corev1.Pod) (*corev1.Pod, error) {
		switch pod.Name {
		case "lost":
			return nil, errors.New("connection reset")
		case "rejected":
			return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod.Name, errors.New("exceeded quota"))
		}
		return pod, nil
	})
	if !IsRejected(err) {
		t.Errorf("got %v", err)
	}
}

// A conflict of any other write shows that the cache is behind.
func TestCreatePod_conflict(t *testing.T) {
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewConflict(schema.GroupResource{Resource: "resourcequotas"}, "pods", errors.New("the object has been modified"))
		},
	})
	_, err := CreatePod(t.Context(), c, c, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
	if err == nil || apierrors.IsConflict(err) || !strings.Contains(err.Error(), `resourcequotas "pods"`) {
		t.Errorf("got %v", err)
	}
}

// An admission webhook may change the name of every pod.
func TestCreatePod_renamed(t *testing.T) {
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "changed-a"}}
	c := interceptor.NewClient(fake.NewClientBuilder().WithObjects(other).Build(), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "pods"}, other.Name)
		},
	})
	existing, err := CreatePod(t.Context(), c, c, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
	if err != nil || existing == nil || existing.Name != other.Name {
		t.Errorf("got %v, %v", existing, err)
	}
}

// The pod with the name can disappear between the create and the lookup. The name is then free, so the create is
// retried.
func TestCreatePod_retry(t *testing.T) {
	for title, tc := range map[string]struct {
		disappear int // how often the pod with the name is gone when it is read
		calls     int
		fails     bool
	}{
		"once":   {1, 2, false},
		"twice":  {2, 3, false},
		"always": {100, 3, true},
	} {
		calls := 0
		c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				if calls++; calls > tc.disappear {
					return nil
				}
				return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "pods"}, "a")
			},
		})
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
		existing, err := CreatePod(t.Context(), c, c, pod)
		if existing != nil || (err != nil) != tc.fails || calls != tc.calls {
			t.Errorf("%s: existing pod %v, error %v, %d calls", title, existing, err, calls)
		}
		if IsRejected(err) {
			t.Errorf("%s: is treated as a rejection: %v", title, err)
		}
	}
}

func TestDeletePod(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	answers := map[string]error{
		"deleted": nil, "gone": apierrors.NewNotFound(resource, "gone"), "replaced": apierrors.NewConflict(resource, "replaced", errors.New("UID")),
		"stays": apierrors.NewInternalError(errors.New("etcd")),
	}
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Delete: func(_ context.Context, _ client.WithWatch, obj client.Object, options ...client.DeleteOption) error {
			if o := (&client.DeleteOptions{}).ApplyOptions(options); o.Preconditions == nil || ptr.Deref(o.Preconditions.UID, "") != obj.GetUID() {
				t.Errorf("%s is deleted with %v", obj.GetName(), o.Preconditions)
			}
			return answers[obj.GetName()]
		},
	})
	var pods []*corev1.Pod
	for _, name := range []string{"deleted", "gone", "replaced", "stays"} {
		pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}})
	}
	deleted, err := DeletePods(t.Context(), c, pods)
	if len(deleted) != 3 || deleted[2].Name != "replaced" || !apierrors.IsInternalError(err) {
		t.Errorf("%d pods are deleted, %v", len(deleted), err)
	}
}

func TestStatus(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	for title, tc := range map[string]struct {
		answer         error
		written, fails bool
	}{
		"stored":     {nil, true, false},
		"gone":       {apierrors.NewNotFound(resource, "a"), false, false},
		"a conflict": {apierrors.NewConflict(resource, "a", errors.New("modified")), false, true},
	} {
		c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
			SubResourcePatch: func(_ context.Context, _ client.Client, _ string, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
				// The API server answers with metadata only, and a JSON patch costs it less than a merge patch.
				if _, ok := obj.(*metav1.PartialObjectMetadata); !ok || patch.Type() != types.JSONPatchType {
					t.Errorf("%s: a patch of type %s, answered with %T", title, patch.Type(), obj)
				}
				obj.SetResourceVersion("8")
				return tc.answer
			},
		})
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", ResourceVersion: "7"}}
		written, err := Status(t.Context(), c, pod, pod.Status)
		if written != tc.written || (err != nil) != tc.fails || (pod.ResourceVersion == "8") != tc.written {
			t.Errorf("%s: %t, %v, version %s", title, written, err, pod.ResourceVersion)
		}
	}
}
