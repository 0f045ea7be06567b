// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// leaderCache is a cache that is filled when its process starts to lead. Its first lists are consistent reads, so it
// shows everything that earlier leaders wrote. A cache that is filled earlier may lag when the process starts to lead.
// The process would then create a pod a second time, or delete pods that another process has already replaced.
type leaderCache struct {
	cache.Cache
	leads <-chan struct{}
}

// NewLeaderCache creates a cache that is filled when its process starts to lead. FillWhenLeading must follow.
func NewLeaderCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	filled, err := cache.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("creating the cache: %w", err)
	}
	return &leaderCache{Cache: filled}, nil
}

// FillWhenLeading makes mgr fill its cache, which NewLeaderCache created, when it is elected.
func FillWhenLeading(mgr ctrl.Manager) error {
	c, ok := mgr.GetCache().(*leaderCache)
	if !ok {
		return errors.New("the cache of the manager was not created by NewLeaderCache")
	}
	c.leads = mgr.Elected()
	return nil
}

// Start fills the cache once the process leads, and updates it until ctx is done.
func (c *leaderCache) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.leads:
		return c.Cache.Start(ctx)
	}
}

// WaitForCacheSync waits until the cache is filled. It does not wait while the process does not lead.
func (c *leaderCache) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-c.leads:
		return c.Cache.WaitForCacheSync(ctx)
	default:
		return ctx.Err() == nil
	}
}

// withoutCacheSync is the manager that WithoutCacheSync returns.
type withoutCacheSync struct{ ctrl.Manager }

// WithoutCacheSync wraps mgr so that its controllers do not wait for the sync of unrelated informers, which takes many
// seconds if there are many objects. controller-runtime waits for the whole cache and for each watch of the controller,
// and has no option to wait for the watches only.
func WithoutCacheSync(mgr ctrl.Manager) ctrl.Manager { return withoutCacheSync{mgr} }

// GetCache returns the cache of the watches of a controller.
func (m withoutCacheSync) GetCache() cache.Cache { return syncedCache{m.Manager.GetCache()} }

// syncedCache reports that it is synced at once.
type syncedCache struct{ cache.Cache }

// WaitForCacheSync does not wait.
func (syncedCache) WaitForCacheSync(ctx context.Context) bool { return ctx.Err() == nil }
