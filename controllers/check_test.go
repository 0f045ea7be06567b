// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/redhat/podset-operator/internal/testutil"
)

// A check that cannot be made yet occupies no worker, and is made as soon as another one has ended.
func TestCheckLine(t *testing.T) {
	ats := make([]client.Object, maxChecks+3)
	for i := range ats {
		ats[i] = testutil.MakeAt(fmt.Sprintf("at-%d", i)).Obj()
	}
	deleted, second, last := ats[maxChecks], ats[maxChecks+1], ats[maxChecks+2]
	checked, answers := make(chan string, len(ats)), make(chan error)
	store := newStore(t, interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, pod client.Object, _ ...client.CreateOption) error {
		checked <- pod.GetName()
		return <-answers
	}}, ats...)
	r, _ := atOn(store, testutil.AtDue.Add(-time.Hour))
	r.Recorder, r.checks.next = events.NewFakeRecorder(100), make(chan event.GenericEvent, len(ats))
	var workers sync.WaitGroup
	start := func(obj client.Object) {
		workers.Go(func() {
			if _, err := r.Reconcile(t.Context(), requestFor(obj)); err != nil {
				t.Error(err)
			}
		})
		if got, want := <-checked, obj.GetName()+"-pod"; got != want {
			t.Errorf("%s is checked, want %s", got, want)
		}
	}
	expectRequested := func(obj client.Object) {
		t.Helper()
		if got := (<-r.checks.next).Object.GetName(); got != obj.GetName() {
			t.Errorf("%s is requested, want %s", got, obj.GetName())
		}
	}

	for _, obj := range ats[:maxChecks] {
		start(obj)
	}
	for _, obj := range []client.Object{deleted, second, last, second} {
		result, err := r.Reconcile(t.Context(), requestFor(obj))
		if err != nil || result.RequeueAfter != 5*time.Second || ptr.Deref(result.Priority, 0) != retryPriority {
			t.Errorf("%s waits for its check: %+v, %v", obj.GetName(), result, err)
		}
	}
	if len(checked) > 0 || len(r.checks.next) > 0 {
		t.Fatalf("%d checks too many, %d requests too early", len(checked), len(r.checks.next))
	}

	answers <- nil
	expectRequested(deleted)
	if err := store.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), requestFor(deleted)); err != nil {
		t.Fatal(err)
	}
	expectRequested(second)
	start(second)
	answers <- nil
	expectRequested(last)
	for range maxChecks - 1 {
		answers <- nil
	}
	workers.Wait()
	if len(r.checks.next) > 0 {
		t.Errorf("%d requests too many", len(r.checks.next))
	}
}
