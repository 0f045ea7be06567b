// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/redhat/podset-operator/test/faults"
)

const (
	root = "../.."
	crds = root + "/config/crd/bases"
)

// F15: the CRDs are removed and come back. P3 holds while the kinds are not served: the operator neither ends nor retries without back-off,
// and works again afterwards. Meanwhile only its informers send requests, with back-off.
func TestCRDs(t *testing.T) {
	t.Parallel()
	c := faults.OwnCluster(t, root)
	e := faults.NewEnv(t, c, "F15")
	e.Supervise()
	e.Create(podSet("a", 2))
	e.Settle()
	options := envtest.CRDInstallOptions{Paths: []string{crds}, MaxTime: faults.DefaultTimeout}
	e.Must(envtest.UninstallCRDs(c.Config, options))
	e.WaitForNoPods()
	bounded(e, 10*time.Second, traffic{writes: 3, events: 3, calls: 40})
	_, err := envtest.InstallCRDs(c.Config, options)
	e.Must(err)
	e.Timeout += faults.InformerBackoff
	e.CreateSoon(podSet("b", 3))
	e.ExpectIdle()
	e.Check("P3", e.Starts() == 1, "the operator ended %d times", e.Starts()-1)
}
