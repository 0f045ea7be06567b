// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// accessRetry is how often a namespace that cannot be read is tried again.
const accessRetry = 10 * time.Second

// NamespaceAccess reports which of the watched namespaces cannot be read because permissions are missing. It is a
// manager.Runnable. While all of them can be read it sends no requests.
type NamespaceAccess struct {
	clock      clock.WithTicker
	reader     client.Reader
	namespaces []string
	// unreadable has the reason for each namespace that cannot be read.
	unreadable map[string]error
	// forbidden has an element when an informer was rejected since the namespaces were inspected.
	forbidden chan struct{}
}

func newNamespaceAccess(c clock.WithTicker, reader client.Reader, namespaces []string) *NamespaceAccess {
	return &NamespaceAccess{
		clock: c, reader: reader, namespaces: namespaces,
		unreadable: map[string]error{}, forbidden: make(chan struct{}, 1),
	}
}

// isSeveral tells whether there are several namespaces, each with informers of its own.
func (a *NamespaceAccess) isSeveral() bool { return len(a.namespaces) > 1 }

// inspect finds out which namespaces can be read. It returns an error when none can be, or when it does not find out.
func (a *NamespaceAccess) inspect(ctx context.Context) error {
	unreadable := map[string]error{}
	var first error
	for _, namespace := range a.namespaces {
		err := canList(ctx, a.reader, namespace)
		switch {
		case errors.Is(err, errForbidden):
			unreadable[namespace] = err
			if first == nil {
				first = err
			}
		case err != nil:
			return err
		}
	}
	a.unreadable = unreadable
	if len(unreadable) == len(a.namespaces) {
		return first
	}
	return nil
}

// noteForbidden says that an informer was rejected.
func (a *NamespaceAccess) noteForbidden() {
	select {
	case a.forbidden <- struct{}{}:
	default:
	}
}

// NeedLeaderElection is false: a replica that waits for the lease reports too.
func (*NamespaceAccess) NeedLeaderElection() bool { return false }

// Start reports changes in the log and as a metric until ctx is done.
func (a *NamespaceAccess) Start(ctx context.Context) error {
	if !a.isSeveral() {
		return nil
	}
	defer namespaceUnreadable.Reset()
	reported := map[string]error{}
	var err error
	for {
		a.report(ctx, reported)
		reported = a.unreadable
		forbidden, retry := a.forbidden, (<-chan time.Time)(nil)
		if len(a.unreadable) > 0 || err != nil {
			forbidden, retry = nil, a.clock.After(accessRetry)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-forbidden:
		case <-retry:
		}
		if err = a.inspect(ctx); err != nil && !errors.Is(err, errForbidden) && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Cannot find out which namespaces can be read")
		}
	}
}

// report tells what is different from what was reported last.
func (a *NamespaceAccess) report(ctx context.Context, reported map[string]error) {
	logger := log.FromContext(ctx)
	for _, namespace := range a.namespaces {
		reason, unreadable := a.unreadable[namespace]
		_, before := reported[namespace]
		switch {
		case unreadable && !before:
			logger.Info("A namespace of WATCH_NAMESPACE cannot be read and is not served; the others are", "namespace", namespace, "reason", reason.Error())
		case !unreadable && before:
			logger.Info("A namespace of WATCH_NAMESPACE can be read again and is served", "namespace", namespace)
		}
		value := 0.0
		if unreadable {
			value = 1
		}
		namespaceUnreadable.WithLabelValues(namespace).Set(value)
	}
}
