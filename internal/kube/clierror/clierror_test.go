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
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/clientcmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	utilexec "k8s.io/utils/exec"

	"github.com/redhat/podset-operator/internal/kube/clierror"
)

var (
	ats   = schema.GroupResource{Group: "cnat.d2iq.com", Resource: "ats"}
	kinds = map[string]string{"ats": "At", "podsets": "PodSet"}
)

// The function of kubectl is the oracle.
func TestDescribe(t *testing.T) {
	kind := schema.GroupKind{Group: ats.Group, Kind: "At"}
	schedule := field.Invalid(field.NewPath("spec", "schedule"), "x", "not a time")
	refused := &url.Error{Op: "Get", URL: "https://127.0.0.1:1/apis", Err: errors.New("dial tcp 127.0.0.1:1: connect: connection refused")}
	_, noConfig := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{}, &clientcmd.ConfigOverrides{CurrentContext: "missing"}).ClientConfig()
	for name, err := range map[string]error{
		"an error of the plugin":      errors.New("the command is missing"),
		"one with the prefix":         errors.New("error: the command is missing"),
		"the exit code of a command":  utilexec.CodeExitError{Err: errors.New("at/a: exit code 3"), Code: 3},
		"not found":                   apierrors.NewNotFound(ats, "a"),
		"forbidden":                   apierrors.NewForbidden(ats, "a", errors.New("no")),
		"unauthorized":                apierrors.NewUnauthorized("Unauthorized"),
		"invalid for one reason":      apierrors.NewInvalid(kind, "a", field.ErrorList{schedule}),
		"invalid, the same twice":     apierrors.NewInvalid(kind, "a", field.ErrorList{schedule, schedule}),
		"invalid for two reasons":     apierrors.NewInvalid(kind, "a", field.ErrorList{schedule, field.Required(field.NewPath("spec", "command"), "missing")}),
		"invalid without a cause":     apierrors.NewInvalid(kind, "a", nil),
		"an answer without a reason":  &apierrors.StatusError{ErrStatus: metav1.Status{Message: "what?"}},
		"a server that is not there":  refused,
		"a server with another name":  &url.Error{Op: "Get", URL: "https://a", Err: errors.New("x509: no")},
		"a context that is not there": noConfig,
		"a path that is not there":    apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{Resource: "pods"}, "a", "404 page not found", 0, true),
	} {
		var want string
		var wantCode int
		cmdutil.BehaviorOnFatal(func(message string, code int) { want, wantCode = message, code })
		cmdutil.CheckErr(err)
		cmdutil.DefaultBehaviorOnFatal()
		got, code := clierror.Describe(err, kinds)
		if got != strings.TrimSuffix(want, "\n") || code != wantCode {
			t.Errorf("%s: %q with code %d, kubectl prints %q with code %d", name, got, code, want, wantCode)
		}
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
