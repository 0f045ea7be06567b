// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"reflect"
	"time"
	"unsafe"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type newQueue = func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request]

// adapt makes a controller fit into a bubble. It leaves other runnables as they are.
//
// The work queue waits with timers that fire once. That of controller-runtime uses tickers that it abandons. On a real machine an
// abandoned ticker costs nothing. In a bubble it fires forever, and virtual time advances in steps of its period, which may be a
// nanosecond. The queue has no name, because a queue without a name has no metrics, which would need a ticker too.
//
// A controller has as many workers as a scenario has objects of its kind. More would do nothing, but each would need a stack.
func adapt(runnable manager.Runnable) {
	v := reflect.Indirect(reflect.ValueOf(runnable))
	if v.Kind() != reflect.Struct {
		return
	}
	field := v.FieldByName("NewQueue")
	if !field.IsValid() {
		return
	}
	create, ok := field.Interface().(newQueue)
	if !ok {
		return
	}
	wrapped := func(_ string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		queue := create("", limiter)
		tick := reflect.ValueOf(queue).Elem().FieldByName("tick")
		*(*func(time.Duration) <-chan time.Time)(unsafe.Pointer(tick.UnsafeAddr())) = time.After //nolint:gosec // no other way to set it
		return queue
	}
	field.Set(reflect.ValueOf(wrapped))
	v.FieldByName("MaxConcurrentReconciles").SetInt(maxObjects)
}
