// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

func TestTimeZone(t *testing.T) {
	s := newShell(t)
	run := func(zone string, args ...string) result {
		t.Setenv("TZ", zone)
		return execute(t.Context(), s.now, "", append([]string{"--kubeconfig", kubeconfig, "--namespace", s.namespace}, args...)...)
	}
	for _, zone := range []string{"CET-1CEST", "Europe/Berln", ":Europe/Berln", "/no/such/file"} {
		want := result{errOut: fmt.Sprintf("invalid environment variable TZ %q: expected a name such as Europe/Berlin, America/New_York, or UTC, in TZ or --tz\n", zone), code: 1}
		for _, args := range [][]string{{"now", "--", "true"}, {"list"}} {
			if got := run(zone, args...); got != want {
				t.Errorf("TZ=%s kubectl at %s: got %+v", zone, args[0], got)
			}
		}
		if got := run(zone, "list", "--tz", "Europe/Berlin"); got.code != 0 {
			t.Errorf("TZ=%s with --tz: got %+v", zone, got)
		}
	}
	for _, zone := range []string{"", "UTC", "UTC0", "Europe/Berlin", ":America/New_York"} {
		if got := run(zone, "list"); got.code != 0 {
			t.Errorf("TZ=%s: got %+v", zone, got)
		}
	}
}

// The request takes a moment, and now is now.
func TestLine_now(t *testing.T) {
	p := newPlugin(genericiooptions.NewTestIOStreamsDiscard(), clocktesting.NewFakeClock(saturday()))
	p.zone = "UTC"
	due, _, err := p.parseTime([]string{"now"}, "")
	p.clock = clocktesting.NewFakeClock(saturday().Add(3 * time.Second))
	if got := (&request{plugin: p}).line(&cnatv1alpha1.At{}, due, nil); err != nil || !strings.HasSuffix(got, "(now)") {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestRunsAt(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 16, 48, 0, 0, berlin)
	for want, test := range map[string]struct {
		due   time.Time
		spec  cnatv1alpha1.AtSpec
		notes []string
	}{
		"at/x runs at Sun 22 Nov 2026 02:00 CET (in 9h 12m)":                  {due: time.Date(2026, 11, 22, 2, 0, 0, 0, berlin)},
		"at/x runs at Sat 21 Nov 2026 16:48:05 CET (in 5s): A note. Another":  {due: now.Add(5 * time.Second), notes: []string{"A note.", "Another."}},
		"at/x runs now, it was due at Sat 21 Nov 2026 15:48 CET (1h ago)":     {due: now.Add(-time.Hour)},
		"at/x runs now, it was due at Sat 21 Nov 2026 16:47:50 CET (10s ago)": {due: now.Add(-10 * time.Second), spec: cnatv1alpha1.AtSpec{StartingDeadlineSeconds: ptr.To[int64](10)}},
		"at/x does not run: it was due at Sat 21 Nov 2026 16:47:49 CET (11s ago), and its starting deadline is over": {
			due: now.Add(-11 * time.Second), spec: cnatv1alpha1.AtSpec{StartingDeadlineSeconds: ptr.To[int64](10)}},
		"at/x runs at Sat 21 Nov 2026 17:48 CET (in 1h), suspended": {due: now.Add(time.Hour), spec: cnatv1alpha1.AtSpec{Suspend: ptr.To(true)}},
	} {
		if got := runsAt(&cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: test.spec}, test.due, now, test.notes); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
