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

	// report sends lines over one connection, each after the confirmation of the one before, and closes it.
	report := func(lines ...string) {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		answers := bufio.NewScanner(conn)
		for _, line := range lines {
			fmt.Fprintln(conn, line)
			if !answers.Scan() || answers.Text() != "ok" {
				t.Errorf("%q is answered with %q", line, answers.Text())
			}
		}
	}
	report("begun a pod-a 1 x")
	report("begun a pod-a 1 x", "ended 3") // The same process again, after a lost connection.
	report("begun b pod-b 2 y")

	want := map[string][]kind{"a": {begun, over, ended, over}, "b": {begun, over}}
	for name, want := range want {
		var got []kind
		for range 100 {
			got = nil
			for _, e := range j.of(name) {
				got = append(got, e.kind)
			}
			if len(got) >= len(want) {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if e := j.of("a")[2]; e.code != 3 || e.pod != "pod-a" || e.uid != "1" || e.process != "x" {
		t.Errorf("the end is %+v", e)
	}
}
