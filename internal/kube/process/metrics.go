// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	cliflag "k8s.io/component-base/cli/flag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// reviewsPerSecond limits the requests to the API server about clients: two for each new client. Every pod of the cluster can send
// requests.
const reviewsPerSecond = 100

// Metrics are the options of the server of the metrics.
type Metrics struct {
	// Address is the address to listen on.
	Address Address
	// Secure is true for HTTPS to authorized clients, and false for HTTP to all clients.
	Secure bool
	// Certificates is the directory with tls.crt and tls.key. If it is empty, the certificate is self-signed.
	Certificates string
	// MinVersion is the lowest version of TLS, or 0 for 1.2, and CipherSuites are those of TLS 1.2, or empty for Go's choice.
	MinVersion   uint16
	CipherSuites []uint16
}

// SetMinVersion reads the value of a flag, such as VersionTLS13.
func (m *Metrics) SetMinVersion(value string) (err error) {
	m.MinVersion, err = cliflag.TLSVersion(value)
	return err
}

// SetCipherSuites reads the value of a flag: names of cipher suites, separated by commas.
func (m *Metrics) SetCipherSuites(value string) (err error) {
	m.CipherSuites, err = cliflag.TLSCipherSuites(strings.Split(value, ","))
	return err
}

// metricsServer serves /metrics. The server of controller-runtime limits neither connections nor headers.
type metricsServer struct {
	options    Metrics
	authorized metricsserver.Filter // nil for all clients
}

// AddMetrics makes mgr serve its metrics, unless the address is "0".
func AddMetrics(mgr ctrl.Manager, o Metrics) error {
	if o.Address == "" || o.Address == "0" {
		return nil
	}
	if !o.Secure {
		return mgr.Add(&metricsServer{options: o})
	}
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS, config.Burst, config.RateLimiter = reviewsPerSecond, reviewsPerSecond, nil
	authorized, err := filters.WithAuthenticationAndAuthorization(config, mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("setting up the authorization of metrics: %w", err)
	}
	return mgr.Add(&metricsServer{o, authorized})
}

// NeedLeaderElection is false, because a replica that waits for the lease has metrics too.
func (*metricsServer) NeedLeaderElection() bool { return false }

// Start serves until ctx is done.
func (s *metricsServer) Start(ctx context.Context) error {
	handler, config, err := s.handler(ctx)
	if err != nil {
		return fmt.Errorf("serving the metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", handler)
	server, err := listen(ctx, string(s.options.Address), metricsGrace, mux)
	if err != nil {
		return fmt.Errorf("serving the metrics: %w", err)
	}
	stop := context.AfterFunc(ctx, server.close)
	defer stop()
	if err := server.serve(config); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the metrics: %w", err)
	}
	return nil
}

// handler returns the handler of the requests, and the configuration of TLS, or nil for HTTP.
func (s *metricsServer) handler(ctx context.Context) (http.Handler, *tls.Config, error) {
	handler := promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{})
	if s.authorized == nil {
		return handler, nil, nil
	}
	certificate, err := s.certificate(ctx)
	if err != nil {
		return nil, nil, err
	}
	logger := logr.New(&seldom{LogSink: log.FromContext(ctx).GetSink(), limit: &rate.Sometimes{Interval: time.Minute}})
	authorized, err := s.authorized(logger, handler)
	// With HTTP/2, one client can open and reset any number of streams (CVE-2023-44487). Metrics do not need HTTP/2.
	return authorized, &tls.Config{
		NextProtos: []string{"http/1.1"}, GetCertificate: certificate,
		MinVersion: max(s.options.MinVersion, tls.VersionTLS12), CipherSuites: s.options.CipherSuites,
	}, err
}

// certificate returns a function that returns the certificate, also after it was renewed.
func (s *metricsServer) certificate(ctx context.Context) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	if s.options.Certificates != "" {
		watcher, err := certwatcher.New(filepath.Join(s.options.Certificates, "tls.crt"), filepath.Join(s.options.Certificates, "tls.key"))
		if err != nil {
			return nil, fmt.Errorf("reading the certificate in --metrics-cert-dir: %w", err)
		}
		go func() {
			if err := watcher.Start(ctx); err != nil {
				log.FromContext(ctx).Error(err, "Cannot watch the certificate of the metrics: a renewed one is used after the next start")
			}
		}()
		return watcher.GetCertificate, nil
	}
	chain, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("creating a self-signed certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, fmt.Errorf("creating a self-signed certificate: %w", err)
	}
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }, nil
}
