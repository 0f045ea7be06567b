// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// reviewer is an API server that knows the tokens "reader", "stranger", and nobody else, and permits GET /metrics to the reader.
type reviewer struct {
	fails    bool
	delay    time.Duration // of a review
	mu       sync.Mutex
	requests int
	inFlight int
	most     int // in flight
	asked    authorizationv1.SubjectAccessReviewSpec
}

func (r *reviewer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.requests++
	r.inFlight++
	r.most = max(r.most, r.inFlight)
	r.mu.Unlock()
	<-time.After(r.delay) // what a review takes
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight--
	var answer any
	body, err := io.ReadAll(req.Body)
	switch {
	case r.fails || err != nil:
		w.WriteHeader(http.StatusInternalServerError)
		return
	case strings.HasSuffix(req.URL.Path, "/tokenreviews"):
		review := &authenticationv1.TokenReview{}
		err = json.Unmarshal(body, review)
		if token := review.Spec.Token; token == "reader" || token == "stranger" {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{
				Username: token, UID: "1", Groups: []string{"all"}, Extra: map[string]authenticationv1.ExtraValue{"a": {"b"}},
			}}
		} else {
			review.Status.Error = "unknown token"
		}
		answer = review
	default:
		review := &authorizationv1.SubjectAccessReview{}
		err = json.Unmarshal(body, review)
		r.asked = review.Spec
		review.Status.Allowed = review.Spec.User == "reader" && review.Spec.NonResourceAttributes.Verb == "get"
		answer = review
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // The client reports what it cannot read.
}

// protect returns a handler behind the filter.
func protect(t *testing.T, server http.Handler, c *clocktesting.FakeClock) http.Handler {
	t.Helper()
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	config := &rest.Config{Host: web.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	auth, err := newMetricsAuth(c, config, web.Client())
	if err != nil {
		t.Fatal(err)
	}
	return auth.protect(logr.Discard(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
}

// ask sends a request and returns the status code of the answer.
func ask(handler http.Handler, method, authorization string) int {
	req := httptest.NewRequest(method, "/metrics", http.NoBody)
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, req)
	return answer.Code
}

func TestMetricsNeedATokenAndThePermission(t *testing.T) {
	for title, tc := range map[string]struct {
		method, authorization string
		fails                 bool
		code, requests        int
	}{
		"permitted":                    {http.MethodGet, "Bearer reader", false, http.StatusOK, 2},
		"a scheme in lower case":       {http.MethodGet, "bearer reader", false, http.StatusOK, 2},
		"no token":                     {http.MethodGet, "", false, http.StatusUnauthorized, 0},
		"an empty token":               {http.MethodGet, "Bearer ", false, http.StatusUnauthorized, 0},
		"a password":                   {http.MethodGet, "Basic cmVhZGVyOg==", false, http.StatusUnauthorized, 0},
		"a token of a megabyte":        {http.MethodGet, "Bearer " + strings.Repeat("a", 1<<20), false, http.StatusUnauthorized, 0},
		"an unknown token":             {http.MethodGet, "Bearer nobody", false, http.StatusUnauthorized, 1},
		"a user without permission":    {http.MethodGet, "Bearer stranger", false, http.StatusForbidden, 2},
		"another verb":                 {http.MethodPost, "Bearer reader", false, http.StatusForbidden, 2},
		"an API server that is broken": {http.MethodGet, "Bearer reader", true, http.StatusInternalServerError, 1},
	} {
		server := &reviewer{fails: tc.fails}
		handler := protect(t, server, clocktesting.NewFakeClock(time.Now()))
		if code := ask(handler, tc.method, tc.authorization); code != tc.code || server.requests != tc.requests {
			t.Errorf("%s: status code %d, %d requests to the API server; want %d, %d", title, code, server.requests, tc.code, tc.requests)
		}
	}
}

// The API server decides by all that it knows about the user.
func TestMetricsAuthPassesOnTheUser(t *testing.T) {
	server := &reviewer{}
	ask(protect(t, server, clocktesting.NewFakeClock(time.Now())), http.MethodGet, "Bearer reader")
	want := authorizationv1.SubjectAccessReviewSpec{
		User: "reader", UID: "1", Groups: []string{"all"}, Extra: map[string]authorizationv1.ExtraValue{"a": {"b"}},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/metrics"},
	}
	if !reflect.DeepEqual(server.asked, want) {
		t.Errorf("asked %+v, want %+v", server.asked, want)
	}
}

// Every pod can send requests, and each could become requests of the operator.
func TestAFloodOfRequestsForMetricsDoesNotReachTheAPIServer(t *testing.T) {
	server := &reviewer{delay: 5 * time.Millisecond}
	handler := protect(t, server, clocktesting.NewFakeClock(time.Now()))
	for range 1000 {
		if code := ask(handler, http.MethodGet, "Bearer nobody"); code != http.StatusUnauthorized {
			t.Fatalf("status code %d", code)
		}
	}
	if server.requests != 1 {
		t.Errorf("%d requests to the API server for one token", server.requests)
	}
	var asks sync.WaitGroup
	for n := range 50 {
		asks.Go(func() { ask(handler, http.MethodGet, fmt.Sprintf("Bearer nobody-%d", n)) })
	}
	asks.Wait()
	if server.requests != 51 || server.most > maxReviews {
		t.Errorf("%d requests to the API server, %d at the same time", server.requests, server.most)
	}
}

// Permissions are remembered for a minute, and denials for some seconds: a permission that was just granted counts soon.
func TestPermissionsToReadMetricsAreRemembered(t *testing.T) {
	server, c := &reviewer{}, clocktesting.NewFakeClock(time.Now())
	handler := protect(t, server, c)
	for i, step := range []struct {
		after         time.Duration
		method, token string
		code          int
		requests      int // to the API server
	}{
		{0, http.MethodGet, "reader", http.StatusOK, 2},
		{permissionTTL - 1, http.MethodGet, "reader", http.StatusOK, 0},
		{0, http.MethodPost, "reader", http.StatusForbidden, 2},
		{1, http.MethodGet, "reader", http.StatusOK, 2},
		{0, http.MethodGet, "stranger", http.StatusForbidden, 2},
		{denialTTL - 1, http.MethodGet, "stranger", http.StatusForbidden, 0},
		{1, http.MethodGet, "stranger", http.StatusForbidden, 2},
	} {
		c.SetTime(c.Now().Add(step.after))
		before := server.requests
		if code := ask(handler, step.method, "Bearer "+step.token); code != step.code || server.requests-before != step.requests {
			t.Errorf("step %d: status code %d, %d requests; want %d, %d", i, code, server.requests-before, step.code, step.requests)
		}
	}
}
