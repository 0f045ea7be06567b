// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"crypto/tls"
	"slices"
	"testing"
)

// TestManager of test/process has the server, which is that of controller-runtime.
func TestMetrics_Options(t *testing.T) {
	for title, tc := range map[string]struct {
		metrics Metrics
		version uint16
		suites  []uint16
		address string
	}{
		"the default": {Metrics{Address: ":8443", Secure: true}, tls.VersionTLS12, nil, ":8443"},
		"without TLS": {Metrics{Address: ":8080"}, tls.VersionTLS12, nil, ":8080"},
		"no metrics":  {Metrics{Secure: true}, tls.VersionTLS12, nil, "0"},
		"TLS 1.3":     {Metrics{Address: ":1", Secure: true, MinVersion: "VersionTLS13"}, tls.VersionTLS13, nil, ":1"},
		"cipher suites": {
			Metrics{Address: ":1", Secure: true, CipherSuites: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"}, tls.VersionTLS12,
			[]uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384}, ":1",
		},
	} {
		t.Run(title, func(t *testing.T) {
			options, err := tc.metrics.Options()
			if err != nil {
				t.Fatal(err)
			}
			if options.BindAddress != tc.address || options.SecureServing != tc.metrics.Secure || (options.FilterProvider != nil) != tc.metrics.Secure {
				t.Errorf("%+v", options)
			}
			config := &tls.Config{}
			options.TLSOpts[0](config)
			if config.MinVersion != tc.version || !slices.Equal(config.CipherSuites, tc.suites) || !slices.Equal(config.NextProtos, []string{"http/1.1"}) {
				t.Errorf("version %x, suites %v, protocols %v", config.MinVersion, config.CipherSuites, config.NextProtos)
			}
		})
	}
}
