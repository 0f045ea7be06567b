// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/redhat/podset-operator/test/faults/control"
)

// runNaive is the arm N: the reconcilers of the fault suite that have the faults of tutorial operators. It has no client
// limits, as the operator has none.
func runNaive(ctx context.Context, kubeconfig, metrics string) error {
	ctrl.SetLogger(zap.New())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: newScheme(), Metrics: metricsserver.Options{BindAddress: metrics}})
	if err != nil {
		return err
	}
	if err := control.Setup(ctx, mgr, clock.RealClock{}); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
