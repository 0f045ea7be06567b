// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podlog prints the log of a container, and returns an error if anything is missing.
package podlog

import (
	"bufio"
	"bytes"
	"cmp"
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
	"k8s.io/utils/ptr"

	"github.com/redhat/podset-operator/internal/timespec"
)

// Log prints each part of a container's log once, however often it is read. The API server puts the time before each line. The time
// distinguishes log lines from other text of a node, such as an error that it cannot read the log. It also
// makes each line unique: if the log does not begin with what was read, the node has rotated it, and lines can be missing.
type Log struct {
	Config    *rest.Config
	Pod       *corev1.Pod
	Container string
	Out       io.Writer
	// Timestamps is true if the time is printed before each line.
	Timestamps bool
	// Since is the time of the first line that is printed, or zero for all lines.
	Since time.Time

	// Read is how much of the log was read, in bytes with the times.
	Read int64

	sum     hash.Hash     // of what was read
	inLine  bool          // that ends inside a line
	omitted bool          // that line is not printed
	first   time.Time     // of the first line
	began   time.Time     // when the log was read first
	quiet   time.Duration // from there to the first line
}

// ErrRotated is the error about a log that does not begin with what was read.
var ErrRotated = errors.New("the node rotated the log while it was being read, so lines may be missing; for large output, use a volume or an upload")

var (
	// Patience is how long a node may take to report the end of a container after the end of its log.
	Patience = 10 * time.Second
	// Fruitless is how short a connection is that is not made again if it has brought nothing. A longer one may have been idle for too long.
	Fruitless = time.Second
)

// FollowToEnd prints a log until its container ends. awaitEnd waits for that end, up to the deadline of its context, and returns the pod. The
// API server ends a log without an error if its connection to the node breaks, and the node does if it rotates the log, so after the end of
// the container the log is read again.
func (l *Log) FollowToEnd(ctx context.Context, awaitEnd func(context.Context) (*corev1.Pod, error)) error {
	for {
		read, began := l.Read, time.Now()
		err := l.read(ctx, true)
		if err != nil && !errors.As(err, new(InterruptedError)) {
			return err
		}
		isFruitless := l.Read == read && time.Since(began) < Fruitless
		short, stop := context.WithTimeout(ctx, Patience)
		pod, awaitErr := awaitEnd(short)
		stop()
		switch {
		case awaitErr == nil:
			l.Pod = pod
			return l.ReadToEnd(ctx)
		case ctx.Err() != nil || short.Err() == nil:
			return awaitErr
		case isFruitless: // The next connection would not bring more either.
			return cmp.Or(err, errors.New("the connection to the node ended"))
		}
	}
}

// ReadToEnd prints what follows the part that was read, until nothing more comes: a connection to the node that breaks can look like the end.
// It gives up if a container prints faster.
func (l *Log) ReadToEnd(ctx context.Context) error {
	var err error
	for range 3 {
		before := l.Read
		err = l.read(ctx, false)
		if err == nil && l.Read == before || err != nil && !errors.As(err, new(InterruptedError)) {
			break
		}
	}
	return err
}

// Tail omits all lines but the last n that the log has now.
func (l *Log) Tail(ctx context.Context, n int64) error {
	stream, err := l.open(ctx, &corev1.PodLogOptions{TailLines: ptr.To(max(n, 1))})
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	stamp, err := bufio.NewReader(stream).ReadString(' ')
	at, parseErr := time.Parse(time.RFC3339Nano, strings.TrimSpace(stamp))
	if err != nil || parseErr != nil { // The log is empty, or reading it returns the error.
		return nil
	}
	if n == 0 {
		at = at.Add(1)
	}
	if at.After(l.Since) {
		l.Since = at
	}
	return nil
}

// open requests the log, with the times.
func (l *Log) open(ctx context.Context, options *corev1.PodLogOptions) (io.ReadCloser, error) {
	client, err := typedcorev1.NewForConfig(l.Config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	options.Container, options.Timestamps = l.Container, true
	stream, err := client.Pods(l.Pod.Namespace).GetLogs(l.Pod.Name, options).Stream(ctx)
	var status apierrors.APIStatus
	if err != nil && (!errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError) {
		err = InterruptedError{err}
	}
	return stream, err
}

func (l *Log) read(ctx context.Context, follow bool) error {
	if l.sum == nil { // A node answers when it has the first line.
		l.sum, l.began = sha256.New(), time.Now()
	}
	stream, err := l.open(ctx, &corev1.PodLogOptions{Follow: follow})
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	again := sha256.New()
	switch _, err := io.CopyN(again, stream, l.Read); {
	case err != nil && !errors.Is(err, io.EOF):
		return InterruptedError{err}
	case err != nil || !bytes.Equal(again.Sum(nil), l.sum.Sum(nil)):
		return ErrRotated
	}
	return l.print(stream)
}

// print prints lines.
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
			case l.first.IsZero():
				l.first, l.quiet = at, time.Since(l.began)
			}
			if l.omitted = at.Before(l.Since); !l.Timestamps {
				text = line
			}
		}
		if len(part) > 0 {
			l.inLine = err != nil
			l.Read += int64(len(part))
			_, _ = l.sum.Write(part) // never fails: see hash.Hash
		}
		if l.omitted {
			text = nil
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

// large is the size from which a log that begins late has probably been rotated.
const large = 1 << 20

// CheckBeginning returns an error if the node has probably removed the beginning of a log. Only the node knows. The command of a small log may
// just have printed nothing before. The time for which the log was followed before its first line is subtracted: it is measured by the clock
// of this machine, and the rest by that of the node.
func (l *Log) CheckBeginning(container corev1.ContainerState) error {
	var started time.Time
	switch {
	case container.Running != nil:
		started = container.Running.StartedAt.Time
	case container.Terminated != nil:
		started = container.Terminated.StartedAt.Time
	}
	late := l.first.Sub(started)
	if !l.Since.IsZero() || l.Read <= large || started.IsZero() || late <= time.Second+l.quiet {
		return nil
	}
	return fmt.Errorf("the log of pod/%s may be incomplete: it begins %s after its container started, so either the command printed nothing before, or the node "+
		"has removed the beginning (by default, a node keeps the last 10 MiB)", l.Pod.Name, timespec.FormatSeconds(int64(late/time.Second)))
}

// UnreadableError is text from the node in place of a log line.
type UnreadableError struct{ Text string }

func (e UnreadableError) Error() string { return "the node cannot read the log: " + e.Text }

// InterruptedError is about a connection that could not be made or broke, or a server that failed, so that another one can bring more.
type InterruptedError struct{ cause error }

func (e InterruptedError) Error() string { return "reading the log: " + e.cause.Error() }

// Unwrap returns the error of the connection.
func (e InterruptedError) Unwrap() error { return e.cause }
