// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
	"github.com/redhat/podset-operator/test/invariants"
)

// Process is one start of the operator: a manager with its own caches and state.
type Process struct {
	*Injector
	// Number counts the starts from 1.
	Number int
	// Started is when it was started.
	Started time.Time

	synced chan struct{} // closed when the caches have synced
	done   chan struct{}
	err    error // see Err
}

// Err returns when the process has ended. Its error describes why the manager ended by itself, or that it did not end in time after it was
// killed. A manager with leader election may end by itself, because it has lost its lease.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// Crash ends the process between two calls and returns when all its goroutines have ended. It waits for the caches to sync
// first, because a manager that is stopped earlier keeps waiting for them.
func (p *Process) Crash() {
	select {
	case <-p.synced:
	case <-p.done:
	}
	p.Kill()
	<-p.done
}

// whenSynced is a runnable that starts when the caches have synced, with or without the lease.
type whenSynced func()

func (f whenSynced) Start(context.Context) error { f(); return nil }
func (whenSynced) NeedLeaderElection() bool      { return false }

// start starts a process that works in one namespace.
func start(c *Cluster, injector *Injector, namespace string, clock clock.WithTicker, options ...func(*ctrl.Options)) (*Process, error) {
	p := &Process{Injector: injector, Number: injector.process, Started: time.Now(), synced: make(chan struct{}), done: make(chan struct{})}
	opts := ctrl.Options{
		Scheme: c.Scheme,
		// Discovery would take most of the start time.
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return c.mapper, nil },
		Metrics:        metricsserver.Options{BindAddress: "0"},
		Controller:     config.Controller{SkipNameValidation: ptr.To(true), RecoverPanic: ptr.To(false)}, // P10: a panic ends the tests.
		Cache:          cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	}
	controllers.ConfigureCaches(&opts, []string{namespace})
	for _, option := range options {
		option(&opts)
	}
	mgr, err := ctrl.NewManager(injector.Config(c.Config), opts)
	if err != nil {
		return nil, err
	}
	if err := controllers.Add(injector.ctx, mgr, controllers.Options{Clock: clock, Image: invariants.DefaultImage}); err != nil {
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
		err := mgr.Start(injector.ctx)
		byItself := injector.ctx.Err() == nil
		if !opts.LeaderElection && (byItself || errors.Is(err, context.DeadlineExceeded)) {
			p.err = fmt.Errorf("the manager ended, killed: %t: %w", !byItself, err)
		}
		injector.Kill() // A manager also ends when it loses its lease.
	}()
	return p, nil
}
