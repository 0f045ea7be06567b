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
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
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

// metricsServer serves /metrics over HTTPS to authorized clients. The server of controller-runtime limits neither connections nor headers.
type metricsServer struct {
	address, certificates string
	authorized            metricsserver.Filter
}

// AddMetrics makes mgr serve its metrics on an address, unless that is "0". The certificate is in the directory certificates, as tls.crt
// and tls.key, or self-signed if certificates is empty.
func AddMetrics(mgr ctrl.Manager, address, certificates string) error {
	if address == "" || address == "0" {
		return nil
	}
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS, config.Burst, config.RateLimiter = reviewsPerSecond, reviewsPerSecond, nil
	authorized, err := filters.WithAuthenticationAndAuthorization(config, mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("setting up the authorization of metrics: %w", err)
	}
	return mgr.Add(&metricsServer{address, certificates, authorized})
}

// NeedLeaderElection is false, because a replica that waits for the lease has metrics too.
func (*metricsServer) NeedLeaderElection() bool { return false }

// Start serves until ctx is done.
func (s *metricsServer) Start(ctx context.Context) error {
	certificate, err := s.certificate(ctx)
	if err != nil {
		return fmt.Errorf("serving the metrics: %w", err)
	}
	mux := http.NewServeMux()
	logger := logr.New(&seldom{LogSink: log.FromContext(ctx).GetSink(), limit: &rate.Sometimes{Interval: time.Minute}})
	handler, err := s.authorized(logger, promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}))
	if err != nil {
		return fmt.Errorf("serving the metrics: %w", err)
	}
	mux.Handle("/metrics", handler)
	server, err := listen(ctx, s.address, metricsGrace, mux)
	if err != nil {
		return fmt.Errorf("serving the metrics: %w", err)
	}
	// With HTTP/2, one client can open and reset any number of streams (CVE-2023-44487). Metrics do not need HTTP/2.
	config := &tls.Config{NextProtos: []string{"http/1.1"}, GetCertificate: certificate, MinVersion: tls.VersionTLS12}
	stop := context.AfterFunc(ctx, server.close)
	defer stop()
	if err := server.serve(config); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the metrics: %w", err)
	}
	return nil
}

// certificate returns a function that returns the certificate, also after it was renewed.
func (s *metricsServer) certificate(ctx context.Context) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	if s.certificates != "" {
		watcher, err := certwatcher.New(filepath.Join(s.certificates, "tls.crt"), filepath.Join(s.certificates, "tls.key"))
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
