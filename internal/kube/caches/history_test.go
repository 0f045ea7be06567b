// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/redhat/podset-operator/internal/kube/history"
)

// An informer gets a list or a watch, after which the latest resource version is another one.
func TestHistory(t *testing.T) {
	stream := metav1.ListOptions{SendInitialEvents: ptr.To(true)}
	from := func(version string) metav1.ListOptions { return metav1.ListOptions{ResourceVersion: version} }
	type step struct {
		watch   bool
		options metav1.ListOptions
		latest  string
		err     error // of a list
		want    error
	}
	for title, steps := range map[string][]step{
		"nothing changes":                  {{true, stream, "7", nil, nil}, {true, from("7"), "7", nil, nil}, {true, from("7"), "7", nil, nil}},
		"it goes on":                       {{true, stream, "7", nil, nil}, {true, from("9"), "10", nil, nil}, {false, from(""), "11", nil, nil}},
		"a restore":                        {{true, stream, "7", nil, nil}, {true, from("1000"), "900", nil, history.ErrRestored}},
		"a restore, and a streamed list":   {{true, from("1000"), "1000", nil, nil}, {true, stream, "999", nil, history.ErrRestored}},
		"a restore, and a list":            {{true, from("1000"), "1000", nil, nil}, {false, from(""), "999", nil, history.ErrRestored}},
		"a list of any age proves nothing": {{true, from("1000"), "1000", nil, nil}, {false, from("0"), "999", nil, nil}},
		"a later page proves nothing": {
			{true, from("1000"), "1000", nil, nil}, {false, metav1.ListOptions{Continue: "more"}, "999", nil, nil},
		},
		"no resource version": {{true, stream, "7", nil, nil}, {true, from("7"), "", nil, nil}, {true, from("7"), "0", nil, nil}},
		"it is not a number":  {{true, stream, "b", nil, nil}, {true, from("b"), "a", nil, nil}},
		"the list fails":      {{true, from("1000"), "", errRBAC, errRBAC}, {true, from("1000"), "900", nil, history.ErrRestored}},
	} {
		var latest string
		var listError error
		var failed error
		stopped, begun := 0, 0
		l := &tolerantLister{
			fail: func(err error) { failed = err }, noteForbidden: func() {},
			all: &toolscache.ListWatch{
				ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
					return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: latest}}, listError
				},
				WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
					begun++
					return stoppable{&stopped}, nil
				},
			},
		}
		for i, s := range steps {
			latest, listError = s.latest, s.err
			var err error
			if s.watch {
				_, err = l.watch(t.Context(), s.options)
			} else {
				_, err = l.list(t.Context(), s.options)
			}
			if failed != nil && s.watch { // The informer does not log what the process prints.
				err = failed
			}
			if !errors.Is(err, s.want) || (s.want == nil) != (err == nil) {
				t.Errorf("%s: step %d: %v, want %v", title, i, err, s.want)
			}
			if ends := errors.Is(s.want, history.ErrRestored); ends != (failed != nil) {
				t.Errorf("%s: step %d: the process ends with %v", title, i, failed)
			}
			if s.watch && (err != nil) != (stopped == 1) {
				t.Errorf("%s: step %d: %d of %d watches were stopped", title, i, stopped, begun)
			}
			stopped = 0
		}
	}
}

// stoppable is a watch that counts how often it was stopped.
type stoppable struct{ stopped *int }

func (s stoppable) Stop()                        { *s.stopped++ }
func (stoppable) ResultChan() <-chan watch.Event { return nil }
