// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// window is how long one CPU profile takes. A run has as many as it needs, which `go tool pprof` adds up.
const window = 5 * time.Second

// profile takes CPU profiles of a process until the function that it returns is called, which takes a heap profile too. It
// does nothing for a process that has no profiles.
func (p *process) profile(ctx context.Context, name string) func() error {
	if p.profiles == 0 {
		return func() error { return nil }
	}
	name = strings.NewReplacer(" ", "-", ",", "").Replace(name)
	file := func(kind string) string { return filepath.Join(p.bench.profiles, name+"-"+kind+".pprof") }
	finish, finished := make(chan struct{}), make(chan error)
	go func() {
		for i := 1; ; i++ {
			select {
			case <-finish:
				finished <- nil
				return
			default:
			}
			err := p.fetchProfile(ctx, fmt.Sprintf("profile?seconds=%d", int(window.Seconds())), file(fmt.Sprintf("cpu-%d", i)))
			if errors.Is(err, syscall.ECONNREFUSED) { // It does not listen yet.
				err = pause(ctx, 20*time.Millisecond)
				i--
			}
			if err != nil {
				finished <- err
				return
			}
		}
	}()
	return func() error {
		close(finish)
		return errors.Join(<-finished, p.fetchProfile(ctx, "heap?gc=1", file("heap")))
	}
}

// fetchProfile puts a profile of net/http/pprof into a file.
func (p *process) fetchProfile(ctx context.Context, what, file string) error {
	url := fmt.Sprintf("http://127.0.0.1:%d/debug/pprof/%s", p.profiles, what)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	data, err := fetch(http.DefaultClient, req)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
