// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outage waits for an API server that is away, and distinguishes an outage from an invalid setup.
package outage

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// During an outage the API server is tried again after retryEvery plus a random part of up to jitter times as much.
const retryEvery, jitter = time.Second, 0.2

// deniedFor is how long a denial is retried, because an API server that starts can reject what it accepts a moment
// later.
const deniedFor = 10 * time.Second

// Wait calls try until its error is not an outage, and not a denial of the last deniedFor, and returns the error. A
// process that exited instead would wait for the kubelet, which restarts a failing container only after up to 5
// minutes.
func Wait(ctx context.Context, c clock.Clock, host string, try func(context.Context) error) error {
	logger := log.FromContext(ctx)
	var since, denied time.Time // zero if there was no error, and no denial since the last outage
	for {
		err := try(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("waiting for the API server at %s: %w", host, ctx.Err())
		}
		now := c.Now()
		away, status := Is(err), apierrors.APIStatus(nil)
		switch {
		case away:
			denied = time.Time{}
		case denied.IsZero():
			denied = now
		}
		if !away && (!errors.As(err, &status) || now.Sub(denied) >= deniedFor) {
			if err == nil && !since.IsZero() {
				logger.Info("The API server is back", "server", host, "after", now.Sub(since).Round(time.Millisecond).String())
			}
			return err
		}
		if since.IsZero() {
			since = now
			logger.Info("Waiting for the API server", "server", host, "reason", err.Error())
		}
		select {
		case <-ctx.Done():
		case <-c.After(wait.Jitter(retryEvery, jitter)):
		}
	}
}

// Is reports whether an error disappears when the API server, the network, or the server's certificate is repaired.
// Every other error is an invalid setup of the operator. This includes a certificate of an unknown authority, because
// the process must be restarted to read another authority.
func Is(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
	}
	var certificate x509.CertificateInvalidError
	if errors.As(err, &certificate) {
		return certificate.Reason == x509.Expired
	}
	var network *net.OpError
	return errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.ErrUnexpectedEOF) ||
		utilnet.IsTimeout(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}
