// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/netutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Every pod of the cluster can connect to the ports of the operator. These bounds keep what all connections of a port need below about
// 20 MiB. A connection above the bound waits in the kernel.
const (
	maxConnections  = 256
	maxHeader       = 16 << 10 // bytes
	requestTimeout  = 5 * time.Second
	responseTimeout = 30 * time.Second
	idleTimeout     = 30 * time.Second
)

// listen listens on an address, for a server that newServer returns.
func listen(ctx context.Context, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	return netutil.LimitListener(listener, maxConnections), nil
}

// newServer returns a server with bounds. What clients do wrong is logged at the level debug.
func newServer(ctx context.Context, handler http.Handler) *http.Server {
	logger := log.FromContext(ctx)
	return &http.Server{
		Handler: handler, MaxHeaderBytes: maxHeader,
		ReadTimeout: requestTimeout, WriteTimeout: responseTimeout, IdleTimeout: idleTimeout, // ReadTimeout also bounds a TLS handshake.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(logger), slog.LevelDebug),
	}
}
