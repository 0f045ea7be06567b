// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"flag"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/redhat/podset-operator/test/apiserver"
	"github.com/redhat/podset-operator/test/sim"
)

var (
	sequences = flag.Uint64("sequences", 30, "the number of random sequences")
	seed      = flag.Uint64("seed", 0, "run only the sequence of this seed and print it; 0: none")

	scheme = apiserver.Scheme()
	admin  client.WithWatch // of a cluster administrator
	// raw has clients that return the objects in responses to deletes, which client.Client does not.
	raw = map[string]rest.Interface{}
)

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	apiserver.Main(func() (int, error) { return run(m) })
}

func run(m *testing.M) (code int, err error) {
	environment := apiserver.New("../..")
	defer func() { _ = environment.Stop() }()
	config, err := environment.Start()
	if err != nil {
		return 1, fmt.Errorf("starting etcd and kube-apiserver: %w", err)
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	if admin, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return 1, err
	}
	codecs := serializer.NewCodecFactory(scheme)
	for _, resource := range resources {
		kind, err := apiutil.GVKForObject(sim.NewObject(resource), scheme)
		if err != nil {
			return 1, err
		}
		if raw[resource], err = apiutil.RESTClientForGVK(kind, false, false, config, codecs, httpClient); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}
