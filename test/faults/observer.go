// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"

	"github.com/redhat/podset-operator/test/invariants"
)

// Observer watches the PodSets, Ats, and pods of a namespace on connections that no fault affects.
type Observer struct {
	mu     sync.Mutex
	events []invariants.Event
	state  *invariants.State
	next   chan struct{} // closed at the next event
	err    error
	stop   context.CancelFunc
	done   sync.WaitGroup
}

// startObserver starts an observer, which also calls pod for each pod event.
func startObserver(ctx context.Context, c client.WithWatch, namespace string, pod func(watch.EventType, *corev1.Pod)) (*Observer, error) {
	o := &Observer{state: invariants.NewState(), next: make(chan struct{})}
	ctx, o.stop = context.WithCancel(ctx)
	for object, list := range map[client.Object]client.ObjectList{
		&appv1alpha1.PodSet{}: &appv1alpha1.PodSetList{}, &cnatv1alpha1.At{}: &cnatv1alpha1.AtList{}, &corev1.Pod{}: &corev1.PodList{},
	} {
		see := func(kind watch.EventType, seen any) {
			if gone, ok := seen.(toolscache.DeletedFinalStateUnknown); ok {
				seen = gone.Obj
			}
			o.add(kind, seen.(client.Object))
			if p, ok := seen.(*corev1.Pod); ok {
				pod(kind, p)
			}
		}
		_, informer := toolscache.NewInformerWithOptions(toolscache.InformerOptions{
			ListerWatcher: listWatch(c, list, namespace), ObjectType: object,
			Handler: toolscache.ResourceEventHandlerFuncs{
				AddFunc:    func(added any) { see(watch.Added, added) },
				UpdateFunc: func(_, updated any) { see(watch.Modified, updated) },
				DeleteFunc: func(deleted any) { see(watch.Deleted, deleted) },
			},
		})
		o.done.Go(func() { informer.RunWithContext(ctx) })
		if !toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return nil, errors.New("the observer has ended")
		}
	}
	return o, nil
}

// listWatch lists and watches the objects of a list's kind in a namespace. If the API server does not respond, it retries at once: with the
// back-off of an informer (InformerBackoff), the observer would see nothing for a minute after an outage.
func listWatch(c client.WithWatch, list client.ObjectList, namespace string) *toolscache.ListWatch {
	of := func(options metav1.ListOptions) (client.ObjectList, *client.ListOptions) {
		return list.DeepCopyObject().(client.ObjectList), &client.ListOptions{Raw: &options, Namespace: namespace}
	}
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			objects, o := of(options)
			return objects, untilResponse(ctx, func() error { return c.List(ctx, objects, o) })
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			objects, o := of(options)
			var events watch.Interface
			err := untilResponse(ctx, func() (err error) { events, err = c.Watch(ctx, objects, o); return err })
			return events, err
		},
	}
}

// untilResponse sends a request until the API server responds, and returns the error of the response.
func untilResponse(ctx context.Context, send func() error) error {
	var err error
	ended := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(context.Context) (bool, error) {
		err = send()
		return err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown, nil
	})
	return cmp.Or(err, ended)
}

func (o *Observer) add(kind watch.EventType, object client.Object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		o.err = err
	}
	seen := invariants.Event{Version: version, Kind: kind, Object: object, Seen: time.Now()}
	o.events = append(o.events, seen)
	o.state.Apply(seen)
	close(o.next)
	o.next = make(chan struct{})
}

// read calls f with the current state and returns a channel that is closed at the next event.
func (o *Observer) read(f func(*invariants.State)) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	f(o.state)
	return o.next
}

// history returns the events so far, in the order of their resource versions.
func (o *Observer) history() ([]invariants.Event, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	events := slices.Clone(o.events)
	slices.SortStableFunc(events, func(a, b invariants.Event) int { return cmp.Compare(a.Version, b.Version) })
	return events, o.err
}

// since describes the events after a moment.
func (o *Observer) since(moment time.Time) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var seen []string
	for _, e := range o.events {
		if e.Seen.After(moment) {
			seen = append(seen, fmt.Sprintf("%s %s %T %s", e.Seen.Format("05.000"), e.Kind, e.Object, e.Object.GetName()))
		}
	}
	if len(seen) == 0 {
		return "nothing"
	}
	return strings.Join(seen, ", ")
}

func (o *Observer) close() {
	o.stop()
	o.done.Wait()
}
