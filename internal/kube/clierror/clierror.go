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
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	utilexec "k8s.io/utils/exec"
)

// Describe returns what kubectl prints about an error, and its exit code. kinds has the explanation of a missing kind, by resource. The
// function of kubectl is in k8s.io/kubectl/pkg/cmd/util, which registers every kind of Kubernetes when a program starts. That takes longer
// than "kubectl at list" may take.
func Describe(err error, kinds map[string]string) (string, int) {
	var exit utilexec.ExitError
	var status apierrors.APIStatus
	var connection *url.Error
	switch {
	case errors.As(err, &exit):
		return exit.Error(), exit.ExitStatus()
	case clientcmd.IsConfigurationInvalid(err):
		return "Error in configuration: " + err.Error(), 1
	case errors.As(err, &status):
		return describeStatus(status.Status(), err, kinds), 1
	case errors.As(err, &connection) && strings.Contains(connection.Err.Error(), "connection refused"):
		host := connection.URL
		if server, err := url.Parse(connection.URL); err == nil {
			host = server.Host
		}
		return fmt.Sprintf("The connection to the server %s was refused - did you specify the right host or port?", host), 1
	case errors.As(err, &connection):
		return fmt.Sprintf("Unable to connect to the server: %v", connection.Err), 1
	}
	return "error: " + strings.TrimPrefix(err.Error(), "error: "), 1
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

// describeStatus returns what kubectl prints about an answer of the API server.
func describeStatus(status metav1.Status, err error, kinds map[string]string) string {
	switch {
	case status.Reason == metav1.StatusReasonInvalid && status.Details != nil:
		return describeInvalid(status.Details)
	case status.Reason == metav1.StatusReasonUnauthorized:
		return fmt.Sprintf("error: You must be logged in to the server (%s)", status.Message)
	case status.Reason == metav1.StatusReasonNotFound && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) &&
		status.Details != nil && kinds[status.Details.Kind] != "":
		return fmt.Sprintf("error: the cluster has no kind %s: podset-operator must be installed first", kinds[status.Details.Kind])
	case status.Reason != "":
		return fmt.Sprintf("Error from server (%s): %v", status.Reason, err)
	}
	return fmt.Sprintf("Error from server: %v", err)
}

// describeInvalid returns what kubectl prints about an invalid object: each cause once.
func describeInvalid(details *metav1.StatusDetails) string {
	text := fmt.Sprintf("The %s %q is invalid", details.Kind, details.Name)
	var causes []string
	for _, cause := range details.Causes {
		if line := cause.Field + ": " + cause.Message; !slices.Contains(causes, line) {
			causes = append(causes, line)
		}
	}
	switch len(causes) {
	case 0:
		return text
	case 1:
		return text + ": " + causes[0]
	}
	return text + ": \n* " + strings.Join(causes, "\n* ")
}
