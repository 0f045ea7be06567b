// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/redhat/podset-operator/test/faults"
)

var (
	cluster *faults.Cluster
	logs    = flag.Bool("logs", false, "show the logs of the operators")
)

// onPurpose is the value of a panic that is not a violation of P10.
const onPurpose = "on purpose"

func TestMain(m *testing.M) {
	flag.DurationVar(&faults.Quiet, "quiet", faults.Quiet, "how long the operator may write nothing after everything has settled")
	// Environments mostly wait, so many more of them than cores can run in parallel.
	_ = flag.Set("test.parallel", "96")
	flag.Parse()
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	if *logs {
		ctrl.SetLogger(zap.New(zap.UseDevMode(true)))
	}
	code, err := run(m)
	if err != nil {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	start := time.Now()
	if cluster, err = faults.StartCluster("../../config/crd/bases"); err != nil {
		return 1, err
	}
	defer func() { _ = cluster.Stop() }()
	faults.RecordPanics()
	fmt.Printf("seed %d\n", faults.Seed())
	code = m.Run()
	for _, operator := range []faults.Controllers{faults.Ours, naive} {
		fmt.Printf("\n%s: environments in which an invariant was checked; violated/checked\n%s", operator.Name, faults.Table(operator.Name))
	}
	fmt.Printf("\nseed %d, %s\n", faults.Seed(), time.Since(start).Round(time.Second))
	return code, checkNothingLeft()
}

// checkNothingLeft checks P10: no reconcile has panicked, and no goroutine of an operator is left.
func checkNothingLeft() error {
	for _, p := range faults.Panics() {
		if p.Value != onPurpose {
			return fmt.Errorf("P10: a reconcile panicked: %v\n%s", p.Value, p.Stack)
		}
	}
	for _, code := range faults.Code {
		if stacks := faults.Stacks(code); len(stacks) > 0 {
			return fmt.Errorf("P10: %d goroutines of operators are left, such as:\n%s", len(stacks), strings.TrimSpace(stacks[0]))
		}
	}
	return nil
}
