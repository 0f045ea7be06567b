// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patience is how long a world may take to come to rest after the last disturbance.
const Patience = 30 * time.Second

// World is a namespace with an operator, a user, a kubelet and a witness in it.
type World struct {
	testing.TB
	Cluster   *Cluster
	Namespace string
	// User is an administrator whose calls never fail.
	User client.Client
	// Clock is the operator's.
	Clock *Clock
	// Log is all that the operator wrote.
	Log *Log
	// Witness sees all.
	Witness *Witness
	// Patience is how long the world may take; longer in one that is larger than others.
	Patience time.Duration
	// Quiet is how long nothing may be written at rest; shorter in a world of which there are many in a row.
	Quiet time.Duration
	// Replay is the command that lives the world again; "": make finds the test by its name.
	Replay string
	// Options change how managers are made, from the next incarnation on.
	Options []func(*ctrl.Options)

	fault       string
	controllers Controllers
	ctx         context.Context
	release     func() // gives the place among the busy worlds back
	background  sync.WaitGroup

	mu           sync.Mutex
	kubelet      *Kubelet
	incarnations []*Incarnation
	violations   []Violation // found by waiting, not by looking at events
	checked      map[string]bool
	tolerated    bool
}

// maxBusy is how many worlds of a cluster may do something at the same time. Those that only watch that nothing happens do
// not count.
const maxBusy = 6

// NewWorld makes a world in which a fault is tried on an operator, which is not started yet. When the test ends, the
// world is judged, and a violation fails the test.
func NewWorld(t testing.TB, cluster *Cluster, fault string, operator Controllers) *World {
	t.Helper()
	cluster.busy <- struct{}{}
	w := &World{
		TB: t, Cluster: cluster, User: cluster.Admin, Clock: &Clock{}, Log: &Log{}, Patience: Patience, Quiet: Quiet, fault: fault, controllers: operator,
		release: sync.OnceFunc(func() { <-cluster.busy }), checked: map[string]bool{},
	}
	var end context.CancelFunc
	w.ctx, end = context.WithCancel(context.Background())
	t.Cleanup(func() {
		w.release()
		w.judge()
		end()
		for _, i := range w.incarnations {
			i.Crash()
		}
		w.background.Wait()
		if w.Witness != nil {
			w.Witness.close()
		}
		_ = cluster.Admin.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}})
	})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "world-"}}
	w.Must(cluster.Admin.Create(w.ctx, namespace))
	w.Namespace = namespace.Name
	var err error
	w.Witness, err = startWitness(w.ctx, cluster.Admin, w.Namespace, func(kind watch.EventType, pod *corev1.Pod) {
		if k := w.theKubelet(); k != nil {
			k.see(w.ctx, kind, pod)
		}
	})
	w.Must(err)
	return w
}

// Must ends the test when an error is not nil.
func (w *World) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *World) mustBe(missing string) {
	w.Helper()
	if missing != "" {
		w.Fatal(missing)
	}
}

// Context ends with the world.
func (w *World) Context() context.Context { return w.ctx }

// Start starts the next incarnation of the operator. The wire of the last one should be dead, unless two operators at
// the same time are the point.
func (w *World) Start(prepare ...func(*Wire)) *Incarnation {
	w.Helper()
	i, err := w.start(prepare...)
	w.Must(err)
	return i
}

func (w *World) start(prepare ...func(*Wire)) (*Incarnation, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wire := newWire(len(w.incarnations)+1, w.Log, w.Clock.Now)
	for _, p := range prepare {
		p(wire)
	}
	i, err := start(w.Cluster, w.controllers, wire, w.Namespace, w.Clock, w.Options...)
	if err == nil {
		w.incarnations = append(w.incarnations, i)
	}
	return i, err
}

// Supervise starts incarnation after incarnation, each when the one before has crashed, as a Deployment does. It returns
// the first one.
func (w *World) Supervise(prepare ...func(*Wire)) *Incarnation {
	w.Helper()
	first := w.Start(prepare...)
	w.background.Go(func() {
		for i := first; ; {
			select {
			case <-w.ctx.Done():
				return
			case <-i.Dead():
				<-i.done
			}
			if w.ctx.Err() != nil {
				return
			}
			var err error
			if i, err = w.start(prepare...); err != nil {
				w.Errorf("starting the operator again: %v", err)
				return
			}
		}
	})
	return first
}

// Incarnations returns how often the operator was started.
func (w *World) Incarnations() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.incarnations)
}

// Create makes objects in the world.
func (w *World) Create(objects ...client.Object) {
	w.Helper()
	for _, object := range objects {
		object.SetNamespace(w.Namespace)
		w.Must(w.User.Create(w.ctx, object))
		w.sees(object)
	}
}

// sees waits until the witness knows what the user has just done, so that nobody takes the rest before for the rest after.
func (w *World) sees(object client.Object) {
	w.Helper()
	if !watched(object) {
		return
	}
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	w.Must(err)
	w.mustBe(w.await(func(s *state) string {
		if s.version[object.GetUID()] >= version {
			return ""
		}
		return "the witness has not seen " + object.GetName()
	}))
}

// Edit changes an object, of which a fresh copy is read first.
func Edit[T client.Object](w *World, object T, edit func(T)) {
	w.Helper()
	w.Must(w.User.Get(w.ctx, client.ObjectKeyFromObject(object), object))
	base := object.DeepCopyObject().(client.Object)
	edit(object)
	w.Must(w.User.Patch(w.ctx, object, client.MergeFrom(base)))
	w.sees(object)
}

// EditStatus changes the status of an object, of which a fresh copy is read first.
func EditStatus[T client.Object](w *World, object T, edit func(T)) {
	w.Helper()
	w.Must(w.User.Get(w.ctx, client.ObjectKeyFromObject(object), object))
	base := object.DeepCopyObject().(client.Object)
	edit(object)
	w.Must(w.User.Status().Patch(w.ctx, object, client.MergeFrom(base)))
	w.sees(object)
}

// Delete deletes an object as a user does.
func (w *World) Delete(object client.Object, options ...client.DeleteOption) {
	w.Helper()
	w.Must(client.IgnoreNotFound(w.User.Delete(w.ctx, object, options...)))
	if watched(object) && object.GetUID() != "" {
		w.AwaitDeletion(object)
	}
}

// AwaitDeletion waits until the deletion of an object has begun.
func (w *World) AwaitDeletion(object client.Object) {
	w.Helper()
	w.mustBe(w.await(func(s *state) string {
		if s.deleting[object.GetUID()] {
			return ""
		}
		return "the witness has not seen the deletion of " + object.GetName()
	}))
}

// await waits for something that the witness sees and returns whether it came; want returns "" when it is there, else
// what is missing.
func (w *World) await(want func(*state) string) string {
	timeout := time.After(w.Patience)
	for {
		start := time.Now()
		var missing string
		next := w.Witness.look(func(s *state) { missing = want(s) })
		if missing == "" {
			return ""
		}
		took := time.Since(start)
		select {
		case <-next:
			<-time.After(4 * took) // To look at thousands of objects takes a while, and most of the time is for those who change them.
		case <-timeout:
			return fmt.Sprintf("after %v: %s", w.Patience, missing)
		}
	}
}
