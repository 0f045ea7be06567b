// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

func TestP9_backOff(t *testing.T) {
	for title, tc := range map[string]struct {
		seconds []int // when the creates were sent
		want    bool
	}{
		"it doubles":          {[]int{0, 1, 3, 7, 15}, false},
		"one batch":           {[]int{0, 0, 0, 1}, false},
		"it starts over":      {[]int{0, 1, 3, 30, 31}, false},
		"it does not grow":    {[]int{0, 1, 2, 3, 4}, true},
		"it restarts at once": {[]int{0, 1, 3, 7, 8}, true},
	} {
		c := NewChecker(false, nil, nil)
		for _, s := range tc.seconds {
			sent := time.Unix(int64(s), 0)
			call := &Call{Verb: "create", Resource: "pods", Owner: "owner"}
			c.writes = append(c.writes, Write{Call: call, Process: 1, Sent: sent, Clock: sent, Code: http.StatusForbidden})
		}
		c.Replay(nil)
		if got := len(c.Violations) > 0; got != tc.want {
			t.Errorf("%s: violated: %t: %v", title, got, c.Violations)
		}
	}
}

// The status of an At does not report that its pod was rejected, and its pod is rejected again. Before that, its clock may have moved back,
// so that it waited for its time.
func TestP9(t *testing.T) {
	for jump, want := range map[time.Duration]bool{0: true, -time.Minute: false} {
		waits := []metav1.Condition{{Type: cnatv1alpha1.ConditionScheduled, Status: metav1.ConditionTrue, Reason: "Waiting"}}
		rejected := func(second int64, clock time.Duration) Write {
			call := &Call{Verb: "create", Resource: "pods", Name: "a-pod", Owner: "a"}
			sent := time.Unix(second, 0)
			return Write{Call: call, Sent: sent, Clock: sent.Add(clock), Code: http.StatusForbidden}
		}
		status := Write{Call: &Call{Verb: "patch", Resource: "ats", Subresource: "status"}, Code: 200, UID: "a", Version: "2"}
		events := changes(at("a", cnatv1alpha1.AtStatus{}), at("a", cnatv1alpha1.AtStatus{Conditions: waits}))
		if got := violates("P9", []Write{rejected(1, 0), status, rejected(9, jump)}, events); got != want {
			t.Errorf("the clock jumps by %s: P9 is violated: %t", jump, got)
		}
	}
}
