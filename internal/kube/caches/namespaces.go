// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// ErrForbidden is a missing permission to list or watch.
var ErrForbidden = errors.New("not allowed")

// accessRetry is the interval at which an unreadable namespace is tried again.
const accessRetry = 5 * time.Second

// Namespaces reports which of the watched namespaces cannot be read because permissions are missing. It is a
// manager.Runnable. While all namespaces can be read it sends no requests.
type Namespaces struct {
	clock      clock.WithTicker
	canRead    func(ctx context.Context, namespace string) error
	gauge      *prometheus.GaugeVec
	namespaces []string
	// unreadable has the reason for each unreadable namespace.
	unreadable map[string]error
	// forbidden has an element if an informer was rejected since the namespaces were inspected.
	forbidden chan struct{}
}

// NewNamespaces returns a reporter for some namespaces. canRead returns an error unless everything that the process
// reads can be read in a namespace; the error wraps ErrForbidden if a permission is missing. gauge is 1 for an
// unreadable namespace, otherwise 0.
func NewNamespaces(
	c clock.WithTicker, namespaces []string, canRead func(ctx context.Context, namespace string) error, gauge *prometheus.GaugeVec,
) *Namespaces {
	return &Namespaces{
		clock: c, canRead: canRead, gauge: gauge, namespaces: namespaces, unreadable: map[string]error{}, forbidden: make(chan struct{}, 1),
	}
}

// isSeveral reports whether there are several namespaces, each with its own informers.
func (a *Namespaces) isSeveral() bool { return len(a.namespaces) > 1 }

// Inspect finds out which namespaces can be read. It returns an error if none can be read, or if a request fails.
func (a *Namespaces) Inspect(ctx context.Context) error {
	unreadable := map[string]error{}
	var first error
	for _, namespace := range a.namespaces {
		err := a.canRead(ctx, namespace)
		switch {
		case errors.Is(err, ErrForbidden):
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

// noteForbidden makes Start inspect the namespaces, because an informer was rejected.
func (a *Namespaces) noteForbidden() {
	select {
	case a.forbidden <- struct{}{}:
	default:
	}
}

// NeedLeaderElection is false, because a replica that waits for the lease reports too.
func (*Namespaces) NeedLeaderElection() bool { return false }

// Start reports changes in the log and as a metric until ctx is done.
func (a *Namespaces) Start(ctx context.Context) error {
	if !a.isSeveral() {
		<-ctx.Done()
		return nil
	}
	defer a.gauge.Reset()
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
		if err = a.Inspect(ctx); err != nil && !errors.Is(err, ErrForbidden) && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Cannot determine which namespaces can be read")
		}
	}
}

// report logs the differences to the last report and sets the metric.
func (a *Namespaces) report(ctx context.Context, reported map[string]error) {
	logger := log.FromContext(ctx)
	for _, namespace := range a.namespaces {
		reason, unreadable := a.unreadable[namespace]
		_, before := reported[namespace]
		switch {
		case unreadable && !before:
			logger.Info("A namespace of WATCH_NAMESPACE cannot be read and is not served fully; the others are", "namespace", namespace, "reason", reason.Error())
		case !unreadable && before:
			logger.Info("A namespace of WATCH_NAMESPACE can be read again and is served", "namespace", namespace)
		}
		value := 0.0
		if unreadable {
			value = 1
		}
		a.gauge.WithLabelValues(namespace).Set(value)
	}
}
