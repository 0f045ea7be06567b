// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package expectations

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/redhat/podset-operator/internal/testutil"
)

var now = testutil.Created.Add(time.Hour)

func pod(name string) *testutil.PodBuilder {
	return testutil.MakePod(name).OwnedBy(testutil.MakePodSet("a").Obj())
}

func list(pods ...*corev1.Pod) []*corev1.Pod { return pods }

func version(b *testutil.PodBuilder, version string) *corev1.Pod {
	pod := b.Obj()
	pod.ResourceVersion = version
	return pod
}

// The owner waits until the cache shows the created pods, or what came after them.
func TestPods_Created(t *testing.T) {
	x, y := version(pod("x"), "8"), version(pod("y"), "12")
	p := Pods{}.Created(now, x).Created(now, y)
	for title, tc := range map[string]struct {
		cached []*corev1.Pod
		waits  bool
	}{
		"the cache shows none":                   {nil, true},
		"the cache shows one":                    {list(x), true},
		"the cache shows both":                   {list(x, y), false},
		"the cache shows later versions":         {list(version(pod("x"), "14"), version(pod("y"), "13")), false},
		"the cache shows the second one alone":   {list(y), false},
		"the cache shows an earlier pod":         {list(version(pod("other"), "7")), true},
		"the cache shows a pod in between":       {list(version(pod("other"), "10")), true},
		"the cache shows a later pod":            {list(version(pod("other"), "13")), false},
		"the cache shows another pod of a name":  {list(version(pod("y").UID("other"), "11")), true},
		"the versions cannot be compared":        {list(version(pod("other"), "later")), true},
		"the versions of both cannot be, either": {list(version(pod("x"), "later"), version(pod("y"), "later")), false},
	} {
		v, want := p.Observe(tc.cached, nil, now.Add(time.Second)), time.Time{}
		if tc.waits {
			want = now.Add(ConfirmAfter)
		}
		if !v.WaitUntil.Equal(want) || !v.Next.CheckAt().Equal(want) || len(v.Lookups) > 0 {
			t.Errorf("%s: waits until %s, want %s; looks up %v", title, v.WaitUntil, want, v.Lookups)
		}
	}
}

// Created pods that the cache does not show are looked up together.
func TestPods_Lookups(t *testing.T) {
	p := Pods{}.Created(now, pod("x").Obj(), pod("y").Obj())
	later := now.Add(ConfirmAfter)
	if v := p.Observe(nil, nil, later.Add(-1)); len(v.Lookups) > 0 {
		t.Errorf("too early: looks up %v", v.Lookups)
	}
	v := p.Observe(list(pod("x").Obj()), map[string]*corev1.Pod{"y": nil}, later)
	if diff := cmp.Diff([]string{"x"}, v.Lookups); diff != "" {
		t.Errorf("one answer is missing: lookups (-want +got): %s", diff)
	}
	for title, tc := range map[string]struct {
		live  *corev1.Pod
		waits bool
	}{
		"it exists":                      {pod("x").Running().Obj(), true},
		"it is gone":                     {nil, false},
		"another pod has its name":       {pod("x").UID("other").Obj(), false},
		"another object controls it now": {pod("x").OwnedBy(testutil.MakePodSet("b").Obj()).Obj(), false},
		"no object controls it any more": {testutil.MakePod("x").Obj(), false},
	} {
		v, want := p.Observe(nil, map[string]*corev1.Pod{"x": tc.live, "y": nil}, later), time.Time{}
		if tc.waits {
			want = later.Add(ConfirmAfter)
		}
		if len(v.Lookups) > 0 || !v.WaitUntil.Equal(want) || !v.Next.CheckAt().Equal(want) {
			t.Errorf("%s: looks up %v, waits until %s, want %s", title, v.Lookups, v.WaitUntil, want)
		}
	}
}

func TestPods_Deleted(t *testing.T) {
	running, terminating, created := pod("x").Running().Obj(), pod("x").Running().Terminating().Obj(), version(pod("y"), "9")
	for title, tc := range map[string]struct {
		start  Pods
		cached [][]*corev1.Pod
		want   []bool // whether the pod is treated as deleted
	}{
		"the cache shows it as terminating, then not at all": {
			Pods{}.Deleted(running), [][]*corev1.Pod{list(running), list(running), list(terminating), nil, list(running)}, []bool{true, true, false, false, false},
		},
		"the cache does not show its termination": {Pods{}.Deleted(running), [][]*corev1.Pod{list(running), nil, list(running)}, []bool{true, false, false}},
		"another one was deleted, too": {
			Pods{}.Deleted(running, created), [][]*corev1.Pod{list(running, created), list(running)}, []bool{true, true},
		},
		"the cache shows neither its create nor its deletion": {
			Pods{}.Created(now, running).Deleted(running), [][]*corev1.Pod{nil, list(running), list(terminating), nil}, []bool{true, true, false, false},
		},
	} {
		p := tc.start
		for n, cached := range tc.cached {
			v := p.Observe(cached, nil, now)
			if got := v.Deleted.Has(running.UID); got != tc.want[n] {
				t.Errorf("%s: after observation %d, it is deleted: %t", title, n, got)
			}
			p = v.Next
		}
	}
}

func TestPods_value(t *testing.T) {
	fresh := func() Pods {
		return Pods{}.Created(now, pod("x").Obj(), pod("y").Obj()).Deleted(pod("y").Obj())
	}
	before := fresh()
	before.Created(now.Add(time.Second), pod("z").Obj())
	before.Deleted(pod("x").Obj())
	before.Observe(list(pod("y").Obj()), map[string]*corev1.Pod{"x": nil, "y": nil}, now.Add(time.Hour))
	if !reflect.DeepEqual(before, fresh()) {
		t.Errorf("the expectations have changed: %+v", before)
	}
}

func TestPods_allocations(t *testing.T) {
	cached := list(pod("x").Obj(), pod("y").Obj())
	allocated := testing.AllocsPerRun(10, func() {
		if v := (Pods{}).Observe(cached, nil, now); len(v.Lookups)+len(v.Deleted) > 0 || !v.WaitUntil.IsZero() {
			t.Error("the expectations are not empty")
		}
	})
	if allocated > 0 {
		t.Errorf("%g allocations", allocated)
	}
}
