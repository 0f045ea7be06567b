// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
)

// Clients need a token and TLS as configured or, without --metrics-secure, neither.
func TestMetricsServer(t *testing.T) {
	rejectAll := func(logr.Logger, http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }), nil
	}
	var modern, elliptic Metrics
	if err := modern.SetMinVersion("VersionTLS13"); err != nil {
		t.Fatal(err)
	}
	if err := elliptic.SetCipherSuites("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		server *metricsServer
		client uint16 // its highest version of TLS
		want   int    // the status code, or 0 for none
	}{
		"HTTPS":                               {&metricsServer{authorized: rejectAll}, tls.VersionTLS12, http.StatusUnauthorized},
		"HTTP":                                {&metricsServer{}, 0, http.StatusOK},
		"TLS 1.3":                             {&metricsServer{modern, rejectAll}, tls.VersionTLS13, http.StatusUnauthorized},
		"not TLS 1.2":                         {&metricsServer{modern, rejectAll}, tls.VersionTLS12, 0},
		"TLS 1.2 with a cipher suite for RSA": {&metricsServer{elliptic, rejectAll}, tls.VersionTLS12, 0},
	} {
		t.Run(name, func(t *testing.T) {
			handler, config, err := c.server.handler(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			served := httptest.NewUnstartedServer(handler)
			defer served.Close()
			if config == nil {
				served.Start()
			} else {
				served.TLS = config
				served.StartTLS()
			}
			web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MaxVersion: c.client}}} //nolint:gosec // the certificate is self-signed
			defer web.CloseIdleConnections()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, served.URL, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			code := 0
			if response, err := web.Do(request); err == nil {
				code = response.StatusCode
				_ = response.Body.Close()
			}
			if code != c.want {
				t.Errorf("the status code is %d, want %d", code, c.want)
			}
		})
	}
}
