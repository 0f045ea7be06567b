// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strings"
)

// maxEventRequests is how many requests about events are in flight at the same time. The event recorder of client-go sends each
// event at once. After a burst of Ats, thousands of events would delay pods and statuses: see docs/benchmarks.md.
const maxEventRequests = 4

// limitEvents returns a transport on which requests about events wait for others of their kind. Other requests do not wait.
func limitEvents(next http.RoundTripper) http.RoundTripper {
	return &eventLimit{next, make(chan struct{}, maxEventRequests)}
}

type eventLimit struct {
	next     http.RoundTripper
	inFlight chan struct{}
}

// RoundTrip sends a request.
func (l *eventLimit) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.Contains(req.URL.Path, "/apis/events.k8s.io/") {
		return l.next.RoundTrip(req)
	}
	select {
	case l.inFlight <- struct{}{}:
		defer func() { <-l.inFlight }()
		return l.next.RoundTrip(req)
	case <-req.Context().Done():
		if req.Body != nil {
			_ = req.Body.Close() // A transport closes the body of each request.
		}
		return nil, req.Context().Err()
	}
}
