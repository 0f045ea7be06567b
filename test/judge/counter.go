// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// counter receives the reports of the commands, on a port that pods can reach. It believes only connections: see package command.
type counter struct {
	journal *journal
	mutex   sync.Mutex
	seen    map[string]bool // processes that have begun
}

// serve accepts connections until the listener is closed.
func (c *counter) serve(listener net.Listener) {
	c.seen = map[string]bool{}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		// The machine of a pod may disappear without closing its connections.
		_ = conn.(*net.TCPConn).SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 4})
		go c.handle(conn)
	}
}

// handle confirms each report after it is in the journal.
func (c *counter) handle(conn net.Conn) {
	defer conn.Close()
	var process event
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 5 && words[0] == "begun":
			process = event{name: words[1], pod: words[2], uid: words[3], process: words[4]}
			if c.isNew(process.process) {
				c.add(process, begun, 0)
			}
		case len(words) == 2 && words[0] == "ended" && process.name != "":
			code, err := strconv.Atoi(words[1])
			if err != nil {
				return
			}
			c.add(process, ended, code)
		default:
			return
		}
		if _, err := fmt.Fprintln(conn, "ok"); err != nil {
			break
		}
	}
	if process.name != "" {
		c.add(process, over, 0)
	}
}

func (c *counter) isNew(process string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	known := c.seen[process]
	c.seen[process] = true
	return !known
}

func (c *counter) add(process event, kind kind, code int) {
	process.kind, process.code = kind, code
	c.journal.add(process)
}
