// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"strconv"
	"time"
)

// sizes are how much is measured.
type sizes struct {
	// reps is how often a timed run of each arm is repeated, and slow whether the arms that are slow, and known to be, are
	// measured too: once, in the first grid and the first burst, because 20 requests per second take their time.
	reps int
	slow bool
	// grids are the numbers of sets and pods per set of M1.
	grids [][2]int
	// sparse and bursts are the numbers of timers of M4.
	sparse int
	bursts []int
	// owned and foreign are the numbers of pods of M7.
	owned   []int
	foreign int
	// large is the number of large foreign pods of M7, bytes how large each is as JSON.
	large int
	bytes []int
	// sets is the number of sets of M8 to M10, timers that of the waiting Ats of M9, and rest how long M9 looks.
	sets, timers int
	rest         time.Duration
	// waiting and kwokSets are the numbers of waiting Ats and of PodSets run by kwok of M12, and due is that of the Ats within a
	// minute.
	waiting, kwokSets []int
	due               int
}

var (
	fullSizes = sizes{
		reps: 5, slow: true, grids: [][2]int{{100, 10}, {1000, 10}, {1000, 1}}, sparse: 30, bursts: []int{300, 1000, 10000},
		owned: []int{1000, 10000, 50000}, foreign: 50000, large: 20000, bytes: []int{6900}, sets: 1000, timers: 10000, rest: 10 * time.Minute,
		waiting: []int{10000, 30000, 100000}, kwokSets: []int{500, 1500, 5000}, due: 10000,
	}
	shortSizes = sizes{
		reps: 1, grids: [][2]int{{100, 10}}, sparse: 10, bursts: []int{300},
		owned: []int{1000}, foreign: 1000, large: 2000, bytes: []int{6900}, sets: 100, timers: 500, rest: 10 * time.Second,
		waiting: []int{200, 500}, kwokSets: []int{5, 10}, due: 60,
	}
)

// many objects are where a repetition takes minutes. There are no more than repsOfMany then, and one with more objects than that.
const many, repsOfMany = 10000, 3

// repsOf is how often a run with n objects is repeated.
func (s sizes) repsOf(n int) int {
	switch {
	case n > many:
		return 1
	case n == many:
		return min(s.reps, repsOfMany)
	default:
		return s.reps
	}
}

// or takes from others what these do not say.
func (s sizes) or(others sizes) sizes {
	others.reps, others.foreign = cmp.Or(s.reps, others.reps), cmp.Or(s.foreign, others.foreign)
	others.large = cmp.Or(s.large, others.large)
	others.due = cmp.Or(s.due, others.due)
	others.sets, others.timers, others.rest = cmp.Or(s.sets, others.sets), cmp.Or(s.timers, others.timers), cmp.Or(s.rest, others.rest)
	if s.grids != nil {
		others.grids = s.grids
	}
	for _, list := range []struct{ from, to *[]int }{
		{&s.bursts, &others.bursts}, {&s.owned, &others.owned}, {&s.bytes, &others.bytes}, {&s.waiting, &others.waiting}, {&s.kwokSets, &others.kwokSets},
	} {
		if *list.from != nil {
			*list.to = *list.from
		}
	}
	return others
}

// setGrids reads SETSxPODS,...
func (s *sizes) setGrids(value string) error {
	s.grids = nil
	for _, item := range list(value) {
		var grid [2]int
		if _, err := fmt.Sscanf(item, "%dx%d", &grid[0], &grid[1]); err != nil {
			return fmt.Errorf("%q is no SETSxPODS: %w", item, err)
		}
		s.grids = append(s.grids, grid)
	}
	return nil
}

// numbers reads a comma list of numbers.
func numbers(into *[]int) func(string) error {
	return func(value string) error {
		*into = nil
		for _, item := range list(value) {
			n, err := strconv.Atoi(item)
			if err != nil {
				return err
			}
			*into = append(*into, n)
		}
		return nil
	}
}
