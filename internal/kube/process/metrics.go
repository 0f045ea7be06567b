// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Metrics are the values of the flags of the metrics.
type Metrics struct {
	Address Address
	// Secure is true for HTTPS to authorized clients, and false for HTTP to all clients.
	Secure bool
	// CertDir is the directory of tls.crt and tls.key. Without these files, the certificate is self-signed.
	CertDir string
	// MinVersion is a version of TLS, such as VersionTLS13.
	MinVersion string
	// CipherSuites are names, separated by commas.
	CipherSuites string
}

// Options returns the options of the server of the metrics.
func (m *Metrics) Options() (metricsserver.Options, error) {
	version, err := cliflag.TLSVersion(m.MinVersion)
	if err != nil {
		return metricsserver.Options{}, fmt.Errorf("--metrics-tls-min-version: %w", err)
	}
	suites, err := cliflag.TLSCipherSuites(strings.FieldsFunc(m.CipherSuites, func(r rune) bool { return r == ',' || r == ' ' }))
	if err != nil {
		return metricsserver.Options{}, fmt.Errorf("--metrics-tls-cipher-suites: %w", err)
	}
	options := metricsserver.Options{
		BindAddress: cmp.Or(string(m.Address), "0"), SecureServing: m.Secure, CertDir: m.CertDir,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			// With HTTP/2, one client can open and reset any number of streams (CVE-2023-44487). Metrics do not need
			// HTTP/2.
			c.NextProtos = []string{"http/1.1"}
			c.MinVersion, c.CipherSuites = version, suites
		}},
	}
	if m.Secure {
		options.FilterProvider = authorize
	}
	return options, nil
}

// authorize returns a filter for authorized clients. The log has the wrong tokens of others only at the debug level.
func authorize(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	filter, err := filters.WithAuthenticationAndAuthorization(config, client)
	return func(logger logr.Logger, handler http.Handler) (http.Handler, error) {
		return filter(logger.WithSink(wrongTokens{logger.GetSink()}), handler)
	}, err
}

// wrongTokens lowers the level of the error that any pod can cause by any number of requests.
type wrongTokens struct{ logr.LogSink }

func (s wrongTokens) Error(err error, message string, keysAndValues ...any) {
	switch {
	case err == nil || !strings.Contains(err.Error(), "invalid bearer token"):
		s.LogSink.Error(err, message, keysAndValues...)
	case s.Enabled(1):
		s.Info(1, message, append(keysAndValues, "reason", err.Error())...)
	}
}
