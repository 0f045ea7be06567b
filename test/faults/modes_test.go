// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/redhat/podset-operator/test/faults"
)

// allNamespaces makes the cache hold the objects of all namespaces, as in the default deployment.
func allNamespaces(o *ctrl.Options) { o.Cache.DefaultNamespaces = nil }

// twoNamespaces makes the cache hold the objects of two namespaces, with informers for each.
func twoNamespaces(o *ctrl.Options) {
	namespaces := maps.Clone(o.Cache.DefaultNamespaces)
	namespaces[corev1.NamespaceDefault] = cache.Config{}
	o.Cache.DefaultNamespaces = namespaces
}

// withoutStreamedLists makes kube-apiserver reject streamed lists, as Kubernetes 1.31 and 1.33 do by default.
func withoutStreamedLists(e *envtest.Environment) {
	e.ControlPlane.GetAPIServer().Configure().Append("feature-gates", "WatchList=false")
}

// F28: a cache of one namespace, of two, and of all, with and without streamed lists. The simulation has every order of many faults, with
// the cache of one mode.
func TestModes(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]struct {
		cache  func(*ctrl.Options)
		server func(*envtest.Environment) // changes a cluster of its own, or nil for the shared one
	}{
		"one namespace":                     {func(*ctrl.Options) {}, nil},
		"two namespaces":                    {twoNamespaces, nil},
		"two namespaces, no streamed lists": {twoNamespaces, withoutStreamedLists},
		// This operator would also serve the environments of other tests.
		"all namespaces":                    {allNamespaces, func(*envtest.Environment) {}},
		"all namespaces, no streamed lists": {allNamespaces, withoutStreamedLists},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster
			if mode.server != nil {
				c = faults.OwnCluster(t, root, mode.server)
			}
			e := faults.NewEnv(t, c, "F28")
			e.Options = append(e.Options, mode.cache)
			twoOperators(e)
		})
	}
}

// twoOperators run at the same time, as if the lease did not work (F11). Then both crash, and another one finds the objects and an edit of
// them (F1).
func twoOperators(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	two := []*faults.Process{e.Start(), e.Start()}
	e.Create(podSet("a", 10), at("a", "now + 1 second", "echo YAY"), at("b", "now + 2 seconds", "echo YAY"), at("c", "now", "echo YAY"))
	e.Settle()
	for _, operator := range two {
		operator.Crash()
	}
	scale(e, "a", 3)
	e.Start()
	e.ExpectIdle()
	e.ExpectCounts(faults.Counts{Creates: 13, Deletes: 7})
}
