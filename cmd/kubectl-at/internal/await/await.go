// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package await waits for a state of an object, for as long as the API server needs.
package await

import (
	"context"
	"strings"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxRejections is how many requests the API server may reject between two watches before a wait ends. A few are
// possible while the API server starts and does not know all permissions yet, or until a credential plugin has a new
// token.
const maxRejections = 5

// Object watches the object with this name until done returns true, and returns the object in that state. If the object
// does not exist or is deleted, the error is a NotFound. If the API server fails later, the requests are retried.
func Object[T client.Object](ctx context.Context, c client.WithWatch, key client.ObjectKey, list client.ObjectList, object T, done func(T) bool) (T, error) {
	only := []client.ListOption{client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name}}
	// The reflector below retries after every error, so the first request is made without it.
	if err := c.List(ctx, list.DeepCopyObject().(client.ObjectList), only...); err != nil {
		return object, err
	}
	ctx, cancel := context.WithCancelCause(klog.NewContext(ctx, logr.Discard())) // The reflector logs the errors that it retries.
	defer cancel(nil)
	gone := func() error {
		kind, _ := c.GroupVersionKindFor(object) // for a message
		return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: strings.ToLower(kind.Kind) + "s"}, key.Name)
	}
	exists := func(store cache.Store) (bool, error) {
		if len(store.List()) == 0 {
			return false, gone()
		}
		return false, nil
	}
	event, err := watchtools.UntilWithSync(ctx, ListWatch(c, list, only, cancel), object, exists, func(event watch.Event) (bool, error) {
		current, ok := event.Object.(T)
		switch event.Type {
		case watch.Error:
			return false, apierrors.FromObject(event.Object)
		case watch.Deleted:
			return false, gone()
		default:
			return ok && done(current), nil
		}
	})
	switch {
	case ctx.Err() != nil:
		return object, context.Cause(ctx)
	case err != nil:
		return object, err // not wrapped: kubectl prints it according to its type
	}
	return event.Object.(T), nil
}

// ListWatch returns how a reflector lists and watches objects. When the API server rejects too many of its requests, it
// calls stop.
func ListWatch(c client.WithWatch, list client.ObjectList, only []client.ListOption, stop func(error)) *cache.ListWatch {
	rejections := 0
	check := func(err error) error {
		if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			if rejections++; rejections == maxRejections {
				stop(err)
			}
		}
		return err
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if o.ResourceVersion == "0" {
				o.ResourceVersion = "" // The cache of the API server may not have an At that was created a moment ago.
			}
			found := list.DeepCopyObject().(client.ObjectList)
			return found, check(c.List(ctx, found, append(only, &client.ListOptions{Raw: &o})...))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			events, err := c.Watch(ctx, list.DeepCopyObject().(client.ObjectList), append(only, &client.ListOptions{Raw: &o})...)
			if err == nil {
				rejections = 0
			}
			return events, check(err)
		},
	}
}
