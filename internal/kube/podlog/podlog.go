// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podlog prints the log of a container, and returns an error if anything is missing.
package podlog

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// Log prints each part of a container's log once, however often it is read. The API server puts the time before each line. The time
// distinguishes log lines, which are printed without it, from other text of a node, such as an error that it cannot read the log. It also
// makes each line unique: if the log does not begin with what was printed, the node has rotated it, and lines can be missing.
type Log struct {
	Config    *rest.Config
	Pod       *corev1.Pod
	Container string
	Out       io.Writer

	// Printed is how much of the log was printed, in bytes with the times.
	Printed int64
	// First is the time of the first line.
	First time.Time

	sum    hash.Hash // of what was printed
	inLine bool      // that ends inside a line
}

// ErrRotated is the error about a log that does not begin with what was printed.
var ErrRotated = errors.New("the node rotated the log while it was being read, so lines may be missing; for large output, use a volume or an upload")

// Read prints what follows the printed part and, with follow, continues until the container ends.
func (l *Log) Read(ctx context.Context, follow bool) error {
	client, err := typedcorev1.NewForConfig(l.Config)
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	options := &corev1.PodLogOptions{Container: l.Container, Follow: follow, Timestamps: true}
	stream, err := client.Pods(l.Pod.Namespace).GetLogs(l.Pod.Name, options).Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	if l.sum == nil {
		l.sum = sha256.New()
	}
	again := sha256.New()
	switch _, err := io.CopyN(again, stream, l.Printed); {
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("reading the log of pod/%s: %w", l.Pod.Name, err)
	case err != nil || !bytes.Equal(again.Sum(nil), l.sum.Sum(nil)):
		return ErrRotated
	}
	return l.print(stream, follow)
}

// print prints lines without their times. A broken connection can leave a part of a time, which the next read returns in full.
func (l *Log) print(stream io.Reader, isPart bool) error {
	in, out := bufio.NewReaderSize(stream, 1<<16), bufio.NewWriterSize(l.Out, 1<<16)
	for {
		part, err := in.ReadSlice('\n')
		isLong := errors.Is(err, bufio.ErrBufferFull) // the beginning of a long line
		text := part
		if !l.inLine && len(part) > 0 {
			stamp, line, isWhole := bytes.Cut(part, []byte(" "))
			at, parseErr := time.Parse(time.RFC3339Nano, string(stamp))
			switch {
			case !isWhole && err != nil && isPart:
				part, line = nil, nil
			case parseErr != nil:
				rest, _ := io.ReadAll(io.LimitReader(in, 1<<10))
				return errors.Join(out.Flush(), UnreadableError{strings.Join(strings.Fields(string(part)+string(rest)), " ")})
			case l.First.IsZero():
				l.First = at
			}
			text = line
		}
		if len(part) > 0 {
			l.inLine = err != nil
			l.Printed += int64(len(part))
			_, _ = l.sum.Write(part) // never fails: see hash.Hash
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
		if isEnd := err != nil && !isLong; isEnd || in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !isLong:
			return fmt.Errorf("reading the log of pod/%s: %w", l.Pod.Name, err)
		}
	}
}

// UnreadableError is text from the node in place of a log line.
type UnreadableError struct{ Text string }

func (e UnreadableError) Error() string { return "the node cannot read the log: " + e.Text }

// IsInterruption reports whether another attempt to read a log can succeed: neither the node nor the API server has reported why not.
func IsInterruption(err error) bool {
	var status apierrors.APIStatus
	return !errors.Is(err, ErrRotated) && !errors.As(err, new(UnreadableError)) && !errors.As(err, &status)
}
