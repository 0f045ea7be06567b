// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// The cases of M13.
const startCase, imageCase = "start of the process until it is ready", "compressed image"

// startup is M13: the time from the start of the process until it is ready, and the size of the image.
func (b *bench) startup(ctx context.Context) error {
	if !b.wanted(operatorArm.name) {
		return nil
	}
	size, err := compressedSize(b.manager)
	if err != nil {
		return err
	}
	if err := b.add("M13", imageCase, operatorArm.name, "MB", 0, float64(size)/1e6); err != nil {
		return err
	}
	for rep := range b.sizes.reps {
		took, err := b.untilReady(ctx)
		if err != nil {
			return err
		}
		if err := b.add("M13", startCase, operatorArm.name, "ms", rep, milliseconds(took)); err != nil {
			return err
		}
	}
	return nil
}

// untilReady starts the operator and returns when its caches are filled.
func (b *bench) untilReady(ctx context.Context) (time.Duration, error) {
	port, err := freePort()
	if err != nil {
		return 0, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	p, err := b.start(operatorArm, "--health-probe-bind-address="+address)
	if err != nil {
		return 0, err
	}
	defer p.kill()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return 0, err
	}
	for time.Since(p.started) < time.Minute {
		if _, err := fetch(http.DefaultClient, req); err == nil {
			return time.Since(p.started), nil
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("the operator was not ready after a minute")
}

// compressedSize returns the size of a file in an image, which is nearly all of that image: it is built FROM scratch.
func compressedSize(path string) (int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	var size byteCount
	compressor := gzip.NewWriter(&size)
	if _, err := io.Copy(compressor, file); err != nil {
		return 0, err
	}
	err = compressor.Close()
	return int64(size), err
}

// byteCount is a writer that only counts.
type byteCount int64

func (c *byteCount) Write(data []byte) (int, error) {
	*c += byteCount(len(data))
	return len(data), nil
}
