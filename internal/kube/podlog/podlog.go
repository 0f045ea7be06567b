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
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/redhat/podset-operator/internal/timespec"
)

// Log prints each part of a container's log once, however often it is read. The API server puts the time before each line. The time
// distinguishes log lines, which are printed without it, from other text of a node, such as an error that it cannot read the log. It also
// makes each line unique: if the log does not begin with what was printed, the node has rotated it, and lines can be missing.
type Log struct {
	Config    *rest.Config
	Pod       *corev1.Pod
	Container string
	Out       io.Writer
	// FromStart is true if the container had not started when its log was waited for.
	FromStart bool

	// Printed is how much of the log was printed, in bytes with the times.
	Printed int64
	// First is the time of the first line.
	First time.Time

	sum    hash.Hash     // of what was printed
	inLine bool          // that ends inside a line
	began  time.Time     // when it was read first
	quiet  time.Duration // from there to the first line
}

// ErrRotated is the error about a log that does not begin with what was printed.
var ErrRotated = errors.New("the node rotated the log while it was being read, so lines may be missing; for large output, use a volume or an upload")

// Follow prints what follows the printed part, until the container ends.
func (l *Log) Follow(ctx context.Context) error { return l.read(ctx, true) }

// ReadToEnd prints what follows the printed part, until nothing more comes: a connection to the node that breaks can look like the end.
// It gives up if a container prints faster.
func (l *Log) ReadToEnd(ctx context.Context) error {
	var err error
	for range 3 {
		printed := l.Printed
		err = l.read(ctx, false)
		if err == nil && l.Printed == printed || err != nil && !errors.As(err, new(InterruptedError)) {
			break
		}
	}
	return err
}

func (l *Log) read(ctx context.Context, follow bool) error {
	client, err := typedcorev1.NewForConfig(l.Config)
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	if l.sum == nil { // A node answers when it has the first line.
		l.sum, l.began = sha256.New(), time.Now()
	}
	options := &corev1.PodLogOptions{Container: l.Container, Follow: follow, Timestamps: true}
	stream, err := client.Pods(l.Pod.Namespace).GetLogs(l.Pod.Name, options).Stream(ctx)
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError:
		return err
	case err != nil:
		return InterruptedError{err}
	}
	defer func() { _ = stream.Close() }()
	again := sha256.New()
	switch _, err := io.CopyN(again, stream, l.Printed); {
	case err != nil && !errors.Is(err, io.EOF):
		return InterruptedError{err}
	case err != nil || !bytes.Equal(again.Sum(nil), l.sum.Sum(nil)):
		return ErrRotated
	}
	return l.print(stream)
}

// print prints lines without their times.
func (l *Log) print(stream io.Reader) error {
	in, out := bufio.NewReaderSize(stream, 1<<16), bufio.NewWriterSize(l.Out, 1<<16)
	for {
		part, err := in.ReadSlice('\n')
		isLong := errors.Is(err, bufio.ErrBufferFull) // the beginning of a long line
		text := part
		if !l.inLine && len(part) > 0 {
			stamp, line, isWhole := bytes.Cut(part, []byte(" "))
			at, parseErr := time.Parse(time.RFC3339Nano, string(stamp))
			switch {
			case !isWhole && err != nil && !isLong: // The connection broke in a time, which the next read brings whole.
				return errors.Join(out.Flush(), InterruptedError{io.ErrUnexpectedEOF})
			case parseErr != nil:
				rest, _ := io.ReadAll(io.LimitReader(in, 1<<10))
				return errors.Join(out.Flush(), UnreadableError{strings.Join(strings.Fields(string(part)+string(rest)), " ")})
			case l.First.IsZero():
				l.First, l.quiet = at, time.Since(l.began)
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
			return InterruptedError{err}
		}
	}
}

const (
	// silence is how late a log begins that may have been rotated: a node looks every 10 s whether it is too long.
	silence = 10 * time.Second
	// large is the size from which a log that begins late has probably been rotated, and largeSilence how late that is.
	large        = 1 << 20
	largeSilence = time.Second
)

// CheckBeginning returns why the node may have removed the beginning of a log, or "" if the log begins soon after its container started, or is
// empty. Only the node knows. isProbable is true if the log is large; the command of a small one may just have printed nothing before. The time
// for which the log was followed before its first line is subtracted: it is measured by the clock of this machine, and the rest by that of the
// node.
func (l *Log) CheckBeginning(container corev1.ContainerState) (why string, isProbable bool) {
	var started time.Time
	switch {
	case container.Running != nil:
		started = container.Running.StartedAt.Time
	case container.Terminated != nil:
		started = container.Terminated.StartedAt.Time
	}
	isProbable = l.Printed > large
	limit := silence
	if isProbable && !l.FromStart {
		limit = largeSilence
	}
	late := l.First.Sub(started)
	if started.IsZero() || l.First.IsZero() || late <= limit+l.quiet {
		return "", false
	}
	return fmt.Sprintf("it begins %s after its container started, so either the command printed nothing before, or the node has removed the beginning "+
		"(by default, a node keeps the last 10 MiB)", timespec.FormatSeconds(int64(late/time.Second))), isProbable
}

// UnreadableError is text from the node in place of a log line.
type UnreadableError struct{ Text string }

func (e UnreadableError) Error() string { return "the node cannot read the log: " + e.Text }

// InterruptedError is about a connection that could not be made or broke, or a server that failed, so that another one can bring more.
type InterruptedError struct{ cause error }

func (e InterruptedError) Error() string { return "reading the log: " + e.cause.Error() }

// Unwrap returns the error of the connection.
func (e InterruptedError) Unwrap() error { return e.cause }
