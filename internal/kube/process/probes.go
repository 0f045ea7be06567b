// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// Probes serves /healthz and /readyz as long as the process runs. A manager serves its probes only after it starts. It does not start while
// the process waits for the API server, so the kubelet would kill the process.
type Probes struct {
	server *boundedServer
	cache  atomic.Pointer[cache.Cache] // or nil if there is no manager yet
	// These are set before cache. starts is closed when the manager starts to work, and nil if it may have to wait for the lease.
	// lock is nil without leader election.
	starts <-chan struct{}
	lock   *LeaseLock
}

// ServeProbes starts to serve on an address. With "0" it serves nothing.
func ServeProbes(ctx context.Context, address string) (*Probes, error) {
	p := &Probes{}
	if address == "" || address == "0" {
		return p, nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", func(answer http.ResponseWriter, req *http.Request) {
		if err := p.ready(req.Context()); err != nil {
			http.Error(answer, err.Error(), http.StatusServiceUnavailable)
		}
	})
	var err error
	if p.server, err = listen(ctx, address, probeGrace, mux); err != nil {
		return nil, fmt.Errorf("serving the health probes: %w", err)
	}
	go func() { _ = p.server.serve(nil) }() // It returns when the server is closed.
	return p, nil
}

// SetManager sets what must be true before the process is ready: starts is closed, unless it is nil, the lease is usable, and the cache
// is filled. A process that waits for the lease is ready.
func (p *Probes) SetManager(starts <-chan struct{}, lock *LeaseLock, c cache.Cache) {
	p.starts, p.lock = starts, lock
	p.cache.Store(&c)
}

func (p *Probes) ready(ctx context.Context) error {
	c := p.cache.Load()
	if c == nil {
		return errors.New("waiting for the API server")
	}
	if p.starts != nil {
		select {
		case <-p.starts:
		default: // A cache that has not started does not delay readiness.
			return errors.New("the manager is starting")
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if !(*c).WaitForCacheSync(ctx) {
		return errors.New("the caches are not filled yet")
	}
	return p.lock.usable()
}

// Close stops serving.
func (p *Probes) Close() {
	if p.server != nil {
		p.server.close()
	}
}
