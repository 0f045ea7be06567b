// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
)

func TestProbes(t *testing.T) {
	lease := &Lease{}
	p, err := ServeProbes(t.Context(), "0", lease)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.ready(t.Context()); err == nil {
		t.Error("ready without a manager")
	}
	p.SetCache(&informertest.FakeInformers{})
	if err := p.ready(t.Context()); err != nil {
		t.Errorf("not ready: %s", err)
	}
	failure := errors.New("no permission")
	lease.failure.Store(&failure)
	if err := p.ready(t.Context()); !errors.Is(err, failure) {
		t.Errorf("ready without the lease: %v", err)
	}
}
