// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package expectations

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/redhat/podset-operator/internal/testutil"
)

var now = testutil.Created.Add(time.Hour)

func pod(name string) *testutil.PodBuilder {
	return testutil.MakePod(name).OwnedBy(testutil.MakePodSet("a").Obj())
}

func podNames(pods []*corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

func list(pods ...*corev1.Pod) []*corev1.Pod { return pods }

func TestPods_Created(t *testing.T) {
	p := Pods{}.Created(now, pod("x").Obj(), pod("y").Obj())
	for _, step := range []struct {
		title   string
		cached  []*corev1.Pod
		want    []string
		checkAt time.Time
	}{
		{"the cache shows none", nil, []string{"x", "y"}, now.Add(ConfirmAfter)},
		{"the cache shows one", list(pod("x").Obj()), []string{"x", "y"}, now.Add(ConfirmAfter)},
		{"the cache shows that this one is gone", nil, []string{"y"}, now.Add(ConfirmAfter)},
		{"the cache shows the other one", list(pod("y").Obj()), []string{"y"}, time.Time{}},
		{"the cache shows that it is gone", nil, nil, time.Time{}},
	} {
		v := p.Observe(step.cached, nil, now)
		if diff := cmp.Diff(step.want, podNames(v.Pods)); diff != "" {
			t.Errorf("%s: pods (-want +got): %s", step.title, diff)
		}
		p = v.Next
		if got := p.CheckAt(); !got.Equal(step.checkAt) {
			t.Errorf("%s: must be checked at %v, want %v", step.title, got, step.checkAt)
		}
	}
}

func TestPods_Uncached(t *testing.T) {
	p := Pods{}.Created(now, pod("x").Obj())
	other := testutil.MakePodSet("b").Obj()
	later := now.Add(ConfirmAfter)
	for title, tc := range map[string]struct {
		cached []*corev1.Pod
		at     time.Time
		want   []string
	}{
		"it was created a moment ago":       {nil, later.Add(-1), nil},
		"it was created long ago":           {nil, later, []string{"x"}},
		"the cache shows it":                {list(pod("x").Obj()), later, nil},
		"the cache shows a pod of its name": {list(pod("x").UID("other").Obj()), later, []string{"x"}},
	} {
		if diff := cmp.Diff(tc.want, p.Uncached(tc.cached, tc.at)); diff != "" {
			t.Errorf("%s (-want +got): %s", title, diff)
		}
	}
	for title, tc := range map[string]struct {
		live *corev1.Pod
		want []string
	}{
		"it exists":                      {pod("x").Running().Obj(), []string{"x"}},
		"it is gone":                     {nil, nil},
		"another pod has its name":       {pod("x").UID("other").Obj(), nil},
		"another object controls it now": {pod("x").OwnedBy(other).Obj(), nil},
		"no object controls it any more": {testutil.MakePod("x").Obj(), nil},
	} {
		v := p.Observe(nil, map[string]*corev1.Pod{"x": tc.live}, later)
		if diff := cmp.Diff(tc.want, podNames(v.Pods)); diff != "" {
			t.Errorf("%s (-want +got): %s", title, diff)
		}
		if tc.want == nil {
			continue
		}
		if v.Pods[0] != tc.live {
			t.Errorf("%s: the pod is not the one that the API server returned", title)
		}
		if got := v.Next.CheckAt(); !got.Equal(later.Add(ConfirmAfter)) {
			t.Errorf("%s: it is looked up again at %s", title, got)
		}
		if v.Uncached.Len() > 0 {
			t.Errorf("%s: it is uncached", title)
		}
	}
	if v := p.Observe(nil, nil, now); !v.Uncached.Has("x-uid") {
		t.Errorf("a pod of which only the create is known is not uncached: %v", v.Uncached)
	}
	if v := p.Observe(list(pod("x").Obj()), nil, now); v.Uncached.Len() > 0 {
		t.Errorf("a pod that the cache shows is uncached: %v", v.Uncached)
	}
}

// A pod that comes and goes between two reconciles is replaced at once if the cache shows a later version of another pod.
func TestPods_passed(t *testing.T) {
	p := Pods{}.Created(now, version(pod("x"), "8"), version(pod("y"), "12"))
	for title, tc := range map[string]struct {
		cached []*corev1.Pod
		want   []string
	}{
		"the cache shows only earlier versions": {list(version(pod("other"), "7")), nil},
		"the cache shows the pods themselves":   {list(version(pod("x"), "8"), version(pod("y"), "13")), nil},
		"the cache shows a later version":       {list(version(pod("other"), "10")), []string{"x", "y"}},
		"the cache shows the later pod":         {list(version(pod("y"), "12")), []string{"x"}},
		"the versions cannot be compared":       {list(version(pod("other"), "later")), nil},
	} {
		if diff := cmp.Diff(tc.want, p.Uncached(tc.cached, now)); diff != "" {
			t.Errorf("%s (-want +got): %s", title, diff)
		}
	}
}

// Every pod comes and goes between two reconciles, so the cache shows none of them.
func TestPods_lost(t *testing.T) {
	var p Pods
	for i := range 2000 {
		name := fmt.Sprintf("pod-%d", i)
		p = p.Created(now, pod(name).Obj()).Observe(nil, map[string]*corev1.Pod{name: nil}, now).Next
	}
	if got := len(p.lost); got != maxLost {
		t.Errorf("%d pods are remembered, want %d", got, maxLost)
	}
	if got := p.Observe(list(pod("pod-1999").Obj()), nil, now).Pods; len(got) > 0 {
		t.Error("the last pod is active again")
	}
}

// Otherwise the pods would take turns being uncached, and none of them would be deleted while the cache lags.
func TestPods_CheckAt(t *testing.T) {
	p := Pods{}.Created(now, pod("x").Obj()).Created(now.Add(2*time.Second), pod("y").Obj(), pod("z").Obj())
	if got := p.CheckAt(); !got.Equal(now.Add(ConfirmAfter)) {
		t.Errorf("checked at %s", got)
	}
	if diff := cmp.Diff([]string{"x", "y"}, p.Uncached(list(pod("z").Obj()), now.Add(ConfirmAfter))); diff != "" {
		t.Errorf("names (-want +got): %s", diff)
	}
}

func TestNotLookedUp(t *testing.T) {
	got := NotLookedUp([]string{"found", "gone", "new"}, map[string]*corev1.Pod{"found": pod("found").Obj(), "gone": nil})
	if diff := cmp.Diff([]string{"new"}, got); diff != "" {
		t.Errorf("names (-want +got): %s", diff)
	}
}

func TestPods_found(t *testing.T) {
	p := Pods{}.Created(now, pod("x").Obj()).Created(now.Add(time.Second), pod("x").Running().Obj())
	v := p.Observe(nil, nil, now)
	if len(v.Pods) != 1 || v.Pods[0].Spec.NodeName == "" || !p.CheckAt().Equal(now.Add(time.Second+ConfirmAfter)) {
		t.Errorf("%d pods, to be checked at %s", len(v.Pods), p.CheckAt())
	}
}

// Otherwise the owner would run one pod too many until the operator restarts.
func TestPods_released(t *testing.T) {
	p := Pods{}.Created(now, version(pod("x"), "8"))
	released := map[string]*corev1.Pod{"x": version(testutil.MakePod("x"), "9")}
	for _, step := range []struct {
		title    string
		cached   []*corev1.Pod
		lookedUp map[string]*corev1.Pod
		want     []string
	}{
		{"it is released", nil, released, nil},
		{"the cache shows it before the release", list(version(pod("x"), "8")), nil, nil},
		{"the cache shows it with its owner again", list(version(pod("x"), "10")), nil, []string{"x"}},
		{"the cache shows it later", list(version(pod("x"), "11")), nil, []string{"x"}},
	} {
		v := p.Observe(step.cached, step.lookedUp, now.Add(ConfirmAfter))
		if diff := cmp.Diff(step.want, podNames(v.Pods)); diff != "" {
			t.Errorf("%s (-want +got): %s", step.title, diff)
		}
		p = v.Next
	}
}

func version(b *testutil.PodBuilder, version string) *corev1.Pod {
	pod := b.Obj()
	pod.ResourceVersion = version
	return pod
}

func TestPods_Deleted(t *testing.T) {
	running, terminating := pod("x").Running().Obj(), pod("x").Running().Terminating().Obj()
	gone := map[string]*corev1.Pod{"x": nil}
	type step struct {
		title    string
		cached   []*corev1.Pod
		lookedUp map[string]*corev1.Pod
		want     string
	}
	for title, tc := range map[string]struct {
		start Pods
		steps []step
	}{
		"a pod that the cache has shown": {
			start: Pods{}.Deleted(running),
			steps: []step{
				{"still running", list(running), nil, "deleted"},
				{"terminating", list(terminating), nil, "terminating"},
				{"gone", nil, nil, ""},
			},
		},
		"a pod whose termination the cache does not show": {
			start: Pods{}.Deleted(running),
			steps: []step{
				{"still running", list(running), nil, "deleted"},
				{"gone", nil, nil, ""},
			},
		},
		"a pod that the cache has not shown": {
			start: Pods{}.Created(now, running).Deleted(running),
			steps: []step{
				{"not there yet", nil, nil, "deleted"},
				{"running", list(running), nil, "deleted"},
				{"terminating", list(terminating), nil, "terminating"},
			},
		},
		"a pod that is gone before the cache shows it": {
			start: Pods{}.Created(now, running).Deleted(running),
			steps: []step{
				{"not there yet", nil, nil, "deleted"},
				{"the API server has none", nil, gone, ""},
				{"not there yet, again", nil, nil, ""},
				{"running", list(running), nil, ""},
				{"still running", list(running), nil, ""},
				{"terminating", list(terminating), nil, ""},
				{"gone", nil, nil, ""},
				{"there is nothing to remember any more", list(running), nil, "active"},
			},
		},
		"one of two pods that were deleted": {
			start: Pods{}.Deleted(running, pod("second").Obj()),
			steps: []step{
				{"both still run", list(running, pod("second").Obj()), nil, "deleted"},
				{"again", list(running, pod("second").Obj()), nil, "deleted"},
			},
		},
		"one of two pods that are gone before the cache shows them": {
			start: Pods{}.Created(now, running, pod("second").Obj()),
			steps: []step{
				{"the API server has neither", nil, map[string]*corev1.Pod{"x": nil, "second": nil}, ""},
				{"running", list(running), nil, ""},
			},
		},
		"a pod that somebody else deleted before the cache shows it": {
			start: Pods{}.Created(now, running),
			steps: []step{
				{"not there yet", nil, nil, "active"},
				{"the API server has none", nil, gone, ""},
				{"running", list(running), nil, ""},
			},
		},
		"a pod that the API server shows as terminating before the cache shows it": {
			start: Pods{}.Created(now, running),
			steps: []step{
				{"the API server says that it is terminating", nil, map[string]*corev1.Pod{"x": terminating}, "terminating"},
				{"not there yet", nil, nil, "terminating"},
				{"running", list(running), nil, "deleted"},
				{"terminating", list(terminating), nil, "terminating"},
				{"gone", nil, nil, ""},
			},
		},
	} {
		p := tc.start
		for _, step := range tc.steps {
			v := p.Observe(append(step.cached, pod("other").Obj()), step.lookedUp, now)
			if got := stateOf(v, running.UID); got != step.want {
				t.Errorf("%s: %s: the pod is %q, want %q", title, step.title, got, step.want)
			}
			if stateOf(v, "other-uid") != "active" {
				t.Errorf("%s: %s: another pod is not active", title, step.title)
			}
			p = v.Next
		}
	}
}

func stateOf(v View, uid types.UID) string {
	for _, pod := range v.Pods {
		switch {
		case pod.UID != uid:
		case pod.DeletionTimestamp != nil:
			return "terminating"
		case v.Deleted.Has(uid):
			return "deleted"
		default:
			return "active"
		}
	}
	return ""
}

func TestPods_value(t *testing.T) {
	before := Pods{}.Created(now, pod("x").Obj(), pod("y").Obj(), pod("gone").Obj()).Deleted(pod("y").Obj())
	before = before.Observe(nil, map[string]*corev1.Pod{"gone": nil}, now).Next
	text := before.String()
	view := before.Observe(nil, nil, now)

	cached := make([]*corev1.Pod, 1, 10)
	cached[0] = pod("gone").Obj()
	before.Created(now, pod("x").Running().Obj(), pod("z").Obj())
	before.Deleted(pod("x").Obj(), pod("y").Obj())
	before.Observe(cached, map[string]*corev1.Pod{"x": nil}, now.Add(time.Hour))

	if got := before.String(); got != text {
		t.Errorf("was %q and is now %q", text, got)
	}
	if !view.Deleted.Equal(sets.New[types.UID]("y-uid")) || len(view.Pods) != 2 {
		t.Errorf("what was observed has changed: %d pods, deleted %v", len(view.Pods), view.Deleted)
	}
	if cached[0] == nil || cached[:2][1] != nil {
		t.Error("the array of the caller was written to")
	}
	if want := "created x-uid@1896001200 y-uid@1896001200 deleted [y-uid] lost [{gone-uid false }]"; text != want {
		t.Errorf("String: got %q, want %q", text, want)
	}
}

func TestPods_allocations(t *testing.T) {
	cached := list(pod("x").Obj(), pod("y").Obj())
	allocated := testing.AllocsPerRun(10, func() {
		v := Pods{}.Observe(cached, nil, now)
		if len(v.Next.Uncached(cached, now))+len(v.Deleted)+len(v.Pods) != 2 {
			t.Error("the expectations are not empty")
		}
	})
	if allocated > 0 {
		t.Errorf("%g allocations", allocated)
	}
}
