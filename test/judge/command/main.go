// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command is what the runs of the judge execute. It reports to the counter that it has begun, works, and reports how it ends. It does
// nothing before the counter has confirmed the beginning, and it does not exit by itself before the counter has confirmed the end. The
// connection stays open meanwhile, so the counter also sees the death of a process that is killed.
package main

import (
	"bufio"
	"crypto/rand"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	counter := flag.String("counter", "", "HOST:PORT of the counter")
	name := flag.String("name", "", "name of the run")
	takes := flag.Duration("takes", 0, "how long the command works")
	code := flag.Int("code", 0, "exit code")
	ignoreTerm := flag.Bool("ignore-term", false, "ignore SIGTERM")
	interrupted := flag.Int("interrupted", 7, "exit code after SIGTERM")
	flag.Parse()

	term := make(chan os.Signal, 1)
	if *ignoreTerm {
		signal.Ignore(syscall.SIGTERM)
	} else {
		signal.Notify(term, syscall.SIGTERM)
	}
	// Each process has another ID, so that a report that is repeated is not a second beginning.
	begun := fmt.Sprintf("begun %s %s %s %s", *name, os.Getenv("POD_NAME"), os.Getenv("POD_UID"), rand.Text())
	c := &client{address: *counter, begun: begun}
	c.report(begun)
	select {
	case <-time.After(*takes):
	case <-term:
		*code = *interrupted
	}
	c.report(fmt.Sprintf("ended %d", *code))
	os.Exit(*code)
}

// client repeats each report until the counter confirms it. A new connection begins with the first report.
type client struct {
	address string
	begun   string
	conn    net.Conn
}

func (c *client) report(line string) {
	for {
		if c.conn == nil {
			conn, err := net.DialTimeout("tcp", c.address, time.Second)
			if err != nil {
				time.Sleep(100 * time.Millisecond)
				continue
			}
			c.conn = conn
			if line != c.begun && c.send(c.begun) != nil {
				continue
			}
		}
		if c.send(line) == nil {
			return
		}
	}
}

// send closes the connection if the counter does not confirm the line.
func (c *client) send(line string) error {
	_ = c.conn.SetDeadline(time.Now().Add(2 * time.Second))
	_, err := fmt.Fprintln(c.conn, line)
	if err == nil {
		_, err = bufio.NewReader(c.conn).ReadString('\n')
	}
	if err != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
	return err
}
