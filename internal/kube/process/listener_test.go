// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"
)

// boundedTo serves a handler on a bounded listener, and returns a function that opens a connection.
func boundedTo(t *testing.T, most int, grace time.Duration, handler http.HandlerFunc) func() net.Conn {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	bounded := newBoundedListener(listener, most, grace)
	server := &boundedServer{listener: bounded, server: &http.Server{Handler: handler, ConnState: bounded.observe, ReadHeaderTimeout: time.Minute}}
	ended := make(chan error, 1)
	go func() { ended <- server.serve(nil) }()
	t.Cleanup(func() {
		server.close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	return func() net.Conn {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = connection.Close() })
		return connection
	}
}

const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

func send(t *testing.T, connection net.Conn, text string) {
	t.Helper()
	if _, err := connection.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// answered reports whether the server sends something within a time and keeps the connection open.
func answered(connection net.Conn, within time.Duration) bool {
	_ = connection.SetReadDeadline(time.Now().Add(within)) // An error would also occur on the next line.
	n, _ := connection.Read(make([]byte, 1<<10))
	return n > 0
}

// evicted waits until the server closes a connection.
func evicted(t *testing.T, connection net.Conn) {
	t.Helper()
	_ = connection.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, connection); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is still open")
	}
}

func TestBoundedListener(t *testing.T) {
	t.Run("silent and half-open connections give way, the oldest first", func(t *testing.T) {
		open := boundedTo(t, 2, 0, func(http.ResponseWriter, *http.Request) {})
		silent, half := open(), open()
		send(t, half, request[:20])
		client := open()
		send(t, client, request)
		if !answered(client, 10*time.Second) {
			t.Error("the client gets no answer")
		}
		evicted(t, silent)
		next := open()
		send(t, next, request)
		if !answered(next, 10*time.Second) {
			t.Error("the next client gets no answer")
		}
		evicted(t, half)
	})
	t.Run("a request that is under way does not give way", func(t *testing.T) {
		begun, proceed := make(chan bool), make(chan bool)
		open := boundedTo(t, 1, 0, func(http.ResponseWriter, *http.Request) {
			begun <- true
			<-proceed
		})
		t.Cleanup(func() { close(proceed) })
		first := open()
		send(t, first, request)
		<-begun
		second := open()
		send(t, second, request)
		select {
		case <-begun:
			t.Error("two requests at a time")
		case <-time.After(50 * time.Millisecond):
		}
		proceed <- true
		if !answered(first, 10*time.Second) {
			t.Error("the first client gets no answer")
		}
		<-begun // The first connection is idle now, and gives way.
		proceed <- true
		if !answered(second, 10*time.Second) {
			t.Error("the second client gets no answer")
		}
		evicted(t, first)
	})
	t.Run("a client has some time for its request", func(t *testing.T) {
		const grace = 300 * time.Millisecond
		open := boundedTo(t, 1, grace, func(http.ResponseWriter, *http.Request) {})
		began := time.Now()
		silent, client := open(), open()
		send(t, client, request)
		if !answered(client, 10*time.Second) || time.Since(began) < grace {
			t.Errorf("the client waited for %v", time.Since(began))
		}
		evicted(t, silent)
	})
	t.Run("the server ends while every connection has a request", func(t *testing.T) {
		begun, proceed := make(chan bool), make(chan bool)
		open := boundedTo(t, 1, 0, func(http.ResponseWriter, *http.Request) {
			begun <- true
			<-proceed
		})
		t.Cleanup(func() { close(proceed) })
		send(t, open(), request)
		<-begun
	})
}
