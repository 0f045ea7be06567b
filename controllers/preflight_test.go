// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/redhat/podset-operator/internal/kube/outage"
)

func TestPreflight_credentials(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/readyz" {
			answer.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	_, err := Preflight(t.Context(), testclock.NewFakeClock(time.Now()), &rest.Config{Host: server.URL}, scheme, nil)
	if err == nil || !strings.Contains(err.Error(), "does not accept the operator's credentials") {
		t.Error(err)
	}
}

func TestPreflight_openShift(t *testing.T) {
	for group, want := range map[string]bool{"security.openshift.io": true, "apps": false} {
		t.Run(group, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, req *http.Request) {
				switch req.URL.Path {
				case "/readyz":
				case "/apis":
					answer.Header().Set("Content-Type", "application/json")
					list := metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: group}}}
					if err := json.NewEncoder(answer).Encode(list); err != nil {
						t.Error(err)
					}
				default:
					answer.WriteHeader(http.StatusNotFound)
				}
			}))
			defer server.Close()
			cluster, err := Preflight(t.Context(), testclock.NewFakeClock(time.Now()), &rest.Config{Host: server.URL}, scheme, nil)
			if err == nil || !strings.Contains(err.Error(), "trying to list pods") {
				t.Fatal(err)
			}
			if cluster.OpenShift != want {
				t.Errorf("OpenShift: %t, want %t", cluster.OpenShift, want)
			}
		})
	}
}

// Before it is ready, an API server may answer that a kind does not exist, or that a request is forbidden.
func TestPreflight_starting(t *testing.T) {
	for title, tc := range map[string]struct {
		answer, readyz int
		steps          int // of 2 s
		after          string
	}{
		"no such kind":              {http.StatusNotFound, http.StatusInternalServerError, 6, "14s"},
		"forbidden":                 {http.StatusForbidden, http.StatusInternalServerError, 6, "14s"},
		"unauthorized":              {http.StatusUnauthorized, http.StatusInternalServerError, 6, "14s"},
		"everything is forbidden":   {http.StatusForbidden, http.StatusForbidden, 3, "8s"},
		"even readyz does not know": {http.StatusUnauthorized, http.StatusUnauthorized, 3, "8s"},
	} {
		t.Run(title, func(t *testing.T) {
			var ready atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, req *http.Request) {
				switch {
				case ready.Load() && req.URL.Path == "/readyz":
				case req.URL.Path == "/readyz":
					answer.WriteHeader(tc.readyz)
				default:
					answer.WriteHeader(tc.answer)
				}
			}))
			defer server.Close()
			var lines atomic.Value
			lines.Store("")
			logger := funcr.New(func(_, args string) { lines.Store(lines.Load().(string) + args + "\n") }, funcr.Options{})
			clock := testclock.NewFakeClock(time.Now())
			ended := make(chan error, 1)
			go func() {
				_, err := Preflight(log.IntoContext(t.Context(), logger), clock, &rest.Config{Host: server.URL}, scheme, nil)
				ended <- err
			}()
			waiting := func() {
				t.Helper()
				for deadline := time.After(10 * time.Second); !clock.HasWaiters(); {
					select {
					case err := <-ended:
						t.Fatal("ended: ", err)
					case <-deadline:
						t.Fatal("does not wait")
					case <-time.After(time.Millisecond):
					}
				}
			}
			for range tc.steps {
				waiting()
				clock.Step(2 * time.Second)
			}
			waiting()
			ready.Store(true)
			clock.Step(2 * time.Second)
			select {
			case err := <-ended:
				if err == nil || outage.Is(err) {
					t.Errorf("a mistake was expected: %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("waits although the API server is ready")
			}
			if got := lines.Load().(string); strings.Count(got, "Waiting for the API server") != 1 || strings.Count(got, `"The API server is back"`) != 1 || !strings.Contains(got, `"after"="`+tc.after+`"`) {
				t.Errorf("logged:\n%s", got)
			}
		})
	}
}

// preflight runs Preflight with the rights of the operator. answer returns the status code for a request, or 0 for the answer of the API
// server.
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
		query := req.URL.Query()
		if !bounded || strings.HasPrefix(verb, "list ") && query.Get("limit") != "1" || strings.HasPrefix(verb, "watch ") && query.Get("resourceVersion") == "" {
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

func TestPreflight_watch(t *testing.T) {
	_, err := preflight(t, func(_ *http.Request, verb string) int {
		if verb == "watch cnat.d2iq.com/ats" {
			return http.StatusForbidden
		}
		return 0
	})
	if err == nil || !strings.Contains(err.Error(), "to watch ats.cnat.d2iq.com in all namespaces") {
		t.Error(err)
	}
}
