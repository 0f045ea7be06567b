// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// Probes serves /healthz and /readyz until the process ends. A manager would serve its probes only after it starts. It
// does not start while the process waits for the API server, so the kubelet would kill the process.
type Probes struct {
	lease *Lease
	cache atomic.Pointer[cache.Cache] // or nil if there is no manager yet
}

// ServeProbes starts to serve on an address. With "0" it serves nothing. A process that cannot use its lease is not
// ready.
func ServeProbes(ctx context.Context, address Address, lease *Lease) (*Probes, error) {
	p := &Probes{lease: lease}
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
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", string(address))
	if err != nil {
		return nil, fmt.Errorf("serving the health probes: %w", err)
	}
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // It returns only if the listener is closed.
	return p, nil
}

// SetCache sets the cache that must be filled before the process is ready.
func (p *Probes) SetCache(c cache.Cache) { p.cache.Store(&c) }

func (p *Probes) ready(ctx context.Context) error {
	c := p.cache.Load()
	if c == nil {
		return errors.New("waiting for the API server")
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if !(*c).WaitForCacheSync(ctx) {
		return errors.New("the caches are not filled yet")
	}
	return p.lease.usable()
}
