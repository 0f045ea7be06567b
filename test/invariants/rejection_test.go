// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"net/http"
	"testing"
	"time"
)

func TestRejectedCreatesHaveABackOffThatDoubles(t *testing.T) {
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
