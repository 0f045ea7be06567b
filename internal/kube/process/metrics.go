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

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// metricsServer serves /metrics over HTTPS to authorized clients. The server of controller-runtime bounds neither connections nor headers.
type metricsServer struct {
	address, certificates string
	auth                  *metricsAuth
}

// AddMetrics makes mgr serve its metrics on an address, unless that is "0". The certificate is in a directory, as tls.crt and tls.key, or
// self-signed if the name of the directory is empty.
func AddMetrics(mgr ctrl.Manager, c clock.Clock, address, certificates string) error {
	if address == "" || address == "0" {
		return nil
	}
	auth, err := newMetricsAuth(c, mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	return mgr.Add(&metricsServer{address, certificates, auth})
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
	mux.Handle("/metrics", s.auth.protect(log.FromContext(ctx), promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{})))
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
				log.FromContext(ctx).Error(err, "A renewed certificate of the metrics is not noticed until the next start")
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
