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
const DefaultTimeout = 30 * time.Second

// Env is a namespace with an operator, a user, a kubelet and a observer in it.
type Env struct {
	testing.TB
	Cluster   *Cluster
	Namespace string
	// User is an administrator whose calls never fail.
	User client.Client
	// Clock is the operator's.
	Clock *Clock
	// Log is all that the operator wrote.
	Log *Log
	// Observer sees all.
	Observer *Observer
	// Patience is how long the world may take; longer in one that is larger than others.
	Timeout time.Duration
	// Quiet is how long nothing may be written at rest; shorter in a world of which there are many in a row.
	Quiet time.Duration
	// Replay is the command that lives the world again; "": make finds the test by its name.
	Replay string
	// Options change how managers are made, from the next process on.
	Options []func(*ctrl.Options)

	fault       string
	controllers Controllers
	ctx         context.Context
	release     func() // gives the place among the busy worlds back
	background  sync.WaitGroup

	mu         sync.Mutex
	kubelet    *Kubelet
	processes  []*Process
	violations []Violation // found by waiting, not by looking at events
	checked    map[string]bool
	tolerated  bool
}

// maxBusy is how many worlds of a cluster may do something at the same time. Those that only watch that nothing happens do
// not count.
const maxBusy = 6

// NewEnv makes a world in which a fault is tried on an operator, which is not started yet. When the test ends, the
// world is judged, and a violation fails the test.
func NewEnv(t testing.TB, cluster *Cluster, fault string, operator Controllers) *Env {
	t.Helper()
	cluster.busy <- struct{}{}
	e := &Env{
		TB: t, Cluster: cluster, User: cluster.Admin, Clock: &Clock{}, Log: &Log{}, Timeout: DefaultTimeout, Quiet: Quiet, fault: fault, controllers: operator,
		release: sync.OnceFunc(func() { <-cluster.busy }), checked: map[string]bool{},
	}
	var end context.CancelFunc
	e.ctx, end = context.WithCancel(context.Background())
	t.Cleanup(func() {
		e.release()
		e.report()
		end()
		for _, p := range e.processes {
			p.Crash()
		}
		e.background.Wait()
		if e.Observer != nil {
			e.Observer.close()
		}
		_ = cluster.Admin.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace}})
	})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "faults-"}}
	e.Must(cluster.Admin.Create(e.ctx, namespace))
	e.Namespace = namespace.Name
	var err error
	e.Observer, err = startObserver(e.ctx, cluster.Admin, e.Namespace, func(kind watch.EventType, pod *corev1.Pod) {
		if k := e.theKubelet(); k != nil {
			k.see(e.ctx, kind, pod)
		}
	})
	e.Must(err)
	return e
}

// Must ends the test when an error is not nil.
func (e *Env) Must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *Env) mustBe(missing string) {
	e.Helper()
	if missing != "" {
		e.Fatal(missing)
	}
}

// Context ends with the world.
func (e *Env) Context() context.Context { return e.ctx }

// Start starts the next process of the operator. The injector of the last one should be dead, unless two operators at
// the same time are the point.
func (e *Env) Start(prepare ...func(*Injector)) *Process {
	e.Helper()
	p, err := e.start(prepare...)
	e.Must(err)
	return p
}

func (e *Env) start(prepare ...func(*Injector)) (*Process, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	injector := newInjector(len(e.processes)+1, e.Log, e.Clock.Now)
	for _, f := range prepare {
		f(injector)
	}
	p, err := start(e.Cluster, e.controllers, injector, e.Namespace, e.Clock, e.Options...)
	if err == nil {
		e.processes = append(e.processes, p)
	}
	return p, err
}

// Supervise starts process after process, each when the one before has crashed, as a Deployment does. It returns
// the first one.
func (e *Env) Supervise(prepare ...func(*Injector)) *Process {
	e.Helper()
	first := e.Start(prepare...)
	e.background.Go(func() {
		for p := first; ; {
			select {
			case <-e.ctx.Done():
				return
			case <-p.Stopped():
				<-p.done
			}
			if e.ctx.Err() != nil {
				return
			}
			var err error
			if p, err = e.start(prepare...); err != nil {
				e.Errorf("starting the operator again: %v", err)
				return
			}
		}
	})
	return first
}

// Incarnations returns how often the operator was started.
func (e *Env) Starts() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.processes)
}

// Create makes objects in the world.
func (e *Env) Create(objects ...client.Object) {
	e.Helper()
	for _, object := range objects {
		object.SetNamespace(e.Namespace)
		e.Must(e.User.Create(e.ctx, object))
		e.sees(object)
	}
}

// sees waits until the observer knows what the user has just done, so that nobody takes the rest before for the rest after.
func (e *Env) sees(object client.Object) {
	e.Helper()
	if !watched(object) {
		return
	}
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	e.Must(err)
	e.mustBe(e.await(func(s *state) string {
		if s.version[object.GetUID()] >= version {
			return ""
		}
		return "the observer has not seen " + object.GetName()
	}))
}

// Edit changes an object, of which a fresh copy is read first.
func Edit[T client.Object](e *Env, object T, edit func(T)) {
	e.Helper()
	e.Must(e.User.Get(e.ctx, client.ObjectKeyFromObject(object), object))
	base := object.DeepCopyObject().(client.Object)
	edit(object)
	e.Must(e.User.Patch(e.ctx, object, client.MergeFrom(base)))
	e.sees(object)
}

// EditStatus changes the status of an object, of which a fresh copy is read first.
func EditStatus[T client.Object](e *Env, object T, edit func(T)) {
	e.Helper()
	e.Must(e.User.Get(e.ctx, client.ObjectKeyFromObject(object), object))
	base := object.DeepCopyObject().(client.Object)
	edit(object)
	e.Must(e.User.Status().Patch(e.ctx, object, client.MergeFrom(base)))
	e.sees(object)
}

// Delete deletes an object as a user does.
func (e *Env) Delete(object client.Object, options ...client.DeleteOption) {
	e.Helper()
	e.Must(client.IgnoreNotFound(e.User.Delete(e.ctx, object, options...)))
	if watched(object) && object.GetUID() != "" {
		e.AwaitDeletion(object)
	}
}

// AwaitDeletion waits until the deletion of an object has begun.
func (e *Env) AwaitDeletion(object client.Object) {
	e.Helper()
	e.mustBe(e.await(func(s *state) string {
		if s.deleting[object.GetUID()] {
			return ""
		}
		return "the observer has not seen the deletion of " + object.GetName()
	}))
}

// await waits for something that the observer sees and returns whether it came; want returns "" when it is there, else
// what is missing.
func (e *Env) await(want func(*state) string) string {
	timeout := time.After(e.Timeout)
	for {
		start := time.Now()
		var missing string
		next := e.Observer.look(func(s *state) { missing = want(s) })
		if missing == "" {
			return ""
		}
		took := time.Since(start)
		select {
		case <-next:
			<-time.After(4 * took) // To look at thousands of objects takes a while, and most of the time is for those who change them.
		case <-timeout:
			return fmt.Sprintf("after %v: %s", e.Timeout, missing)
		}
	}
}
