// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// stubCache closes started when it is started, and is filled once filled is closed.
type stubCache struct {
	cache.Cache
	started, filled chan struct{}
}

func (c *stubCache) Start(ctx context.Context) error {
	close(c.started)
	<-ctx.Done()
	return nil
}

func (c *stubCache) WaitForCacheSync(context.Context) bool {
	select {
	case <-c.filled:
		return true
	default:
		return false
	}
}

func TestLeaderCache(t *testing.T) {
	leads, inner := make(chan struct{}), &stubCache{started: make(chan struct{}), filled: make(chan struct{})}
	c := &leaderCache{Cache: inner, leads: leads}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	select {
	case <-inner.started:
		t.Fatal("the cache is filled although the process does not lead")
	case <-time.After(10 * time.Millisecond):
	}
	if !c.WaitForCacheSync(ctx) {
		t.Error("a process that does not lead waits for the cache")
	}
	close(leads)
	<-inner.started
	if c.WaitForCacheSync(ctx) {
		t.Error("the process does not wait for its cache")
	}
	close(inner.filled)
	cancel()
	if err := <-ended; err != nil || !c.WaitForCacheSync(t.Context()) {
		t.Errorf("the cache is not filled (%v)", err)
	}
}
