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

	"github.com/redhat/podset-operator/test/invariants"
)

// DefaultTimeout is how long an environment may take to settle after the last fault.
const DefaultTimeout = time.Minute

// InformerBackoff is the longest time that an informer waits before it tries again after an error: 30 s, and up to as much again at
// random (k8s.io/client-go/tools/cache). After an outage of 20 s, informers may be in that wait.
const InformerBackoff = time.Minute

// Env is a test environment: a namespace with an operator, a user, a kubelet, and an observer.
type Env struct {
	testing.TB
	Cluster   *Cluster
	Namespace string
	// User is the client of an administrator. No fault affects it.
	User client.Client
	// Log has the calls of the operator.
	Log *Log
	// Observer watches the objects of the environment.
	Observer *Observer
	// Timeout is how long the environment may take to settle. Large environments need longer.
	Timeout time.Duration
	// Quiet is how long the operator may write nothing in ExpectIdle. It is shorter where many environments follow one another.
	Quiet time.Duration
	// Options change the options of the manager, from the next process on.
	Options []func(*ctrl.Options)
	// ChangesIdentity is true if admission changes the names, the controllers, the containers, or the restartPolicy of new pods of Ats.
	ChangesIdentity bool

	fault      string
	ctx        context.Context
	background sync.WaitGroup

	mu         sync.Mutex
	kubelet    *Kubelet
	processes  []*Process
	violations []Violation // found by Check
}

// NewEnv creates an environment that tests the operator with a fault. It does not start the operator. When the test ends, the invariants
// are checked, and a violation fails the test.
func NewEnv(t testing.TB, cluster *Cluster, fault string) *Env {
	t.Helper()
	e := &Env{
		TB: t, Cluster: cluster, User: cluster.Admin, Log: &Log{}, Timeout: DefaultTimeout, Quiet: Quiet, fault: fault,
	}
	var end context.CancelFunc
	e.ctx, end = context.WithCancel(context.Background())
	t.Cleanup(func() {
		e.report()
		end()
		for _, p := range e.processes {
			p.Crash()
			if err := p.Err(); err != nil {
				e.Errorf("P10: process %d: %v; replay with: %s", p.Number, err, e.replay())
			}
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
		if k := e.currentKubelet(); k != nil {
			k.sync(e.ctx, kind, pod)
		}
	})
	e.Must(err)
	return e
}

// Must fails the test if an error is not nil.
func (e *Env) Must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *Env) mustHave(missing string) {
	e.Helper()
	if missing != "" {
		e.Fatal(missing)
	}
}

// Context ends with the environment.
func (e *Env) Context() context.Context { return e.ctx }

// Start starts the next process of the operator. The previous one should have ended, unless the test needs both.
func (e *Env) Start() *Process {
	e.Helper()
	p, err := e.start()
	e.Must(err)
	return p
}

func (e *Env) start() (*Process, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p, err := start(e.Cluster, newRecorder(len(e.processes)+1, e.Log), e.Namespace, e.Options...)
	if err == nil {
		e.processes = append(e.processes, p)
	}
	return p, err
}

// Supervise starts the operator, and starts it again whenever it ends, as a Deployment does.
func (e *Env) Supervise() {
	e.Helper()
	p := e.Start()
	e.background.Go(func() {
		for {
			select {
			case <-e.ctx.Done():
				return
			case <-p.done:
			}
			if e.ctx.Err() != nil {
				return
			}
			var err error
			if p, err = e.start(); err != nil {
				e.Errorf("starting the operator again: %v", err)
				return
			}
		}
	})
}

// Starts returns how often the operator was started.
func (e *Env) Starts() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.processes)
}

// Create creates objects in the namespace.
func (e *Env) Create(objects ...client.Object) {
	e.Helper()
	for _, object := range objects {
		object.SetNamespace(e.Namespace)
		e.Must(e.User.Create(e.ctx, object))
		e.waitForSeen(object)
	}
}

// waitForSeen waits until the observer has seen a write of the user, so that a later Settle does not use the state before it.
func (e *Env) waitForSeen(object client.Object) {
	e.Helper()
	if !invariants.Watched(object) {
		return
	}
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	e.Must(err)
	e.mustHave(e.waitFor(func(s *invariants.State) string {
		if s.Version[object.GetUID()] >= version {
			return ""
		}
		return "the observer has not seen " + object.GetName()
	}))
}

// Edit reads an object and patches it.
func Edit[T client.Object](e *Env, object T, edit func(T)) {
	e.Helper()
	e.Must(e.User.Get(e.ctx, client.ObjectKeyFromObject(object), object))
	base := object.DeepCopyObject().(client.Object)
	edit(object)
	e.Must(e.User.Patch(e.ctx, object, client.MergeFrom(base)))
	e.waitForSeen(object)
}

// Delete deletes an object as a user.
func (e *Env) Delete(object client.Object, options ...client.DeleteOption) {
	e.Helper()
	e.Must(client.IgnoreNotFound(e.User.Delete(e.ctx, object, options...)))
	if invariants.Watched(object) && object.GetUID() != "" {
		e.WaitForDeletion(object)
	}
}

// WaitForDeletion waits until the deletion of an object has begun.
func (e *Env) WaitForDeletion(object client.Object) {
	e.Helper()
	e.mustHave(e.waitFor(func(s *invariants.State) string {
		if s.Deleting[object.GetUID()] {
			return ""
		}
		return "the observer has not seen the deletion of " + object.GetName()
	}))
}

// waitFor waits until want returns "", which means that nothing is missing. It calls want after each event. After the timeout it returns
// what is missing.
func (e *Env) waitFor(want func(*invariants.State) string) string {
	timeout := time.After(e.Timeout)
	for {
		start := time.Now()
		var missing string
		next := e.Observer.read(func(s *invariants.State) { missing = want(s) })
		if missing == "" {
			return ""
		}
		took := time.Since(start)
		select {
		case <-next:
			<-time.After(4 * took) // Evaluating thousands of objects takes long and must not slow down the operator.
		case <-timeout:
			return fmt.Sprintf("after %v: %s", e.Timeout, missing)
		}
	}
}
