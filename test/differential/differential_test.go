// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/redhat/podset-operator/test/sim"
)

// perSequence is the number of requests in a sequence.
const perSequence = 30

// The simulated store and the API server give the same responses and the same watch events.
func TestStore(t *testing.T) {
	numbers := []uint64{*seed}
	if *seed == 0 {
		numbers = nil
		for n := range *sequences {
			numbers = append(numbers, n+1)
		}
	}
	for _, number := range numbers {
		t.Run(strconv.FormatUint(number, 10), func(t *testing.T) {
			t.Parallel()
			compare(t, number)
		})
	}
}

// compare sends one sequence to both servers. It ends with the first difference, because later ones may follow from it.
func compare(t *testing.T, number uint64) {
	c := choices{rand.New(rand.NewPCG(number, 0))} //nolint:gosec // reproducible
	simulated, wanted := &side{server: simulated{sim.NewStore(time.Now)}}, &side{server: newAPIServer(t)}
	var log []string
	different := -1 // the number of events before an intentional difference
	for i := range perSequence {
		before, _ := simulated.events() // There is no error.
		r := c.request(simulated.seen)
		log = append(log, fmt.Sprintf("%2d %s", i, r.about))
		want, got := answer(r, wanted), answer(r, simulated)
		log = append(log, "   "+want)
		if want == got {
			continue
		}
		if !isIntentional(r.about, want, got) {
			t.Errorf("%s\nthe API server: %s\nthe simulation: %s", strings.Join(log, "\n"), want, got)
			return
		}
		different = len(before)
		break
	}
	if *seed != 0 {
		fmt.Println(strings.Join(log, "\n"))
	}
	want, got := history(t, wanted), history(t, simulated)
	if different >= 0 {
		want, got = want[:min(different, len(want))], got[:different]
	}
	if !slices.Equal(want, got) {
		t.Errorf("%s\nevents:\n%s", strings.Join(log, "\n"), firstDifference(want, got))
	}
}

// answer sends a request and returns the normal form of the response.
func answer(r request, s *side) string {
	objects, err := r.send(s)
	if err != nil {
		return normalError(err)
	}
	text := "ok"
	slices.SortFunc(objects, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	for _, object := range objects {
		s.note(object)
		text += " " + s.normal(object)
	}
	return text
}

// history returns the events, and which of them each response showed.
func history(t *testing.T, s *side) []string {
	events, err := s.events()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	rank := map[string]int{}
	for i, e := range events {
		rank[e.Object.GetResourceVersion()] = i + 1
		lines = append(lines, fmt.Sprintf("%s %T %s", e.Kind, e.Object, s.normal(e.Object)))
	}
	for _, object := range s.seen {
		lines = append(lines, fmt.Sprintf("a response shows %s after event %d", object.GetName(), rank[object.GetResourceVersion()]))
	}
	return lines
}

func firstDifference(want, got []string) string {
	for i := range max(len(want), len(got)) {
		w, g := "nothing", "nothing"
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w != g {
			return fmt.Sprintf("%d of %d and %d\nthe API server: %s\nthe simulation: %s", i, len(want), len(got), w, g)
		}
	}
	return ""
}
