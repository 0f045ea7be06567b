// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clierror prints errors from the API server as kubectl does.
package clierror

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// mutex guards what kubectl does about a fatal error.
var mutex sync.Mutex

// Describe returns what kubectl prints about an error, and its exit code. kinds has the explanation of a missing kind,
// by resource.
func Describe(err error, kinds map[string]string) (text string, code int) {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Reason == metav1.StatusReasonNotFound && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		if details := status.Status().Details; details != nil && kinds[details.Kind] != "" {
			return fmt.Sprintf("error: the cluster has no kind %s: podset-operator must be installed first", kinds[details.Kind]), 1
		}
	}
	mutex.Lock()
	defer mutex.Unlock()
	defer cmdutil.DefaultBehaviorOnFatal()
	cmdutil.BehaviorOnFatal(func(message string, exitCode int) { text, code = strings.TrimSuffix(message, "\n"), exitCode })
	cmdutil.CheckErr(err)
	return text, code
}

// IsLost reports whether the API server may have done what a request asked for, although err is all that came back.
func IsLost(err error) bool {
	var status apierrors.APIStatus
	var connection *url.Error
	var operation *net.OpError
	switch {
	case errors.As(err, &status):
		return status.Status().Code >= http.StatusBadGateway // from a proxy, or after a timeout
	case errors.As(err, &operation) && operation.Op == "dial", errors.As(err, new(*tls.CertificateVerificationError)):
		return false // Nothing was sent.
	}
	return errors.As(err, &connection)
}
