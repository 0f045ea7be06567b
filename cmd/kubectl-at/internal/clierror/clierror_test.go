// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package clierror_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilexec "k8s.io/utils/exec"

	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/clierror"
)

var (
	ats   = schema.GroupResource{Group: "cnat.d2iq.com", Resource: "ats"}
	kinds = map[string]string{"ats": "At", "podsets": "PodSet"}
)

func TestDescribe(t *testing.T) {
	refused := &url.Error{Op: "Get", URL: "https://127.0.0.1:1/apis", Err: errors.New("dial tcp 127.0.0.1:1: connect: connection refused")}
	for want, err := range map[string]error{
		"error: the command is missing":                                                                  errors.New("the command is missing"),
		`Error from server (NotFound): ats.cnat.d2iq.com "a" not found`:                                  apierrors.NewNotFound(ats, "a"),
		"error: You must be logged in to the server (Unauthorized)":                                      apierrors.NewUnauthorized("Unauthorized"),
		`The At "a" is invalid: spec.schedule: Invalid value: "x": not a time`:                           apierrors.NewInvalid(schema.GroupKind{Kind: "At"}, "a", field.ErrorList{field.Invalid(field.NewPath("spec", "schedule"), "x", "not a time")}),
		"The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?": refused,
	} {
		if got, code := clierror.Describe(err, kinds); got != want || code != 1 {
			t.Errorf("got  %q with code %d\nwant %q", got, code, want)
		}
	}
	if got, code := clierror.Describe(utilexec.CodeExitError{Err: errors.New("at/a: exit code 3"), Code: 3}, kinds); got != "at/a: exit code 3" || code != 3 {
		t.Errorf("got %q with code %d", got, code)
	}
}

func TestDescribe_kinds(t *testing.T) {
	podsets := schema.GroupResource{Group: "app.example.com", Resource: "podsets"}
	for want, err := range map[string]error{
		"error: the cluster has no kind At: podset-operator must be installed first":     apierrors.NewGenericServerResponse(404, "get", ats, "a", "404 page not found", 0, true),
		"error: the cluster has no kind PodSet: podset-operator must be installed first": apierrors.NewGenericServerResponse(404, "get", podsets, "a", "404 page not found", 0, true),
	} {
		if got, code := clierror.Describe(err, kinds); got != want || code != 1 {
			t.Errorf("got %q with code %d, want %q", got, code, want)
		}
	}
}

func TestIsLost(t *testing.T) {
	post := func(err error) error { return &url.Error{Op: "Post", URL: "https://example.com", Err: err} }
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"no error":                  {nil, false},
		"another error":             {errors.New("no kubeconfig"), false},
		"the connection breaks":     {post(io.ErrUnexpectedEOF), true},
		"a read fails":              {post(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), true},
		"no connection":             {post(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), false},
		"another certificate":       {post(&tls.CertificateVerificationError{Err: errors.New("unknown authority")}), false},
		"a rejection":               {apierrors.NewForbidden(schema.GroupResource{}, "a", nil), false},
		"a webhook fails":           {apierrors.NewInternalError(errors.New("failed calling webhook")), false},
		"a proxy gets no answer":    {apierrors.NewGenericServerResponse(http.StatusBadGateway, "post", schema.GroupResource{}, "a", "", 0, true), true},
		"the API server takes long": {apierrors.NewTimeoutError("timeout", 0), true},
	} {
		if got := clierror.IsLost(test.err); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
