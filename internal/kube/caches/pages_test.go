// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/testutil"
)

// pagedSource is a source whose lists all have the same pages. The continue token of a page is its number.
type pagedSource struct {
	fakeSource
	t       *testing.T
	pages   func() []runtime.Object // creates the pages of a list
	current []runtime.Object        // the pages of the list that is being read
	// expire makes the first request for a second page fail: its continue token is too old.
	expire bool
	asked  chan metav1.ListOptions
}

func newPagedSource(t *testing.T, pages func() []runtime.Object) *pagedSource {
	s := &pagedSource{t: t, pages: pages, expire: true, asked: make(chan metav1.ListOptions, 100)}
	s.fakeSource = fakeSource{list: s.page, watches: make(chan *watch.FakeWatcher, 1)}
	return s
}

func (s *pagedSource) page(options metav1.ListOptions) (runtime.Object, error) {
	s.asked <- options
	if options.Continue == "" {
		s.current = s.pages()
	}
	page := 0
	if options.Continue != "" {
		if s.expire {
			s.expire = false
			return nil, apierrors.NewResourceExpired("the continue token is too old")
		}
		page, _ = strconv.Atoi(options.Continue)
		s.checkFiltered(s.current[page-1])
	}
	if page+1 < len(s.current) {
		list, err := meta.ListAccessor(s.current[page])
		if err != nil {
			return nil, err
		}
		list.SetContinue(strconv.Itoa(page + 1))
	}
	return s.current[page], nil
}

// checkFiltered checks a page when the next one is requested: it must contain only what the cache holds.
func (s *pagedSource) checkFiltered(page runtime.Object) {
	pods, ok := page.(*corev1.PodList)
	if !ok {
		return
	}
	if len(pods.Items) != 1 || !kinds.controls(&pods.Items[0]) || pods.Items[0].Spec.Containers != nil {
		s.t.Errorf("the next page was requested while %d pods of this one were in memory", len(pods.Items))
	}
}

// listRequest has the relevant options of a list.
type listRequest struct {
	ResourceVersion, Continue string
	Limit                     int64
}

// requests are the lists that were requested since the last call.
func (s *pagedSource) requests() []listRequest {
	var list []listRequest
	for len(s.asked) > 0 {
		o := <-s.asked
		list = append(list, listRequest{o.ResourceVersion, o.Continue, o.Limit})
	}
	return list
}

func (s *pagedSource) nextWatch(t *testing.T) *watch.FakeWatcher {
	t.Helper()
	select {
	case events := <-s.watches:
		return events
	case <-time.After(10 * time.Second):
		t.Fatal("the informer does not watch")
		return nil
	}
}

func TestListLatestInPages(t *testing.T) {
	version := metav1.ListMeta{ResourceVersion: "7"}
	pods := func(name string) *corev1.PodList {
		foreign := testutil.MakePod("foreign-" + name).Obj()
		own := testutil.MakePod(name).OwnedBy(testutil.MakePodSet("set").Obj()).Obj()
		own.Spec.Containers = []corev1.Container{{Name: "main"}}
		return &corev1.PodList{ListMeta: version, Items: []corev1.Pod{*foreign, *own}}
	}
	sources := map[string]struct {
		kind  runtime.Object
		limit int64
		pages func() []runtime.Object
	}{
		"pods": {&corev1.Pod{}, 100, func() []runtime.Object { return []runtime.Object{pods("a"), pods("b")} }},
		"PodSets": {&appv1alpha1.PodSet{}, 500, func() []runtime.Object {
			page := func(name string) runtime.Object {
				return &appv1alpha1.PodSetList{ListMeta: version, Items: []appv1alpha1.PodSet{*testutil.MakePodSet(name).Obj()}}
			}
			return []runtime.Object{page("a"), page("b")}
		}},
		"Ats": {&cnatv1alpha1.At{}, 500, func() []runtime.Object {
			page := func(name string) runtime.Object {
				return &cnatv1alpha1.AtList{ListMeta: version, Items: []cnatv1alpha1.At{*testutil.MakeAt(name).Obj()}}
			}
			return []runtime.Object{page("a"), page("b")}
		}},
	}
	for name, of := range sources {
		t.Run(name, func(t *testing.T) {
			first, second := listRequest{Limit: of.limit}, listRequest{Limit: of.limit, Continue: "1"}
			source := newPagedSource(t, of.pages)
			informer := startInformer(t, source, of.kind, nil)
			events := source.nextWatch(t)
			// The continue token of the first list expires, so the list starts over, again in pages.
			if diff := cmp.Diff([]listRequest{first, second, first, second}, source.requests()); diff != "" {
				t.Errorf("the first list (-want +got): %s", diff)
			}
			// The events of the watch are lost: the informer lists again.
			events.Error(&metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired})
			source.nextWatch(t)
			if diff := cmp.Diff([]listRequest{first, second}, source.requests()); diff != "" {
				t.Errorf("the list after a gap (-want +got): %s", diff)
			}
			if keys := informer.GetStore().ListKeys(); len(keys) != 2 {
				t.Errorf("the cache holds %v", keys)
			}
		})
	}
}
