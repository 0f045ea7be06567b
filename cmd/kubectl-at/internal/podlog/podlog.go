// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podlog prints the log of a container, and returns an error if anything is missing.
package podlog

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Log prints each line of a container's log once, however often it is read. The API server puts the time before each
// line. Another read begins at the time of the last line that was printed: if this line does not come again, the node
// has rotated the log.
type Log struct {
	Pods           typedcorev1.PodInterface
	Pod, Container string
	Out            io.Writer
	// Timestamps is true if the time is printed before each line.
	Timestamps bool
	// Since is the time of the first line that is printed, or zero for all lines.
	Since time.Time
	// Tail is how many of the last lines are printed, or nil for all.
	Tail *int64

	position
	isCut bool // lines may be missing
}

// position is how far a log was read.
type position struct {
	last time.Time // of the last line that was printed
	same int       // the number of lines of that time: some runtimes give it to all lines that they read at once
	rest string    // what follows: a line that has no end yet, which is not printed
}

// ErrRotated is the error about a log that does not continue with what was read.
var ErrRotated = errors.New("the node rotated the log while it was being read, so lines may be missing; for large output, use a volume or an upload")

// Patience is how long a node may take to report the end of a container after the end of its log, before the log is
// read again.
var Patience = 5 * time.Second

// FollowToEnd prints a log until its container ends. awaitEnd waits for that end, up to the deadline of its context.
// The API server ends a log without an error if its connection to the node breaks, so only the end of the container is
// the end.
func (l *Log) FollowToEnd(ctx context.Context, awaitEnd func(context.Context) error) error {
	for {
		if err := l.read(ctx, true); err != nil && !isInterrupted(err) {
			return err
		}
		short, stop := context.WithTimeout(ctx, Patience)
		err := awaitEnd(short)
		isLate := short.Err() != nil && ctx.Err() == nil
		stop()
		switch {
		case err == nil:
			return l.ReadToEnd(ctx)
		case !isLate:
			return err
		}
	}
}

// ReadToEnd prints what follows the part that was read, until nothing more comes: a connection to the node that breaks
// can look like the end. It gives up if a container prints faster.
func (l *Log) ReadToEnd(ctx context.Context) error {
	var err error
	for range 3 {
		before := l.position
		err = l.read(ctx, false)
		if err == nil && l.position == before || err != nil && !isInterrupted(err) {
			break
		}
	}
	if err == nil && l.isCut {
		err = ErrRotated
	}
	_, writeErr := io.WriteString(l.Out, l.rest)
	return cmp.Or(err, writeErr)
}

// IsEmpty reports whether no line was printed.
func (l *Log) IsEmpty() bool { return l.last.IsZero() }

// read prints the lines that were not printed yet.
func (l *Log) read(ctx context.Context, follow bool) error {
	options := &corev1.PodLogOptions{Container: l.Container, Follow: follow, Timestamps: true, TailLines: l.Tail}
	if !l.last.IsZero() {
		options.TailLines = nil
	}
	if since := cmp.Or(l.last, l.Since); !since.IsZero() {
		options.SinceTime = &metav1.Time{Time: since} // sent without the fraction of its second
	}
	stream, err := l.Pods.GetLogs(l.Pod, options).Stream(ctx)
	var status apierrors.APIStatus
	switch isAnswer := errors.As(err, &status); {
	case isAnswer && status.Status().Code < http.StatusInternalServerError:
		return err
	case err != nil:
		return interruptedError{err}
	}
	defer func() { _ = stream.Close() }()
	return l.print(bufio.NewReader(stream))
}

// print prints the lines behind those that were printed, which come first again.
func (l *Log) print(in *bufio.Reader) error {
	last, again := l.last, l.same
	for {
		line, end := in.ReadString('\n')
		stamp, text, hasText := strings.Cut(line, " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if l.Timestamps {
			text = line
		}
		switch {
		case err != nil && (hasText || end == nil): // The node sends its errors as if they were the log.
			more, _ := io.ReadAll(io.LimitReader(in, 1<<10))
			return fmt.Errorf("the node cannot read the log: %s", strings.Join(strings.Fields(line+string(more)), " "))
		case end != nil:
			if l.rest = text; err != nil {
				l.rest = "" // of a time
			}
			if again > 0 {
				end = ErrRotated
			}
			if errors.Is(end, io.EOF) {
				return nil
			}
			return interruptedError{end}
		case again > 0 && at.Equal(last):
			again--
		case again > 0 && at.Before(last): // in the same second
		default:
			l.isCut = l.isCut || again > 0
			again = 0
			if _, err := io.WriteString(l.Out, text); err != nil {
				return err
			}
			if !at.Equal(l.last) {
				l.last, l.same = at, 0
			}
			l.same++
		}
	}
}

// interruptedError is about a connection that could not be made or broke, or a server that failed, so that another one
// can bring more.
type interruptedError struct{ error }

func isInterrupted(err error) bool { return errors.As(err, new(interruptedError)) }
