// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pods_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/redhat/podset-operator/internal/pods"
	"github.com/redhat/podset-operator/internal/testutil"
)

func at(seconds int) metav1.Time {
	return metav1.NewTime(testutil.Created.Add(time.Duration(seconds) * time.Second))
}

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

func running(since int) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(since)}}
}

func ended(start, end int, code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: at(start), FinishedAt: at(end), ExitCode: code}}
}

func TestCrashLoop(t *testing.T) {
	notStarted := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		StartedAt: metav1.NewTime(time.Unix(0, 0)), FinishedAt: at(0), ExitCode: 128, Reason: "StartError",
	}}
	for title, tc := range map[string]struct {
		state, last corev1.ContainerState
		restarts    int32
		now         int
		app, init   bool // whether it is in a crash loop as a container and as an init container
		until       int  // when that ends if it keeps running, or 0 if never
	}{
		"it runs for the first time":                  {state: running(0), now: 1},
		"it waits for its image":                      {state: waiting("ImagePullBackOff"), now: 1},
		"it waits for a restart":                      {state: waiting("CrashLoopBackOff"), restarts: 1, now: 1, app: true, init: true},
		"it cannot be started for the first time":     {state: waiting("RunContainerError"), now: 1},
		"it cannot be started again":                  {state: waiting("RunContainerError"), restarts: 1, now: 1, app: true, init: true},
		"it ended and is restarted at once":           {state: ended(0, 4, 1), now: 4},
		"it ended again":                              {state: ended(5, 9, 1), restarts: 1, now: 18, app: true, init: true},
		"it ended again with exit code 0":             {state: ended(5, 9, 0), restarts: 1, now: 18, app: true},
		"it ended again and could not be started":     {state: notStarted, restarts: 1, now: 18, app: true, init: true},
		"it ended after a long run":                   {state: ended(0, 600, 1), restarts: 7, now: 600},
		"it runs again after one end":                 {state: running(5), last: ended(0, 4, 1), restarts: 1, now: 6},
		"it runs again after two ends":                {state: running(19), last: ended(5, 9, 1), restarts: 2, now: 20, app: true, init: true, until: 79},
		"it has almost run for a minute":              {state: running(19), last: ended(5, 9, 1), restarts: 2, now: 78, app: true, init: true, until: 79},
		"it has run for a minute":                     {state: running(19), last: ended(5, 9, 1), restarts: 2, now: 79},
		"it has not run twice as long as before":      {state: running(100), last: ended(0, 90, 1), restarts: 2, now: 279, app: true, init: true, until: 280},
		"it has run twice as long as before":          {state: running(100), last: ended(0, 90, 1), restarts: 2, now: 280},
		"it has run for ten minutes":                  {state: running(1000), last: ended(0, 500, 1), restarts: 2, now: 1600},
		"it runs again after a long run":              {state: running(700), last: ended(0, 600, 1), restarts: 9, now: 701},
		"it runs again and could not be started":      {state: running(1), last: notStarted, restarts: 2, now: 2, app: true, init: true, until: 61},
		"its runtime does not say when it ran before": {state: running(1), restarts: 2, now: 2},
	} {
		status := []corev1.ContainerStatus{{Name: "first"}, {Name: "main", RestartCount: tc.restarts, State: tc.state, LastTerminationState: tc.last}}
		check := func(kind string, pod *corev1.Pod, want bool) {
			t.Helper()
			looping, until := pods.CrashLoop(pod, at(tc.now).Time)
			wantUntil := time.Time{}
			if tc.until > 0 {
				wantUntil = at(tc.until).Time
			}
			if looping != want || !until.Equal(wantUntil) {
				t.Errorf("%s, %s: got %t until %v, want %t until %v", title, kind, looping, until, want, wantUntil)
			}
		}
		check("a container", &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: status}}, tc.app)
		check("an init container", &corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: status}}, tc.init)
	}
}

// The kubelet of Kubernetes 1.37 shows a container that waits for its restart as terminated.
func TestCrashLoop_stable(t *testing.T) {
	for _, run := range []int{0, 4, 29} {
		var flips, first int
		looping := false
		start, delay, restarts := 0, 0, int32(0)
		last := corev1.ContainerState{}
		see := func(state corev1.ContainerState, now int) {
			status := corev1.ContainerStatus{Name: "main", State: state, LastTerminationState: last, RestartCount: restarts}
			got, _ := pods.CrashLoop(&corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}}}, at(now).Time)
			if got != looping {
				looping, flips = got, flips+1
				if first == 0 {
					first = now
				}
			}
		}
		for start < 3600 {
			end := start + run
			for now := start; now < end; now++ {
				see(running(start), now)
			}
			for now := end; now <= end+delay; now++ {
				see(ended(start, end, 1), now)
			}
			start, last, restarts = end+delay+1, ended(start, end, 1), restarts+1
			delay = min(max(10, 2*delay), 300)
		}
		if flips != 1 || first > 60 {
			t.Errorf("runs of %d seconds: %d changes in an hour, the first one after %d seconds, want 1 within a minute", run, flips, first)
		}
	}
}

func TestSlowStart(t *testing.T) {
	since := at(60).Time
	for title, tc := range map[string]struct {
		pod    *testutil.PodBuilder
		now    int
		reason string
		at     time.Time
	}{
		"it is new":                          {testutil.MakePod("x"), 59, "", since},
		"it has no container status":         {testutil.MakePod("x"), 60, "ContainerCreating", time.Time{}},
		"a volume is missing":                {testutil.MakePod("x").Waiting("ContainerCreating"), 60, "ContainerCreating", time.Time{}},
		"an init container has not finished": {testutil.MakePod("x").Waiting("PodInitializing"), 60, "PodInitializing", time.Time{}},
		"it runs":                            {testutil.MakePod("x").Running(), 60, "", time.Time{}},
	} {
		if reason, at := pods.SlowStart(tc.pod.Obj(), at(tc.now).Time); reason != tc.reason || !at.Equal(tc.at) {
			t.Errorf("%s: got %q, %v, want %q, %v", title, reason, at, tc.reason, tc.at)
		}
	}
}
