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

// stopTickers makes the work queue of a controller wait with timers that fire once. The work queue of controller-runtime uses
// tickers that it abandons. On a real machine an abandoned ticker costs nothing. In a bubble it fires forever, and virtual time
// advances in steps of its period, which may be a nanosecond.
func stopTickers(runnable manager.Runnable) {
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
	wrapped := func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		queue := create(name, limiter)
		tick := reflect.ValueOf(queue).Elem().FieldByName("tick")
		*(*func(time.Duration) <-chan time.Time)(unsafe.Pointer(tick.UnsafeAddr())) = time.After //nolint:gosec // no other way to set it
		return queue
	}
	field.Set(reflect.ValueOf(wrapped))
}
