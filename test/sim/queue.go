// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"reflect"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type newQueue = func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request]

// adapt makes a controller work in a bubble. It leaves other runnables unchanged. The work queue has no name, because a named queue has
// metrics, which need a ticker. A controller has as many workers as a scenario has objects of its kind: more would be idle, but each needs
// a stack.
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
		return create("", limiter)
	}
	field.Set(reflect.ValueOf(wrapped))
	v.FieldByName("MaxConcurrentReconciles").SetInt(maxObjects)
}
