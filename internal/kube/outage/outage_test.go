// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outage

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
)

// skippingClock is a clock on which every wait is over at once.
type skippingClock struct{ *clocktesting.FakeClock }

func (c skippingClock) After(d time.Duration) <-chan time.Time {
	c.Step(d)
	ended := make(chan time.Time)
	close(ended)
	return ended
}

func TestWait(t *testing.T) {
	for title, tc := range map[string]struct{ outage, least, most time.Duration }{
		"always denied":                       {time.Hour, 10 * time.Second, 11200 * time.Millisecond},
		"an outage after 5 s begins it again": {5 * time.Second, 16200 * time.Millisecond, 18600 * time.Millisecond},
	} {
		c := skippingClock{clocktesting.NewFakeClock(time.Now())}
		start, denied := c.Now(), apierrors.NewUnauthorized("starting")
		err := Wait(t.Context(), c, "host", func(context.Context) error {
			if passed := c.Since(start); passed >= tc.outage && passed < tc.outage+1200*time.Millisecond {
				return apierrors.NewServiceUnavailable("starting")
			}
			return fmt.Errorf("listing: %w", denied)
		})
		if took := c.Since(start); !errors.Is(err, denied) || took < tc.least || took > tc.most {
			t.Errorf("%s: %v after %v", title, err, took)
		}
	}
	for title, want := range map[string]error{"success": nil, "an invalid setup": x509.UnknownAuthorityError{}} {
		c := skippingClock{clocktesting.NewFakeClock(time.Now())}
		start := c.Now()
		if err := Wait(t.Context(), c, "host", func(context.Context) error { return want }); !errors.Is(err, want) || c.Since(start) != 0 {
			t.Errorf("%s: %v after %v", title, err, c.Since(start))
		}
	}
}

func TestIs(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for title, c := range map[string]struct {
		err    error
		outage bool
	}{
		"nothing listens":               {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, true},
		"the name is unknown":           {&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, true},
		"the connection ends":           {io.ErrUnexpectedEOF, true},
		"the connection is closed":      {&url.Error{Op: "Get", URL: "x", Err: io.EOF}, true},
		"the HTTP/2 connection is lost": {errors.New("http2: client connection lost"), true},
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
		if got := Is(fmt.Errorf("asking: %w", c.err)); got != c.outage {
			t.Errorf("%s: outage is %v", title, got)
		}
	}
}
