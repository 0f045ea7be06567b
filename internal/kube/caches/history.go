// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/redhat/podset-operator/internal/kube/history"
)

// noteShown remembers the resource version up to which the informer has seen everything.
func (l *tolerantLister) noteShown(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shown = history.Latest(version, l.shown)
}

func (l *tolerantLister) lastShown() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown
}

// checkHistory returns an error if the API server does not show its latest state, or if that is older than what the informer has seen. It
// must follow the start of each watch, because a watch that starts after the latest resource version gets neither events nor an error: the
// cache would miss every change until the API server reaches that version again. A restore of etcd needs a restart of the API server, and
// this ends all watches.
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

// compareHistory ends the process and returns an error if a list, which was a consistent read, is older than what the informer had seen before
// the request.
func (l *tolerantLister) compareHistory(list runtime.Object, shown string) error {
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return fmt.Errorf("reading a resource version: %w", err)
	}
	if err := history.Check(accessor.GetResourceVersion(), shown); err != nil {
		l.end(err)
		return err //nolint:wrapcheck // It is complete.
	}
	return nil
}
