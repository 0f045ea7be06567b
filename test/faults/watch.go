// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// gate controls what the watches of one resource deliver.
type gate struct {
	open       chan struct{} // closed while the gate is open
	streams    map[*stream]struct{}
	expired    bool      // the next watch is rejected with 410 Gone
	delivering time.Time // when a watch last began to deliver
}

// staleUntil returns when a watch last began to deliver, or now if none delivers. A cache can be older than this moment.
func (g *gate) staleUntil() time.Time {
	if len(g.streams) == 0 || !isClosed(g.open) {
		return time.Now()
	}
	return g.delivering
}

// gate returns the gate of a resource. The caller holds i.mu.
func (i *Injector) gate(resource string) *gate {
	g, ok := i.gates[resource]
	if !ok {
		g = &gate{open: make(chan struct{}), streams: map[*stream]struct{}{}}
		close(g.open)
		i.gates[resource] = g
	}
	return g
}

// Hold makes the caches of resources stale: their watches stay open and deliver nothing until Release.
func (i *Injector) Hold(resources ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, resource := range resources {
		if g := i.gate(resource); isClosed(g.open) {
			g.open = make(chan struct{})
		}
	}
}

// Release delivers the events that were held, in order.
func (i *Injector) Release(resources ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, resource := range resources {
		if g := i.gate(resource); !isClosed(g.open) {
			close(g.open)
			g.delivering = time.Now()
		}
	}
}

// Expire ends the watches of resources, drops the events that were held, and rejects the next watch with 410 Gone. The informer
// misses the events in between.
func (i *Injector) Expire(resources ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, resource := range resources {
		g := i.gate(resource)
		g.expired = true
		for s := range g.streams {
			s.cut()
		}
		if !isClosed(g.open) {
			close(g.open)
		}
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// watch starts a watch whose events pass the gate of its resource.
func (i *Injector) watch(next http.RoundTripper, req *http.Request, call *Call) (*http.Response, error) {
	query := req.URL.Query()
	i.mu.Lock()
	g := i.gate(call.Resource)
	expired := g.expired && query.Get("sendInitialEvents") == ""
	if expired {
		g.expired = false
	}
	i.mu.Unlock()
	if expired {
		return response(req, http.StatusGone, "Expired", "too old resource version"), nil
	}
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(i.ctx, cancel)
	resp, err := next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	s := &stream{injector: i, gate: g, body: resp.Body, ctx: ctx, cut: cancel, stop: stop}
	i.mu.Lock()
	g.streams[s], g.delivering = struct{}{}, time.Now()
	i.mu.Unlock()
	resp.Body = s
	return resp, nil
}

// stream is the body of a watch.
type stream struct {
	injector *Injector
	gate     *gate
	body     io.ReadCloser
	ctx      context.Context
	cut      context.CancelFunc
	stop     func() bool
	once     sync.Once
}

// Read waits at the gate after it has read, so that Hold also holds events that are in flight.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	for {
		s.injector.mu.Lock()
		open := s.gate.open
		s.injector.mu.Unlock()
		if isClosed(open) {
			break
		}
		select {
		case <-open:
		case <-s.ctx.Done():
			return 0, io.EOF
		}
	}
	if s.ctx.Err() != nil {
		return 0, io.EOF
	}
	return n, err
}

func (s *stream) Close() error {
	s.once.Do(func() {
		s.stop()
		s.cut()
		s.injector.mu.Lock()
		delete(s.gate.streams, s)
		s.injector.mu.Unlock()
	})
	return s.body.Close()
}
