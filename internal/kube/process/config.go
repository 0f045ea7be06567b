// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
)

// ClusterConfig returns the configuration of all clients, from --kubeconfig, KUBECONFIG, or the service account of the
// pod. Together, they send qps requests per second, or any number if that is -1.
func ClusterConfig(qps float64, burst int) (*rest.Config, error) {
	c, err := config.GetConfig()
	if err != nil {
		for _, file := range filepath.SplitList(os.Getenv("KUBECONFIG")) {
			if _, missing := os.Stat(file); missing != nil {
				err = fmt.Errorf("KUBECONFIG: %w", missing)
			}
		}
		return nil, fmt.Errorf("cannot find a cluster: %w; set KUBECONFIG or --kubeconfig", err)
	}
	c.QPS = float32(qps)
	if qps > 0 { // one limit for all clients: each would have its own
		c.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(c.QPS, burst)
	}
	// Since Kubernetes 1.37, the API server would compress each event separately in a watch that began with a streamed
	// list, which slows it down. kube-controller-manager does not ask for compression either.
	c.DisableCompression = true
	return c, nil
}
