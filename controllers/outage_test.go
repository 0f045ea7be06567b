// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestWhatIsAnOutageAndWhatIsAMistake(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for title, c := range map[string]struct {
		err    error
		outage bool
	}{
		"nobody listens":                {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, true},
		"the name is unknown":           {&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, true},
		"the connection ends":           {io.ErrUnexpectedEOF, true},
		"no answer in time":             {context.DeadlineExceeded, true},
		"500":                           {apierrors.NewInternalError(errors.New("etcd")), true},
		"502 of a load balancer":        {apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", pods, "", "", 0, true), true},
		"503":                           {apierrors.NewServiceUnavailable("starting"), true},
		"504":                           {apierrors.NewTimeoutError("slow", 1), true},
		"429":                           {apierrors.NewTooManyRequestsError("busy"), true},
		"an expired certificate":        {x509.CertificateInvalidError{Reason: x509.Expired}, true},
		"a certificate for other usage": {x509.CertificateInvalidError{Reason: x509.IncompatibleUsage}, false},
		"an unknown authority":          {x509.UnknownAuthorityError{}, false},
		"another host's certificate":    {x509.HostnameError{Certificate: &x509.Certificate{}}, false},
		"no credentials":                {errors.New("getting credentials: exec: executable aws not found"), false},
		"wrong credentials":             {apierrors.NewUnauthorized("who are you"), false},
		"forbidden":                     {apierrors.NewForbidden(pods, "", errors.New("RBAC")), false},
		"no such kind":                  {&meta.NoKindMatchError{}, false},
	} {
		if got := isOutage(fmt.Errorf("asking: %w", c.err)); got != c.outage {
			t.Errorf("%s: outage is %v", title, got)
		}
	}
}

// An API server that starts may say that a kind does not exist, or is forbidden, before it is ready.
func TestWhatAStartingAPIServerDeniesIsNoMistake(t *testing.T) {
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
				if err == nil || isOutage(err) {
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
