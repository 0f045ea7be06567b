// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

var errRBAC = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("RBAC"))

// source is a namespace with one pod. Lists and watches return err.
type source struct{ err error }

func (s *source) listWatch() toolscache.ListerWatcherWithContext {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PodList{Items: make([]corev1.Pod, 1)}, s.err
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return watch.NewFake(), s.err
		},
	}
}

// lister returns a tolerant lister of a namespace, and the number of missing permissions that it reported.
func lister(s *source) (l *tolerantLister, clock *clocktesting.FakeClock, reports *int) {
	clock, reports = clocktesting.NewFakeClock(time.Now()), new(int)
	return &tolerantLister{all: s.listWatch(), clock: clock, noteForbidden: func() { *reports++ }}, clock, reports
}

// silentWatch starts a watch that must not end when the list is tried again, and stops it.
func silentWatch(t *testing.T, l *tolerantLister, clock *clocktesting.FakeClock) watch.Interface {
	t.Helper()
	w, err := l.watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	clock.Step(accessRetry)
	select {
	case e := <-w.ResultChan():
		t.Fatalf("the watch sends %v", e)
	case <-time.After(10 * time.Millisecond):
	}
	w.Stop()
	return w
}

func TestList_forbidden(t *testing.T) {
	s := &source{}
	l, _, reports := lister(s)
	for i, tc := range []struct {
		err     error
		pods    int // or -1 for an error
		reports int
	}{
		{errRBAC, 0, 1},
		{apierrors.NewInternalError(errors.New("etcd")), -1, 1},
		{errRBAC, 0, 2},
		{nil, 1, 2},
		{errRBAC, -1, 3}, // The permission was revoked, and the cache keeps its objects.
	} {
		s.err = tc.err
		list, err := l.list(t.Context(), metav1.ListOptions{})
		pods := -1
		if err == nil {
			pods = meta.LenList(list)
		}
		if pods != tc.pods || *reports != tc.reports {
			t.Errorf("list %d: %d pods after %d reports, want %d after %d", i, pods, *reports, tc.pods, tc.reports)
		}
	}
}

func TestWatch_forbidden(t *testing.T) {
	s := &source{err: errRBAC}
	l, clock, _ := lister(s)
	if _, err := l.list(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if e, open := <-silentWatch(t, l, clock).ResultChan(); open {
		t.Errorf("a stopped watch sends %v", e)
	}
	s.err = nil
	w, err := l.watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	clock.Step(accessRetry)
	if e := <-w.ResultChan(); e.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
		t.Errorf("got %v", e)
	}
}

func TestWatch_streamedList(t *testing.T) {
	stream := metav1.ListOptions{SendInitialEvents: ptr.To(true)}
	s := &source{err: errRBAC}
	l, _, reports := lister(s)
	if _, err := l.watch(t.Context(), stream); !apierrors.IsForbidden(err) || *reports != 1 {
		t.Errorf("the informer must list in the ordinary way: %v, %d reports", err, *reports)
	}
	if _, err := l.list(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("no list has succeeded yet: %v", err)
	}
	s.err = nil
	if _, err := l.watch(t.Context(), stream); err != nil {
		t.Error(err)
	}
	s.err = errRBAC
	if _, err := l.list(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the list succeeded before, and the cache would lose its objects: %v", err)
	}
}

func TestList_tolerated(t *testing.T) {
	missing := apierrors.NewNotFound(schema.GroupResource{Group: "example.com", Resource: "widgets"}, "")
	for title, tc := range map[string]struct {
		namespaces []string
		err        error
		want       bool
	}{
		"a permission in the only namespace":    {[]string{"a"}, errRBAC, false},
		"a permission in one of two namespaces": {[]string{"a", "b"}, errRBAC, true},
		"a kind that is missing":                {[]string{"a", "b"}, missing, false},
	} {
		var passed toolscache.ListerWatcher
		options := cache.Options{NewInformer: func(lw toolscache.ListerWatcher, _ runtime.Object, _ time.Duration, _ toolscache.Indexers) toolscache.SharedIndexInformer {
			passed = lw
			return nil
		}}
		NewNamespaces(clocktesting.NewFakeClock(time.Now()), tc.namespaces, nil, nil).TolerateUnreadable(&options)
		options.NewInformer((&source{err: tc.err}).listWatch().(toolscache.ListerWatcher), &corev1.Pod{}, 0, nil)
		_, err := toolscache.ToListerWatcherWithContext(passed).ListWithContext(t.Context(), metav1.ListOptions{})
		if tolerated := err == nil; tolerated != tc.want {
			t.Errorf("%s: %v", title, err)
		}
	}
}

// With one namespace, there is nothing to report.
func TestNamespaces_Start(t *testing.T) {
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "unreadable"}, []string{"namespace"})
	for _, namespaces := range [][]string{{"a"}, {"a", "b"}} {
		n := NewNamespaces(nil, namespaces, nil, gauge)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Start(ctx) }()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("%v: %v", namespaces, err)
		}
	}
}

func TestNamespaces_Inspect(t *testing.T) {
	forbidden, away := fmt.Errorf("%w to list pods", ErrForbidden), errors.New("the API server is away")
	for title, tc := range map[string]struct {
		a, b       error
		want       error
		unreadable int
	}{
		"all can be read":     {nil, nil, nil, 0},
		"one cannot be read":  {nil, forbidden, nil, 1},
		"none can be read":    {forbidden, forbidden, ErrForbidden, 2},
		"no answer at all":    {forbidden, away, away, 0},
		"the first one fails": {away, nil, away, 0},
	} {
		n := NewNamespaces(nil, []string{"a", "b"}, func(_ context.Context, namespace string) error {
			if namespace == "a" {
				return tc.a
			}
			return tc.b
		}, nil)
		if err := n.Inspect(t.Context()); !errors.Is(err, tc.want) || len(n.unreadable) != tc.unreadable {
			t.Errorf("%s: %v, %d unreadable", title, err, len(n.unreadable))
		}
	}
}

func TestNamespaces_metric(t *testing.T) {
	asked, errs := make(chan struct{}), make(chan error)
	clock := clocktesting.NewFakeClock(time.Now())
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "unreadable"}, []string{"namespace"})
	n := NewNamespaces(clock, []string{"a", "b"}, func(ctx context.Context, namespace string) error {
		if namespace == "a" {
			return nil
		}
		asked <- struct{}{}
		select {
		case err := <-errs:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}, gauge)
	var log []string
	ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), funcr.New(func(_, line string) { log = append(log, line) }, funcr.Options{})))
	stopped := make(chan error, 1)
	go func() { stopped <- n.Start(ctx) }()

	// requested reports whether namespace b is read after trigger is called, up to 20 times.
	requested := func(trigger func()) bool {
		for range 20 {
			trigger()
			select {
			case <-asked:
				return true
			case <-time.After(10 * time.Millisecond):
			}
		}
		return false
	}
	timePasses := func() { clock.Step(accessRetry) }
	if requested(timePasses) {
		t.Error("a request although all namespaces can be read")
	}
	trigger := n.noteForbidden
	for i, step := range []struct {
		err  error
		want float64
	}{
		{errors.New("the API server is away"), 0},
		{fmt.Errorf("%w to list pods", ErrForbidden), 1},
		{errors.New("the API server is away"), 1},
		{nil, 0},
	} {
		if !requested(trigger) {
			t.Fatalf("step %d: no request", i)
		}
		trigger = timePasses
		errs <- step.err
		gomega.NewWithT(t).Eventually(func(g gomega.Gomega) float64 {
			metric := &dto.Metric{}
			g.Expect(gauge.WithLabelValues("b").Write(metric)).To(gomega.Succeed())
			return metric.GetGauge().GetValue()
		}).Should(gomega.Equal(step.want), "step %d", i)
	}
	if !requested(n.noteForbidden) {
		t.Error("no request although an informer was rejected")
	}
	if n.NeedLeaderElection() {
		t.Error("a replica that waits for the lease does not report")
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	gomega.NewWithT(t).Expect(log).To(gomega.HaveExactElements(
		gomega.ContainSubstring("the API server is away"), gomega.ContainSubstring("cannot be read and is not served"),
		gomega.ContainSubstring("the API server is away"), gomega.ContainSubstring("can be read again"),
	))
}
