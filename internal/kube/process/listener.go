// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"container/list"
	"crypto/tls"
	"math"
	"net"
	"net/http"
	"sync"
	"time"
)

// boundedListener accepts a limited number of connections at a time. A connection that has waited some time for a request from its client
// gives way to a new one, oldest first, so clients that send nothing cannot block the others. If there is no such connection, a new one
// waits.
type boundedListener struct {
	net.Listener
	most  int
	grace time.Duration // how long a client may take to send its request, with the TLS handshake, before the connection can give way

	mu      sync.Mutex
	changed *sync.Cond // a connection was closed, or its request has ended
	open    int
	waiting *list.List // of *boundedConn without a request, the oldest first
}

// boundedConn is a connection of a boundedListener.
type boundedConn struct {
	net.Conn
	listener *boundedListener
	closed   bool
	waiting  *list.Element // nil while a request is under way
	since    time.Time     // when it began to wait
}

func newBoundedListener(listener net.Listener, most int, grace time.Duration) *boundedListener {
	l := &boundedListener{Listener: listener, most: most, grace: grace, waiting: list.New()}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// Accept accepts a connection, and closes another one if there are too many.
func (l *boundedListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &boundedConn{Conn: accepted, listener: l}
	oldest := l.add(c)
	if oldest != nil {
		_ = oldest.Close() // Its client is not waiting for a response.
	}
	return c, nil
}

// add waits until there is room for a connection, and returns the one that gives way, or nil if there is none.
func (l *boundedListener) add(c *boundedConn) (oldest *boundedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.open >= l.most {
		var alarm *time.Timer
		if front := l.waiting.Front(); front != nil {
			oldest = front.Value.(*boundedConn)
			rest := l.grace - time.Since(oldest.since)
			if rest <= 0 {
				break
			}
			alarm = time.AfterFunc(rest, l.changed.Signal)
		}
		l.changed.Wait()
		oldest = nil
		if alarm != nil {
			alarm.Stop()
		}
	}
	l.open++
	c.wait()
	return oldest
}

// Close closes the listener. The server then also closes the connection that waits for room.
func (l *boundedListener) Close() error {
	l.mu.Lock()
	l.most = math.MaxInt
	l.mu.Unlock()
	l.changed.Signal()
	return l.Listener.Close()
}

// Close closes the connection. The server may close it twice.
func (c *boundedConn) Close() error {
	l := c.listener
	l.mu.Lock()
	if !c.closed {
		c.closed = true
		l.open--
		c.leave()
	}
	l.mu.Unlock()
	l.changed.Signal()
	return c.Conn.Close()
}

// wait adds the connection to those that wait for a request.
func (c *boundedConn) wait() {
	c.since = time.Now()
	c.waiting = c.listener.waiting.PushBack(c)
}

// leave removes the connection from those that wait for a request.
func (c *boundedConn) leave() {
	if c.waiting != nil {
		c.listener.waiting.Remove(c.waiting)
		c.waiting = nil
	}
}

// observe is the hook ConnState of the server. The state is active from the end of the headers of a request to the end of its response.
func (l *boundedListener) observe(served net.Conn, state http.ConnState) {
	if secure, ok := served.(*tls.Conn); ok {
		served = secure.NetConn()
	}
	c, ok := served.(*boundedConn)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.closed:
	case state == http.StateActive:
		c.leave()
	case state == http.StateIdle && c.waiting == nil:
		c.wait()
		l.changed.Signal()
	}
}
