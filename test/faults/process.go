// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/redhat/podset-operator/controllers"
)

// Controllers is an operator: what it adds to a manager.
type Controllers struct {
	// Name is for messages.
	Name string
	// Configure sets what the manager caches, in these namespaces (none: all); nil: everything.
	Configure func(o *ctrl.Options, namespaces []string)
	// Full says that the operator fills the whole status; else podNames and phase are all that is asked of it.
	Full bool
	// Setup adds the reconcilers.
	Setup func(ctx context.Context, mgr ctrl.Manager, clock clock.WithTicker) error
}

// Ours is this operator, put together as main does.
var Ours = Controllers{
	Name: "podset-operator", Configure: controllers.ConfigureCaches, Full: true,
	Setup: func(ctx context.Context, mgr ctrl.Manager, clock clock.WithTicker) error {
		return controllers.Add(ctx, mgr, controllers.Options{Clock: clock, Image: "busybox"})
	},
}

// Process is one start of the operator.
type Process struct {
	*Injector
	// Number counts the starts from 1.
	Number int
	// Started is when.
	Started time.Time

	synced chan struct{} // closed once the caches are filled
	done   chan struct{}
}

// Crash ends the process between two calls and returns when nothing of it runs any more. It lets the caches fill
// first: a manager that is told to end before that goes on waiting for them, which a process that is killed does not.
func (p *Process) Crash() {
	select {
	case <-p.synced:
	case <-p.done:
	}
	p.Kill()
	<-p.done
}

// whenSynced is a runnable that starts when the caches are filled, with or without a lease.
type whenSynced func()

func (f whenSynced) Start(context.Context) error { f(); return nil }
func (whenSynced) NeedLeaderElection() bool      { return false }

// start starts an process that works in one namespace.
func start(c *Cluster, o Controllers, injector *Injector, namespace string, clock clock.WithTicker, options ...func(*ctrl.Options)) (*Process, error) {
	p := &Process{Injector: injector, Number: injector.process, Started: time.Now(), synced: make(chan struct{}), done: make(chan struct{})}
	opts := ctrl.Options{
		Scheme: c.Scheme,
		// What kinds there are is known already; asking again would be most of the start.
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return c.mapper, nil },
		Metrics:        metricsserver.Options{BindAddress: "0"},
		Controller:     config.Controller{SkipNameValidation: ptr.To(true)},
		Cache:          cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	}
	if o.Configure != nil {
		o.Configure(&opts, []string{namespace})
	}
	for _, option := range options {
		option(&opts)
	}
	mgr, err := ctrl.NewManager(injector.Config(c.Config), opts)
	if err != nil {
		return nil, err
	}
	if err := o.Setup(injector.ctx, mgr, clock); err != nil {
		return nil, err
	}
	synced := whenSynced(func() {
		mgr.GetCache().WaitForCacheSync(injector.ctx)
		close(p.synced)
	})
	if err := mgr.Add(synced); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		_ = mgr.Start(injector.ctx)
		injector.Kill() // A manager that gave up, as one does that lost its lease, is as dead as one that crashed.
	}()
	return p, nil
}

// Clock is the operator's clock: the real one, set forward or back at will.
type Clock struct {
	clock.RealClock
	offset atomic.Int64
}

// Now is the time that the operator believes in.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// Since is the time since t.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Jump sets the clock forward, or back.
func (c *Clock) Jump(d time.Duration) { c.offset.Add(int64(d)) }
