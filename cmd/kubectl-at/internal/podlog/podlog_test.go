// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podlog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/podlog"
)

// node is an API server and a node. Each request gets the next answer, and the last one again. Lines begin with their
// time in seconds.
type node struct {
	answers  []string
	requests int
}

// busy is the answer of a node that does not serve its log for a moment.
const busy = "busy"

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := n.answers[min(n.requests, len(n.answers)-1)]
	n.requests++
	if answer == busy {
		http.Error(w, busy, http.StatusServiceUnavailable)
		return
	}
	since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("sinceTime"))
	lines := strings.SplitAfter(answer, "\n")
	if tail, err := strconv.Atoi(r.URL.Query().Get("tailLines")); err == nil {
		lines = lines[max(len(lines)-1-tail, 0):] // The last one is empty.
	}
	for _, line := range lines {
		number, text, _ := strings.Cut(line, " ")
		seconds, err := strconv.ParseFloat(number, 64)
		if at := instant(seconds); err == nil && text != "" && !at.Before(since) {
			line = at.Format(time.RFC3339Nano) + " " + text
		} else if err == nil {
			continue
		}
		_, _ = io.WriteString(w, line)
	}
}

func instant(seconds float64) time.Time {
	return time.Date(2026, 11, 21, 16, 0, 0, int(seconds*1e9), time.UTC)
}

// follow follows a log whose container ends after some requests.
func follow(t *testing.T, out io.Writer, tail *int64, requests int, answers ...string) error {
	t.Helper()
	n := &node{answers: answers}
	server := httptest.NewServer(n)
	defer server.Close()
	client, err := typedcorev1.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	log := &podlog.Log{Pods: client.Pods("default"), Pod: "a", Out: out, Tail: tail}
	return log.FollowToEnd(t.Context(), func(ctx context.Context) error {
		if n.requests < requests {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
}

func TestLog_FollowToEnd(t *testing.T) {
	podlog.Patience = time.Millisecond
	long := strings.Repeat("x", 1<<17)
	for name, test := range map[string]struct {
		followed  []string // the answers before the end of the container
		then      []string // and after it
		want, err string
	}{
		"all of it arrives":                  {[]string{"1 a\n2 b\n"}, []string{"1 a\n2 b\n"}, "a\nb\n", ""},
		"a long line":                        {[]string{"1 " + long + "\n"}, []string{"1 " + long + "\n2 b\n"}, long + "\nb\n", ""},
		"an empty line":                      {[]string{"1 \n2 b\n"}, []string{"1 \n2 b\n"}, "\nb\n", ""},
		"a last line without an end":         {[]string{"1 a\n2 b"}, []string{"1 a\n2 b"}, "a\nb", ""},
		"nothing is printed":                 {[]string{""}, []string{""}, "", ""},
		"the connection breaks":              {[]string{"1 a\n"}, []string{"1 a\n2 b\n"}, "a\nb\n", ""},
		"it breaks several times":            {[]string{"", "1 a\n", "1 a\n", busy, "1 a\n2 b\n"}, []string{"1 a\n2 b\n3 c\n"}, "a\nb\nc\n", ""},
		"it breaks within a second":          {[]string{"1.1 a\n1.2 b\n1.3 c\n"}, []string{"1.1 a\n1.2 b\n1.3 c\n1.4 d\n"}, "a\nb\nc\nd\n", ""},
		"lines of the same time":             {[]string{"1 a\n1 b\n"}, []string{"1 a\n1 b\n1 c\n"}, "a\nb\nc\n", ""},
		"the clock of the node goes back":    {[]string{"5 a\n3 b\n"}, []string{"3 b\n4 c\n"}, "a\nb\nc\n", ""},
		"it breaks in a line":                {[]string{"1 a\n2 b"}, []string{"1 a\n2 bc\n"}, "a\nbc\n", ""},
		"it breaks in a time":                {[]string{"2026-11-2"}, []string{"1 a\n"}, "a\n", ""},
		"the log is read again, and it ends": {[]string{"1 a\n", "1 a\n"}, []string{"1 a\n2 b\n"}, "a\nb\n", ""},
		"the node rotates the log":           {[]string{"1 a\n2 b\n", "3 c\n"}, []string{"3 c\n4 d\n"}, "a\nb\nc\nd\n", podlog.ErrRotated.Error()},
		"it has just rotated it":             {[]string{"1 a\n2 b\n"}, []string{""}, "a\nb\n", podlog.ErrRotated.Error()},
		"it rotates some lines of a time":    {[]string{"1 a\n1 b\n"}, []string{"1 b\n2 c\n"}, "a\nb\nc\n", podlog.ErrRotated.Error()},
		"the node cannot read it":            {[]string{"unable to retrieve\ncontainer logs"}, []string{""}, "", "the node cannot read the log: unable to retrieve container logs"},
		"the node cannot read it afterwards": {[]string{"1 a\n"}, []string{"failed to open log file"}, "a\n", "the node cannot read the log: failed to open log file"},
		"it breaks after the end":            {[]string{"1 a\n"}, []string{"1 a\n2 b\n", "2 b\n3 c\n"}, "a\nb\nc\n", ""},
		"the node does not answer":           {[]string{"1 a\n"}, []string{busy}, "a\n", "the server is currently unable to handle the request (get pods a)"},
	} {
		var out strings.Builder
		err := follow(t, &out, nil, len(test.followed), append(test.followed, test.then...)...)
		if got := fmt.Sprint(err); out.String() != test.want || err == nil && test.err != "" || err != nil && got != test.err {
			t.Errorf("%s: got %.99q, %v\nwant %.99q, %s", name, out.String(), err, test.want, test.err)
		}
	}
}

// Lines that come later are not among the last ones of the first read.
func TestLog_FollowToEnd_tail(t *testing.T) {
	var out strings.Builder
	if err := follow(t, &out, ptr.To[int64](1), 1, "1 a\n2 b\n", "1 a\n2 b\n3 c\n4 d\n"); err != nil || out.String() != "b\nc\nd\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

// full is a disk without space.
type full struct{}

func (full) Write(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	return 0, syscall.ENOSPC
}

func TestLog_FollowToEnd_full(t *testing.T) {
	for _, log := range []string{"1 a\n", "1 a"} {
		if err := follow(t, full{}, nil, 1, log); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%q: got %v", log, err)
		}
	}
}

// An answer that another connection does not change, and an end that is not waited for any more.
func TestLog_FollowToEnd_error(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client, err := typedcorev1.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	log := &podlog.Log{Pods: client.Pods("default"), Pod: "a", Out: io.Discard}
	if err := log.FollowToEnd(t.Context(), func(context.Context) error { return nil }); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
	server.Config.Handler = &node{answers: []string{""}}
	gone := errors.New("the pod is gone")
	if err := log.FollowToEnd(t.Context(), func(context.Context) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}
