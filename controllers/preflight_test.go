// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
)

func TestPreflight_openShift(t *testing.T) {
	for group, want := range map[string]bool{"security.openshift.io": true, "apps": false} {
		t.Run(group, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, req *http.Request) {
				var response any = metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
				switch req.URL.Path {
				case "/apis":
					response = metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: group}}}
				case "/api/v1":
					response = metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods", Namespaced: true, Kind: "Pod"}}}
				case "/api":
					response = metav1.APIVersions{Versions: []string{"v1"}}
				}
				answer.Header().Set("Content-Type", "application/json")
				if err := json.NewEncoder(answer).Encode(response); err != nil {
					t.Error(err)
				}
			}))
			defer server.Close()
			cluster, err := Preflight(t.Context(), testclock.NewFakeClock(time.Now()), &rest.Config{Host: server.URL}, scheme, nil)
			if err != nil {
				t.Fatal(err)
			}
			if cluster.OpenShift != want {
				t.Errorf("OpenShift: %t, want %t", cluster.OpenShift, want)
			}
		})
	}
}

// Before it is ready, an API server may answer that a kind does not exist, or that a request is forbidden. TestWait has
// how long the operator waits.
func TestPreflight_starting(t *testing.T) {
	for title, tc := range map[string]struct {
		answer, readyz int
		reads          bool // the operator sends other requests
	}{
		"no such kind":              {http.StatusNotFound, http.StatusInternalServerError, false},
		"unauthorized":              {http.StatusUnauthorized, http.StatusInternalServerError, false},
		"everything is forbidden":   {http.StatusForbidden, http.StatusForbidden, true},
		"even readyz does not know": {http.StatusUnauthorized, http.StatusUnauthorized, true},
	} {
		t.Run(title, func(t *testing.T) {
			var requests atomic.Int32 // besides those to /readyz
			server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, req *http.Request) {
				if req.URL.Path == "/readyz" {
					answer.WriteHeader(tc.readyz)
					return
				}
				requests.Add(1)
				answer.WriteHeader(tc.answer)
			}))
			defer server.Close()
			clock := testclock.NewFakeClock(time.Now())
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := Preflight(ctx, clock, &rest.Config{Host: server.URL}, scheme, nil)
				ended <- err
			}()
			for !clock.HasWaiters() {
				select {
				case err := <-ended:
					t.Fatal("ended: ", err)
				case <-time.After(time.Millisecond):
				}
			}
			cancel()
			if err := <-ended; err != nil {
				t.Log("it was interrupted: ", err)
			}
			if got := requests.Load(); (got > 0) != tc.reads {
				t.Errorf("%d requests", got)
			}
		})
	}
}

// A denial that lasts ends the process.
func TestPreflight_credentials(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/readyz" {
			answer.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	clock := testclock.NewFakeClock(time.Now())
	ended := make(chan error, 1)
	go func() {
		_, err := Preflight(t.Context(), clock, &rest.Config{Host: server.URL}, scheme, nil)
		ended <- err
	}()
	for {
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), "does not accept the operator's credentials") {
				t.Error(err)
			}
			return
		case <-time.After(time.Millisecond):
			if clock.HasWaiters() {
				clock.Step(2 * time.Second)
			}
		}
	}
}

// preflight runs Preflight with the rights of the operator. answer returns the status code for a request, or 0 for the
// answer of the API server.
func preflight(t *testing.T, answer func(req *http.Request, verb string) int) (*rest.Config, error) {
	t.Helper()
	config := rest.CopyConfig(operator)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			verb, err := permissionOf(req)
			if err != nil {
				return nil, err
			}
			if code := answer(req, verb); code != 0 {
				return &http.Response{StatusCode: code, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
			}
			return next.RoundTrip(req)
		})
	})
	ended := make(chan error, 1)
	go func() {
		_, err := Preflight(t.Context(), testclock.NewFakeClock(time.Now()), config, scheme, nil)
		ended <- err
	}()
	select {
	case err := <-ended:
		return config, err
	case <-time.After(patience):
		t.Fatal("it waits")
		return nil, nil
	}
}

func TestPreflight_requests(t *testing.T) {
	config, err := preflight(t, func(req *http.Request, verb string) int {
		_, bounded := req.Context().Deadline()
		if !bounded || strings.HasPrefix(verb, "list ") && req.URL.Query().Get("limit") != "1" {
			t.Errorf("%s %s", verb, req.URL)
		}
		return 0
	})
	if err != nil || config.Timeout != 0 {
		t.Errorf("%v; requests of the manager are bounded by %s", err, config.Timeout)
	}
}

func TestPreflight_readyz(t *testing.T) {
	_, err := preflight(t, func(req *http.Request, _ string) int {
		if req.URL.Path == "/readyz" {
			return http.StatusForbidden
		}
		return 0
	})
	if err != nil {
		t.Error(err)
	}
}
