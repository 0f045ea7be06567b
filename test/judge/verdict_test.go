// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Each event of a history is a word: b1 begins process 1 in pod 1, b1' begins another process in pod 1; e1:3 ends process 1 with 3; o1 is
// the death of process 1; n1:137 is what the kubelet says of pod 1.
func history(t *testing.T, due time.Time, words ...string) []event {
	t.Helper()
	kinds := map[byte]kind{'b': begun, 'e': ended, 'o': over, 'n': node}
	var events []event
	for i, word := range words {
		e := event{when: due.Add(time.Duration(i+1) * time.Second), kind: kinds[word[0]]}
		process, number, _ := strings.Cut(word[1:], ":")
		if number != "" {
			var err error
			if e.code, err = strconv.Atoi(number); err != nil {
				t.Fatal(err)
			}
		}
		e.process, e.uid, e.pod = process, process[:1], "pod-"+process[:1]
		events = append(events, e)
	}
	return events
}

func code(n int) *int { return &n }

func TestJudge(t *testing.T) {
	due := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		subject subject
		history []string
		want    []rule
	}{
		"a success": {subject{claim: claim{done: true, succeeded: true, attempts: 1, exitCode: code(0)}}, []string{"b1", "e1:0", "o1"}, nil},
		"a failure": {subject{claim: claim{done: true, attempts: 1, exitCode: code(3)}}, []string{"b1", "e1:3", "o1"}, nil},

		"a second pod without a retry": {subject{}, []string{"b1", "e1:3", "o1", "b2"}, []rule{twice}},
		"a retry of a failure":         {subject{retries: 1}, []string{"b1", "e1:3", "o1", "b2", "e2:0"}, nil},
		"one retry too many":           {subject{retries: 1}, []string{"b1", "e1:3", "b2", "e2:3", "b3"}, []rule{twice}},
		"a retry of a success":         {subject{retries: 1}, []string{"b1", "e1:0", "o1", "b2"}, []rule{twice}},
		"a retry of what still runs":   {subject{retries: 1}, []string{"b1", "b2", "n1:137", "o1"}, []rule{twice}},
		"a retry of what was lost":     {subject{retries: 1}, []string{"b1", "o1", "b2"}, []rule{twice}},
		"a retry of what was killed":   {subject{retries: 1}, []string{"b1", "o1", "b2", "n1:137"}, nil},
		"a retry of 255":               {subject{retries: 1}, []string{"b1", "o1", "n1:255", "b2"}, []rule{twice}},
		"two containers in one pod":    {subject{retries: 1}, []string{"b1", "e1:3", "o1", "b1'"}, []rule{twice}},
		"an end that is not the first": {subject{retries: 2}, []string{"b1", "e1:3", "b2", "o2", "b3"}, []rule{twice}},

		"no run, and so it claims":           {subject{claim: claim{done: true, didNotRun: true}}, nil, nil},
		"a run, and it claims that none was": {subject{claim: claim{done: true, didNotRun: true}}, []string{"b1", "o1"}, []rule{falsely, falsely}},
		"another pod did not run":            {subject{retries: 1, claim: claim{done: true, didNotRun: true, pod: "pod-2", attempts: 2}}, []string{"b1", "e1:3"}, nil},
		"success without an end":             {subject{claim: claim{done: true, succeeded: true, attempts: 1}}, []string{"b1", "o1"}, []rule{falsely}},
		"success of another pod":             {subject{retries: 1, claim: claim{done: true, succeeded: true, pod: "pod-1", attempts: 2}}, []string{"b1", "e1:3", "b2", "e2:0"}, []rule{falsely}},
		"another exit code":                  {subject{claim: claim{done: true, attempts: 1, exitCode: code(3)}}, []string{"b1", "e1:7"}, []rule{falsely}},
		"an exit code that no process had":   {subject{claim: claim{done: true, attempts: 1, exitCode: code(255)}}, []string{"b1", "o1"}, []rule{falsely}},
		"killed after its report":            {subject{claim: claim{done: true, attempts: 1, exitCode: code(137)}}, []string{"b1", "e1:0", "o1"}, nil},
		"killed before its report":           {subject{claim: claim{done: true, attempts: 1, exitCode: code(137)}}, nil, nil},
		"fewer attempts than pods":           {subject{retries: 1, claim: claim{done: true, attempts: 1}}, []string{"b1", "e1:3", "b2", "e2:3"}, []rule{falsely}},
		"what is not done claims nothing":    {subject{claim: claim{didNotRun: true}}, []string{"b1"}, nil},

		"begun early": {subject{due: due.Add(time.Minute)}, []string{"b1"}, []rule{early}},

		"not begun":                 {subject{settled: true}, nil, []rule{forgotten}},
		"not begun yet":             {subject{}, nil, nil},
		"not begun, with a reason":  {subject{settled: true, claim: claim{waitsFor: "Suspended"}}, nil, nil},
		"not begun, and deleted":    {subject{settled: true, gone: true}, nil, nil},
		"begun, and it never ends":  {subject{settled: true}, []string{"b1", "e1:0", "o1"}, []rule{forgotten}},
		"not begun, and it says so": {subject{settled: true, claim: claim{done: true, didNotRun: true}}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []rule
			for _, v := range judge(test.subject, history(t, due, test.history...)) {
				got = append(got, v.rule)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("rules %v, want %v", got, test.want)
			}
		})
	}
}
