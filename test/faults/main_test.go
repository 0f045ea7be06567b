// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"flag"
	"io"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/redhat/podset-operator/test/apiserver"
	"github.com/redhat/podset-operator/test/faults"
)

var (
	cluster *faults.Cluster
	logs    = flag.Bool("logs", false, "show the logs of the operators")
)

func TestMain(m *testing.M) {
	flag.DurationVar(&faults.Quiet, "quiet", faults.Quiet, "how long the operator may write nothing after everything has settled")
	_ = flag.Set("test.parallel", "24") // Environments mostly wait.
	flag.Parse()
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	if *logs {
		ctrl.SetLogger(zap.New(zap.UseDevMode(true)))
	}
	apiserver.Main(func() (int, error) { return run(m) })
}

func run(m *testing.M) (code int, err error) {
	if cluster, err = faults.StartCluster(root); err != nil {
		return 1, err
	}
	defer func() { _ = cluster.Stop() }()
	return m.Run(), nil
}
