// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package control is the negative control: two naive reconcilers with the defects of typical tutorial operators. They show that
// the checks of the simulation can fail.
package control

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Setup adds both naive reconcilers to a manager.
func Setup(_ context.Context, mgr ctrl.Manager, clock clock.WithTicker) error {
	if err := (&podSets{client: mgr.GetClient()}).setup(mgr); err != nil {
		return err
	}
	return (&ats{client: mgr.GetClient(), clock: clock}).setup(mgr)
}
