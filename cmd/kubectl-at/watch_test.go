// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// scriptedServer is an API server that has one At, x, and answers as a test says.
type scriptedServer struct {
	answer func(request int, watch bool) any // a phase, a status, or nil to break the connection; requests count from 1

	mutex    sync.Mutex
	requests int
	versions []string // the resource versions of lists
}

func (s *scriptedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.requests++
	watch := r.URL.Query().Has("watch")
	if !watch {
		s.versions = append(s.versions, r.URL.Query().Get("resourceVersion"))
	}
	switch answer := s.answer(s.requests, watch).(type) {
	case nil:
		panic(http.ErrAbortHandler)
	case *apierrors.StatusError:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(answer.ErrStatus.Code))
		status := answer.ErrStatus
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		_ = json.NewEncoder(w).Encode(status)
	case cnatv1alpha1.Phase:
		version := "7"
		if answer == cnatv1alpha1.PhaseDone {
			version = "8"
		}
		status := done(cnatv1alpha1.ResultSucceeded, cnatv1alpha1.ReasonCompleted, nil)
		if status.Phase = answer; answer != cnatv1alpha1.PhaseDone {
			status.CompletionTime = nil
		}
		list := &cnatv1alpha1.AtList{ListMeta: metav1.ListMeta{ResourceVersion: version}, Items: []cnatv1alpha1.At{{
			ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default", ResourceVersion: version},
			Status:     status,
		}}}
		list.SetGroupVersionKind(cnatv1alpha1.GroupVersion.WithKind("AtList"))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	case *cnatv1alpha1.At:
		answer.SetGroupVersionKind(cnatv1alpha1.GroupVersion.WithKind("At"))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	default:
		http.NotFound(w, r) // as for a kind that is not installed
	}
}

// ask runs a command with the server at an address, and returns what it prints about its error and the exit code. A
// command that does not end by itself is ended.
func ask(t *testing.T, address string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := newCommand(genericiooptions.IOStreams{Out: &out, ErrOut: &out}, clocktesting.NewFakeClock(saturday()))
	cmd.SetArgs(append([]string{"--kubeconfig", os.DevNull, "--server", address}, args...))
	if err := cmd.ExecuteContext(ctx); err != nil {
		message, code := describe(err)
		return out.String() + message, code
	}
	return out.String(), 0
}

var (
	ats          = cnatv1alpha1.GroupVersion.WithResource("ats").GroupResource()
	forbidden    = apierrors.NewForbidden(ats, "", nil)
	unauthorized = apierrors.NewUnauthorized("Unauthorized")
)

func TestWait_error(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(request int, watch bool) any
		want   string
	}{
		"nobody is logged in":         {func(int, bool) any { return unauthorized }, "error: You must be logged in to the server (Unauthorized)"},
		"the user has no permission":  {func(int, bool) any { return forbidden }, "Error from server (Forbidden): ats.cnat.d2iq.com is forbidden: "},
		"there is no CRD":             {func(int, bool) any { return "no CRD" }, "error: the cluster has no kind At: podset-operator must be installed first"},
		"the permission is taken":     {onceThen(forbidden), "Error from server (Forbidden): ats.cnat.d2iq.com is forbidden: "},
		"the token expires":           {onceThen(unauthorized), "error: You must be logged in to the server (Unauthorized)"},
		"the CRD is deleted":          {onceThen("no CRD"), "error: the cluster has no kind At: podset-operator must be installed first"},
		"there is no watch, but list": {watchesFail, "Error from server (Forbidden): ats.cnat.d2iq.com is forbidden: "},
	} {
		for _, command := range []string{"wait x", "logs -f x"} {
			t.Run(name+", "+command, func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(&scriptedServer{answer: test.answer})
				defer server.Close()
				if got, code := ask(t, server.URL, strings.Fields(command)...); code != 1 || !strings.HasPrefix(got, test.want) {
					t.Errorf("got %q with code %d, want %q", got, code, test.want)
				}
			})
		}
	}
}

func TestList_watchOutage(t *testing.T) {
	lists := 0
	server := httptest.NewServer(&scriptedServer{answer: func(_ int, watch bool) any {
		if watch {
			return apierrors.NewInternalError(errors.New("etcd has no leader"))
		}
		switch lists++; lists {
		case 1, 2:
			return cnatv1alpha1.PhasePending
		case 3:
			return nil
		}
		return cnatv1alpha1.PhaseDone
	}})
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	s := &shell{T: t, namespace: "default", now: saturday()}
	output, ended := s.background(ctx, "list", "-w", "--kubeconfig", os.DevNull, "--server", server.URL)
	output.expect("NAME   DUE         IN          PHASE     RESULT      REASON   COMMAND")
	output.expect("x      <unknown>   <unknown>   PENDING   Succeeded   <none>   ")
	output.expect("x     <unknown>   <unknown>   DONE   Succeeded   Completed   ")
	cancel()
	if err := endOf(ended); err != nil {
		t.Error(err)
	}
}

func TestCreate_clock(t *testing.T) {
	for want, difference := range map[string]time.Duration{"ahead of": -time.Hour, "behind": time.Hour + 30*time.Second} {
		server := httptest.NewServer(&scriptedServer{answer: func(int, bool) any {
			return &cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Name: "x", CreationTimestamp: metav1.NewTime(time.Now().Add(difference))}}
		}})
		defer server.Close()
		got, code := ask(t, server.URL, "now", "--", "true")
		line, _, _ := strings.Cut(got, "\n")
		pattern := "^Warning: the clock of this machine, which has read the time, is 1h( [0-9]+s)? " + want + " that of the cluster$"
		if code != 0 || !regexp.MustCompile(pattern).MatchString(line) {
			t.Errorf("%s: got %q with code %d", difference, line, code)
		}
	}
}

// onceThen answers the first request, and no other.
func onceThen(rejection any) func(int, bool) any {
	return func(request int, _ bool) any {
		if request == 1 {
			return cnatv1alpha1.PhasePending
		}
		return rejection
	}
}

func watchesFail(_ int, watch bool) any {
	if watch {
		return forbidden
	}
	return cnatv1alpha1.PhasePending
}

func TestWait_noServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	for _, command := range []string{"wait x", "logs -f x", "list"} {
		got, code := ask(t, server.URL, strings.Fields(command)...)
		if code != 1 || !strings.Contains(got, " was refused - did you specify the right host or port?") {
			t.Errorf("kubectl at %s: got %q with code %d", command, got, code)
		}
	}
}

// Only an answer that rejects an At proves that there is none.
func TestCreate_outcomeCodes(t *testing.T) {
	for want, answer := range map[int]any{codeRefused: forbidden, codeUnknown: apierrors.NewInternalError(errors.New("etcdserver: request timed out"))} {
		server := httptest.NewServer(&scriptedServer{answer: func(int, bool) any { return answer }})
		defer server.Close()
		if got, code := ask(t, server.URL, "now", "--wait", "--outcome-codes", "--", "true"); code != want {
			t.Errorf("got %q with code %d, want %d", got, code, want)
		}
	}
}

// An API server that is restarted, and that does not stream lists.
func TestWait_outage(t *testing.T) {
	var logged bytes.Buffer
	klog.LogToStderr(false)
	klog.SetOutput(&logged)
	defer klog.LogToStderr(true)
	scripted := &scriptedServer{answer: func(request int, watch bool) any {
		switch {
		case request == 1:
			return cnatv1alpha1.PhaseRunning
		case request < 6 && request%2 == 0:
			return nil
		case request < 6 || watch:
			return apierrors.NewServiceUnavailable("starting")
		}
		return cnatv1alpha1.PhaseDone
	}}
	server := httptest.NewServer(scripted)
	defer server.Close()
	if got, code := ask(t, server.URL, "wait", "x"); code != 0 || got != "at/x succeeded\n" {
		t.Errorf("got %q with code %d", got, code)
	}
	klog.Flush()
	if logged.Len() > 0 {
		t.Errorf("the command also prints\n%s", logged.String())
	}
	server.Close() // waits for the handlers
	if slices.Contains(scripted.versions, "0") {
		t.Errorf("a list may be older than the At: resource versions %q", scripted.versions)
	}
}
