// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

func TestCounter(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	j := &journal{file: io.Discard, events: map[string][]event{}}
	go (&counter{journal: j}).serve(listener)

	kinds := func(name string) (of []kind) {
		for _, e := range j.of(name) {
			of = append(of, e.kind)
		}
		return of
	}
	// report sends lines over one connection, each after the confirmation of the one before, and closes it. The counter notices the close later.
	report := func(name string, want []kind, lines ...string) {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		answers := bufio.NewScanner(conn)
		for _, line := range lines {
			fmt.Fprintln(conn, line)
			if !answers.Scan() || answers.Text() != "ok" {
				t.Errorf("%q is answered with %q", line, answers.Text())
			}
		}
		conn.Close()
		for deadline := time.Now().Add(time.Minute); len(kinds(name)) < len(want) && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if got := kinds(name); !slices.Equal(got, want) {
			t.Fatalf("%s: %v, want %v", name, got, want)
		}
	}
	report("a", []kind{begun, over}, "begun a pod-a 1 x")
	report("a", []kind{begun, over, ended, over}, "begun a pod-a 1 x", "ended 3") // The same process again, after a lost connection.
	report("b", []kind{begun, over}, "begun b pod-b 2 y")

	if e := j.of("a")[2]; e.code != 3 || e.pod != "pod-a" || e.uid != "1" || e.process != "x" {
		t.Errorf("the end is %+v", e)
	}
}
