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
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
		if got := Is(fmt.Errorf("asking: %w", c.err)); got != c.outage {
			t.Errorf("%s: outage is %v", title, got)
		}
	}
}
