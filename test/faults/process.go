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
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/redhat/podset-operator/controllers"
	"github.com/redhat/podset-operator/test/invariants"
)

// Process is one start of the operator: a manager with its own caches and state.
type Process struct {
	*recorder
	// Number counts the starts from 1.
	Number int
	// Started is when it was started.
	Started time.Time

	synced chan struct{} // closed when the caches have synced
	done   chan struct{}
	err    error // see Err
}

// Err returns when the process has ended. Its error describes why the manager ended by itself, or that it did not end in time after it was
// killed.
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
	p.kill()
	<-p.done
}

// start starts a process that works in one namespace.
func start(c *Cluster, r *recorder, namespace string, options ...func(*ctrl.Options)) (*Process, error) {
	p := &Process{recorder: r, Number: r.process, Started: time.Now(), synced: make(chan struct{}), done: make(chan struct{})}
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
	mgr, err := ctrl.NewManager(r.config(c.Config), opts)
	if err != nil {
		return nil, err
	}
	if err := controllers.Add(r.ctx, mgr, controllers.Options{Clock: clock.RealClock{}, Image: invariants.DefaultImage}); err != nil {
		return nil, err
	}
	synced := manager.RunnableFunc(func(context.Context) error {
		mgr.GetCache().WaitForCacheSync(r.ctx)
		close(p.synced)
		return nil
	})
	if err := mgr.Add(synced); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		err := mgr.Start(r.ctx)
		byItself := r.ctx.Err() == nil
		if byItself || errors.Is(err, context.DeadlineExceeded) {
			p.err = fmt.Errorf("the manager ended, killed: %t: %w", !byItself, err)
		}
		r.kill()
	}()
	return p, nil
}
