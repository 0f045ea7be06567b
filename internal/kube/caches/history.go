// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// errRestored is a state of the API server that is older than one that a cache has shown.
var errRestored = errors.New("etcd was restored from a backup")

// noteShown remembers the resource version up to which the informer has seen everything.
func (l *tolerantLister) noteShown(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if order, err := resourceversion.CompareResourceVersion(version, cmp.Or(l.shown, "1")); err == nil && order >= 0 {
		l.shown = version
	}
}

func (l *tolerantLister) lastShown() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown
}

// checkHistory returns an error if the API server does not show the latest state, or if that is older than what the informer has seen. It must
// follow the begin of each watch, because a watch that begins after the latest resource version gets neither events nor an error: the cache
// would miss every change until the API server has reached that version again.
//
// The proof: a list without a resource version is a consistent read, so its resource version is at least every one that the API server gave
// to anything of this resource before the request was sent. If it is less than one that the informer has got, then the API server has
// forgotten that one. A restore needs a restart of the API server, which ends its watches. Below an API server that runs on, its own caches
// would be as blind, and a new process would read the same from them.
func (l *tolerantLister) checkHistory(ctx context.Context) error {
	shown := l.lastShown()
	if shown == "" {
		return nil // It is the first list.
	}
	latest, err := l.all.ListWithContext(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("reading the latest resource version: %w", err)
	}
	return l.compareHistory(latest, shown)
}

// compareHistory ends the process and returns an error if the resource version of a list, which was a consistent read, is less than one that
// the informer had got before. Resource versions are numbers since Kubernetes 1.35, and were before wherever they are those of etcd. Others
// prove nothing.
func (l *tolerantLister) compareHistory(list runtime.Object, shown string) error {
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return fmt.Errorf("reading a resource version: %w", err)
	}
	latest := accessor.GetResourceVersion()
	if order, err := resourceversion.CompareResourceVersion(latest, shown); err != nil || order >= 0 {
		return nil
	}
	err = fmt.Errorf("the latest resource version is %s and was %s: %w. This manager ends, because its caches would miss changes. The next one reads "+
		"everything again", latest, shown, errRestored)
	l.fail(err)
	return err
}
