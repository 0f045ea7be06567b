// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolswatch "k8s.io/client-go/tools/watch"
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
	w := &Observer{state: invariants.NewState(), next: make(chan struct{})}
	ctx, w.stop = context.WithCancel(ctx)
	for _, list := range []client.ObjectList{&appv1alpha1.PodSetList{}, &cnatv1alpha1.AtList{}, &corev1.PodList{}} {
		source := listWatch{c, list, namespace}
		watcher, err := w.watch(ctx, source)
		if err != nil {
			w.stop()
			return nil, err
		}
		w.done.Go(func() {
			for watcher != nil {
				for e := range watcher.ResultChan() {
					if e.Type == watch.Error {
						continue // A restarted API server has no history. The next list has what is missing.
					}
					w.add(e)
					if p, ok := e.Object.(*corev1.Pod); ok && pod != nil {
						pod(e.Type, p)
					}
				}
				watcher = w.watchAgain(ctx, source)
			}
		})
	}
	return w, nil
}

// watch lists, adds an event for each object that is new or removed since the last list, and watches from there.
func (o *Observer) watch(ctx context.Context, source listWatch) (watch.Interface, error) {
	list := source.list.DeepCopyObject().(client.ObjectList)
	if err := source.client.List(ctx, list, client.InNamespace(source.namespace)); err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	found := map[types.UID]bool{}
	for _, item := range items {
		object := item.(client.Object)
		found[object.GetUID()] = true
		if o.hasSeen(object) {
			continue
		}
		o.add(watch.Event{Type: watch.Modified, Object: item})
	}
	o.addRemoved(source.list, found, list.GetResourceVersion())
	return toolswatch.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), source)
}

// watchAgain watches again as soon as the API server serves the kind. It returns nil when the test has ended.
func (o *Observer) watchAgain(ctx context.Context, source listWatch) watch.Interface {
	var watcher watch.Interface
	_ = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var err error
		watcher, err = o.watch(ctx, source)
		return err == nil, nil
	})
	return watcher
}

// hasSeen tells whether the observer has seen this version of an object.
func (o *Observer) hasSeen(object client.Object) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strconv.FormatUint(o.state.Version[object.GetUID()], 10) == object.GetResourceVersion()
}

// addRemoved adds an event for each object of a kind that was removed without an event.
func (o *Observer) addRemoved(kind client.ObjectList, found map[types.UID]bool, version string) {
	o.mu.Lock()
	known := o.state.OfKind(kind)
	o.mu.Unlock()
	for _, object := range known {
		if !found[object.GetUID()] {
			object = object.DeepCopyObject().(client.Object)
			object.SetResourceVersion(version)
			o.add(watch.Event{Type: watch.Deleted, Object: object})
		}
	}
}

// listWatch watches with a client. RetryWatcher retries.
type listWatch struct {
	client    client.WithWatch
	list      client.ObjectList
	namespace string
}

func (l listWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	list := l.list.DeepCopyObject().(client.ObjectList)
	return l.client.Watch(ctx, list, client.InNamespace(l.namespace), &client.ListOptions{Raw: &options, Namespace: l.namespace})
}

func (o *Observer) add(e watch.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	object, ok := e.Object.(client.Object)
	if !ok || e.Type == watch.Error {
		o.err = fmt.Errorf("the observer received an unexpected event: %v", e.Object)
		return
	}
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		o.err = err
	}
	seen := invariants.Event{Version: version, Kind: e.Type, Object: object, Seen: time.Now()}
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
