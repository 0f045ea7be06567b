// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

func TestClockWatch(t *testing.T) {
	waiting := newAt("default", "waiting", "now", "true")
	done := newAt("default", "done", "now", "true")
	done.Status.Phase = cnatv1alpha1.PhaseDone
	expiring := newAt("default", "expiring", "now", "true")
	expiring.Status.Phase, expiring.Spec.TTLSecondsAfterFinished = cnatv1alpha1.PhaseDone, ptr.To[int32](1)
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(waiting, done, expiring).Build()

	for title, tc := range map[string]struct {
		wall, monotonic time.Duration // what passes between two ticks
		want            []string
	}{
		"clocks in step":                {time.Second, time.Second, nil},
		"a tick that comes late":        {9 * time.Second, 9 * time.Second, nil},
		"a clock that is being slewed":  {time.Second + time.Millisecond, time.Second, nil},
		"a correction by an hour":       {time.Hour, time.Second, []string{"expiring", "waiting"}},
		"a correction back by an hour":  {-time.Hour, time.Second, []string{"expiring", "waiting"}},
		"a machine that was suspended":  {10 * time.Minute, time.Second, []string{"expiring", "waiting"}},
		"a correction by half a second": {1500 * time.Millisecond, time.Second, []string{"expiring", "waiting"}},
	} {
		t.Run(title, func(t *testing.T) {
			ticks := clocktesting.NewFakeClock(time.Now())
			watch := newClockWatch(ticks, reader)
			start, read := time.Now(), make(chan struct{}, 8)
			walls, monotonics := []time.Duration{0, tc.wall}, []time.Duration{0, tc.monotonic}
			next := func(times *[]time.Duration) time.Duration {
				now := (*times)[0]
				*times = (*times)[1:]
				return now
			}
			watch.wall = func() time.Time { return start.Add(next(&walls)) }
			watch.monotonic = func() time.Duration { read <- struct{}{}; return next(&monotonics) }

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stopped := make(chan error, 1)
			go func() { stopped <- watch.Start(ctx) }()
			<-read // The clocks were read for the first time, so the ticker exists.
			ticks.Step(clockInterval)
			<-read

			var got []string
			for range tc.want {
				got = append(got, client.ObjectKeyFromObject((<-watch.events).Object).Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("queued (-want +got): %s", diff)
			}
			cancel()
			select {
			case e := <-watch.events:
				t.Errorf("queued beyond that: %s", e.Object.Name)
			case err := <-stopped:
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}
