// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package clockjump

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestWatch(t *testing.T) {
	fails := false
	list := func(context.Context) ([]client.Object, error) {
		if fails = !fails; fails { // The next tick tries again.
			return nil, errors.New("no answer")
		}
		return []client.Object{
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "expiring"}}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "waiting"}},
		}, nil
	}

	for title, tc := range map[string]struct {
		wall, monotonic time.Duration // the time between two ticks
		want            []string
	}{
		"clocks in step":                {time.Second, time.Second, nil},
		"a tick that comes late":        {9 * time.Second, 9 * time.Second, nil},
		"a clock that is being slewed":  {time.Second + time.Millisecond, time.Second, nil},
		"a correction by an hour":       {time.Hour, time.Second, []string{"expiring", "waiting"}},
		"a correction back by an hour":  {-time.Hour, time.Second, []string{"expiring", "waiting"}},
		"a machine that was suspended":  {10 * time.Minute, time.Second, []string{"expiring", "waiting"}},
		"just tolerated":                {time.Second + tolerance - 1, time.Second, nil},
		"no longer tolerated":           {time.Second + tolerance, time.Second, []string{"expiring", "waiting"}},
		"a correction by half a second": {1500 * time.Millisecond, time.Second, []string{"expiring", "waiting"}},
	} {
		t.Run(title, func(t *testing.T) {
			ticks := clocktesting.NewFakeClock(time.Now())
			watch := New(ticks, list)
			start, read := time.Now(), make(chan struct{}, 8)
			// After the jump, the clocks are in step again.
			walls := []time.Duration{0, tc.wall, tc.wall + time.Second, tc.wall + 2*time.Second, tc.wall + 3*time.Second}
			monotonics := []time.Duration{0, tc.monotonic, tc.monotonic + time.Second, tc.monotonic + 2*time.Second, tc.monotonic + 3*time.Second}
			next := func(times *[]time.Duration) time.Duration {
				now := (*times)[0]
				*times = (*times)[1:]
				return now
			}
			watch.wall = func() time.Time { return start.Add(next(&walls)) }
			watch.monotonic = func() time.Duration { read <- struct{}{}; return next(&monotonics) }

			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			if err := watch.Start(t.Context(), queue); err != nil {
				t.Fatal(err)
			}
			<-read // The clocks were read for the first time, so the ticker exists.
			for range 3 {
				ticks.Step(interval)
				<-read
			}
			ticks.Step(interval) // The last one that was read is handled before the next one.
			<-read

			var got []string
			for range queue.Len() {
				request, _ := queue.Get()
				got = append(got, request.Name)
				queue.Done(request)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("queued (-want +got): %s", diff)
			}
		})
	}
}
