// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/redhat/podset-operator/controllers/internal/outage"
)

// An API server that starts may say that a kind does not exist, or is forbidden, before it is ready.
func TestADenialOfAStartingAPIServerIsRetried(t *testing.T) {
	for title, codes := range map[string]struct{ answer, readyz int }{
		"no such kind":              {http.StatusNotFound, http.StatusInternalServerError},
		"forbidden":                 {http.StatusForbidden, http.StatusInternalServerError},
		"unauthorized":              {http.StatusUnauthorized, http.StatusInternalServerError},
		"everything is forbidden":   {http.StatusForbidden, http.StatusForbidden},
		"even readyz does not know": {http.StatusUnauthorized, http.StatusUnauthorized},
	} {
		t.Run(title, func(t *testing.T) {
			var ready atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, req *http.Request) {
				switch {
				case ready.Load() && req.URL.Path == "/readyz":
				case req.URL.Path == "/readyz":
					answer.WriteHeader(codes.readyz)
				default:
					answer.WriteHeader(codes.answer)
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
			for range 3 {
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
			if got := lines.Load().(string); strings.Count(got, "Waiting for the API server") != 1 || strings.Count(got, `"The API server is back"`) != 1 || !strings.Contains(got, `"after"="8s"`) {
				t.Errorf("logged:\n%s", got)
			}
		})
	}
}
