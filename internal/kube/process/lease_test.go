// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"
)

// answer is a server that always answers the same.
type answer struct {
	code int
	err  error
}

func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.code, Body: http.NoBody}, a.err
}

func TestLease(t *testing.T) {
	const lease, leases, events = "/apis/coordination.k8s.io/v1/namespaces/a/leases/b", "/apis/coordination.k8s.io/v1/namespaces/a/leases", "/api/v1/namespaces/a/events"
	for title, tc := range map[string]struct {
		method, path string
		answer       answer
		usable       bool
	}{
		"it is read":            {http.MethodGet, lease, answer{200, nil}, true},
		"it does not exist yet": {http.MethodGet, lease, answer{404, nil}, true},
		"no namespace":          {http.MethodPost, leases, answer{404, nil}, false},
		"another was faster":    {http.MethodPut, lease, answer{409, nil}, true},
		"no permission":         {http.MethodGet, lease, answer{403, nil}, false},
		"no answer":             {http.MethodPut, lease, answer{0, errors.New("timeout")}, false},
		"an event":              {http.MethodPost, events, answer{201, nil}, false},
	} {
		t.Run(title, func(t *testing.T) {
			l, earlier := &Lease{}, errors.New("earlier")
			l.failure.Store(&earlier)
			config := l.Config(&rest.Config{Transport: tc.answer, QPS: 5})
			transport, err := rest.TransportFor(config)
			if err != nil || config.QPS != -1 {
				t.Fatal(config.QPS, err)
			}
			req, err := http.NewRequestWithContext(t.Context(), tc.method, "http://a"+tc.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := transport.RoundTrip(req); err == nil {
				_ = resp.Body.Close()
			}
			if err := l.usable(); (err == nil) != tc.usable {
				t.Errorf("the lease is usable: %v", err)
			}
		})
	}
}
