// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Every pod of the cluster can connect to the ports of the operator. These limits keep the memory for all connections of a port below about
// 20 MiB.
const (
	// The kubelet sends the request of a probe with the connection, and waits for a second. Prometheus waits for 10 s.
	probeGrace   = 0
	metricsGrace = 500 * time.Millisecond

	maxConnections  = 256
	maxHeader       = 16 << 10 // bytes
	requestTimeout  = 5 * time.Second
	responseTimeout = 30 * time.Second
	idleTimeout     = 30 * time.Second
)

// boundedServer is a server for clients that may send anything. Client errors are logged at the level debug.
type boundedServer struct {
	server   *http.Server
	listener *boundedListener
}

// listen listens on an address.
//
// grace is how long a client has for its request, with the TLS handshake, before its connection can give way to a new one.
func listen(ctx context.Context, address string, grace time.Duration, handler http.Handler) (*boundedServer, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	bounded := newBoundedListener(listener, maxConnections, grace)
	return &boundedServer{listener: bounded, server: &http.Server{
		Handler: handler, MaxHeaderBytes: maxHeader, ConnState: bounded.observe,
		ReadTimeout: requestTimeout, WriteTimeout: responseTimeout, IdleTimeout: idleTimeout, // ReadTimeout also bounds a TLS handshake.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(log.FromContext(ctx)), slog.LevelDebug),
	}}, nil
}

// serve serves until close is called, over HTTPS if config is not nil.
func (s *boundedServer) serve(config *tls.Config) error {
	var listener net.Listener = s.listener
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	return s.server.Serve(listener)
}

func (s *boundedServer) close() {
	_ = s.listener.Close() // The process ends now, so an error does not matter.
	_ = s.server.Close()
}
