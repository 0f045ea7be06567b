// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// LeaseName is the name of the lease.
const LeaseName = "podset-operator"

// Lease remembers whether the last request for the lease failed. Without the lease, a manager serves nothing, so it
// must not be Ready.
type Lease struct{ failure atomic.Pointer[error] }

// Config returns the configuration of the leader election. Requests of other clients do not delay the renewal of the
// lease.
func (l *Lease) Config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter = -1, nil
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &leaseRequests{next, l} })
	return config
}

// leaseRequests sends the requests of the leader election, of which some are about events.
type leaseRequests struct {
	next  http.RoundTripper
	lease *Lease
}

// RoundTrip sends a request.
func (r *leaseRequests) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if !strings.Contains(req.URL.Path, "/leases") {
		return resp, err
	}
	failure := err
	if err == nil && !isAnswer(req.Method, resp.StatusCode) {
		failure = fmt.Errorf("%s %s: %s", req.Method, req.URL.Path, resp.Status)
	}
	if failure == nil {
		r.lease.failure.Store(nil)
	} else {
		r.lease.failure.Store(&failure)
	}
	return resp, err
}

// isAnswer reports whether a status code shows that the lease can be used: the first manager creates the lease, and a
// conflict means that another replica was faster.
func isAnswer(method string, code int) bool {
	return code < http.StatusBadRequest || code == http.StatusConflict || code == http.StatusNotFound && method == http.MethodGet
}

// usable returns an error if the last request for the lease failed.
func (l *Lease) usable() error {
	if err := l.failure.Load(); err != nil {
		return fmt.Errorf("the lease cannot be used: %w", *err)
	}
	return nil
}
