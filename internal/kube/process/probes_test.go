// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
)

// The cache of a process that does not lead yet must not delay readiness, because a process may wait days for the lease.
func TestProbes(t *testing.T) {
	p := &Probes{}
	if err := p.ready(t.Context()); err == nil {
		t.Error("ready without a manager")
	}
	starts := make(chan struct{})
	p.SetManager(starts, nil, &informertest.FakeInformers{})
	if err := p.ready(t.Context()); err == nil {
		t.Error("ready before the manager started")
	}
	close(starts)
	if err := p.ready(t.Context()); err != nil {
		t.Errorf("not ready after the manager started: %s", err)
	}
	p.SetManager(nil, nil, &informertest.FakeInformers{})
	if err := p.ready(t.Context()); err != nil {
		t.Errorf("not ready while it waits for the lease: %s", err)
	}
}
