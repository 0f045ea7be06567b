// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/operator-lib/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestUpgradeGate(t *testing.T) {
	type step struct {
		after   time.Duration
		waiting bool
		want    metav1.ConditionStatus
	}
	for title, steps := range map[string][]step{
		"open while nothing is due": {{0, false, "True"}, {time.Hour, false, "True"}},
		"closed while an At is due soon, then open": {
			{0, true, "False"}, {time.Minute, true, "False"}, {time.Second, false, "True"}, {time.Second, true, "False"},
		},
		"open after ten minutes, however many Ats come": {
			{0, true, "False"},
			{10*time.Minute - time.Second, true, "False"}, {time.Second, true, "True"},
			{time.Hour, true, "True"}, {time.Second, false, "True"}, {time.Second, true, "False"},
		},
		"a moment without an At starts the ten minutes again": {
			{0, true, "False"}, {9 * time.Minute, false, "True"}, {time.Second, true, "False"}, {9 * time.Minute, true, "False"},
		},
	} {
		now, gate := time.Now(), upgradeGate{}
		for i, s := range steps {
			now = now.Add(s.after)
			if got, reason, message := gate.decide(now, s.waiting); got != s.want || reason == "" || message == "" {
				t.Errorf("%s: step %d: got %s, %s, %q", title, i, got, reason, message)
			}
		}
	}
}

// recorded is an OperatorCondition that remembers what it was set to, and rejects the first write.
type recorded struct {
	set chan metav1.ConditionStatus
	err error
}

func (*recorded) Get(context.Context) (*metav1.Condition, error) { return nil, nil }

func (r *recorded) Set(_ context.Context, status metav1.ConditionStatus, _ ...conditions.Option) error {
	if err := r.err; err != nil {
		r.err = nil
		r.set <- metav1.ConditionUnknown
		return err
	}
	r.set <- status
	return nil
}

func TestUpgradeable(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now().Truncate(time.Second))
	due := clock.Now().Add(90 * time.Second)
	condition := &recorded{set: make(chan metav1.ConditionStatus), err: errors.New("conflict")}
	waiting := func(context.Context) (bool, error) {
		now := clock.Now()
		return !due.Before(now) && !due.After(now.Add(DueSoon)), nil
	}
	u := &upgradeable{waiting: waiting, condition: condition, clock: clock}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- u.Start(ctx) }()

	got := []metav1.ConditionStatus{<-condition.set} // rejected
	for len(got) < 4 {
		select {
		case status := <-condition.set:
			got = append(got, status)
		case <-time.After(time.Millisecond):
			clock.Step(upgradeInterval)
		}
	}
	if diff := cmp.Diff([]metav1.ConditionStatus{"Unknown", "True", "False", "True"}, got); diff != "" {
		t.Errorf("reported (-want +got): %s", diff)
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// A manager that stops lets an upgrade begin, which may fix the next one. It writes only what it must correct.
func TestUpgradeable_end(t *testing.T) {
	for title, tc := range map[string]struct {
		waiting bool
		err     error // of the first report
		want    []metav1.ConditionStatus
	}{
		"after False":                        {true, nil, []metav1.ConditionStatus{"False", "True"}},
		"after False that may not be stored": {true, errors.New("timeout"), []metav1.ConditionStatus{"Unknown", "True"}},
		"after True":                         {false, nil, []metav1.ConditionStatus{"True"}},
		"after True that may not be stored":  {false, errors.New("timeout"), []metav1.ConditionStatus{"Unknown"}},
	} {
		t.Run(title, func(t *testing.T) {
			condition := &recorded{set: make(chan metav1.ConditionStatus, 9), err: tc.err}
			clock := clocktesting.NewFakeClock(time.Now())
			u := &upgradeable{waiting: func(context.Context) (bool, error) { return tc.waiting, nil }, condition: condition, clock: clock}
			ctx, cancel := context.WithCancel(t.Context())
			stopped := make(chan error, 1)
			go func() { stopped <- u.Start(ctx) }()
			got := []metav1.ConditionStatus{<-condition.set}
			cancel()
			if err := <-stopped; err != nil {
				t.Error(err)
			}
			close(condition.set)
			for status := range condition.set {
				got = append(got, status)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("reported (-want +got): %s", diff)
			}
		})
	}
}

func TestAdd(t *testing.T) {
	t.Setenv(operatorConditionEnvVar, "")
	if err := Add(nil, nil, nil, nil); err != nil { // It adds nothing to the manager.
		t.Error(err)
	}
	if _, err := os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/namespace"); err == nil {
		t.Skip("the test runs in a cluster")
	}
	t.Setenv(operatorConditionEnvVar, "podset-operator.v0.1.0")
	if err := Add(nil, &rest.Config{}, nil, nil); err == nil || !strings.Contains(err.Error(), "finding the OperatorCondition: ") {
		t.Errorf("got %v, want that the namespace of the process is unknown", err)
	}
}
