// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/pflag"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/timespec"
)

// limitOptions are the flags for retries, deadlines, and the time to live.
type limitOptions struct {
	retries                      int32
	retryExitCodes               []int32
	deadline, startDeadline, ttl durationValue
	uninterrupted                bool
}

func (o *limitOptions) addFlags(flags *pflag.FlagSet) {
	flags.Int32Var(&o.retries, "retries", 0, "How often a run that failed is tried again: `N`, 0 to 10.")
	flags.Int32SliceVar(&o.retryExitCodes, "retry-exit-codes", nil, "Exit `CODES` that --retries tries again, such as 75; the default is all.")
	flags.Lookup("retry-exit-codes").DefValue = ""
	flags.Var(&o.deadline, "deadline", "How long the run may take, such as 30m; no limit by default. Then the command gets SIGTERM and, after the grace period of the pod (30s), SIGKILL.")
	flags.BoolVar(&o.uninterrupted, "uninterrupted", false, "Make drains, node upgrades, and autoscalers wait until the run ends. Requires --deadline.")
	flags.Var(&o.startDeadline, "starting-deadline", "How late the run may start, such as 10m; no limit by default.")
	flags.Var(&o.ttl, "ttl", "How long the At is kept after its end, such as 7d; the default is until it is deleted.")
}

// set sets the fields whose flags were given. The others stay as they are.
func (o *limitOptions) set(flags *pflag.FlagSet, spec *cnatv1alpha1.AtSpec) error {
	for _, limit := range []struct {
		flag        string
		value       durationValue
		least, most int64 // in seconds
		set         func(seconds int64)
	}{
		{"deadline", o.deadline, 1, math.MaxInt32, func(s int64) { spec.ActiveDeadlineSeconds = &s }},
		{"starting-deadline", o.startDeadline, 0, 9e9, func(s int64) { spec.StartingDeadlineSeconds = &s }},
		{"ttl", o.ttl, 0, math.MaxInt32, func(s int64) { ttl := int32(s); spec.TTLSecondsAfterFinished = &ttl }},
	} {
		value := time.Duration(limit.value)
		seconds := int64(value / time.Second)
		switch {
		case !flags.Changed(limit.flag):
		case seconds < limit.least || seconds > limit.most || value%time.Second != 0:
			return fmt.Errorf("invalid --%s %s: must be a whole number of seconds from %ds to %s", limit.flag, value, limit.least, timespec.FormatSeconds(limit.most))
		default:
			limit.set(seconds)
		}
	}
	if flags.Changed("uninterrupted") {
		spec.Uninterrupted = &o.uninterrupted
	}
	if flags.Changed("retries") {
		spec.BackoffLimit = &o.retries
	}
	if !flags.Changed("retry-exit-codes") {
		return nil
	}
	slices.Sort(o.retryExitCodes)
	if spec.BackoffLimit == nil || *spec.BackoffLimit == 0 {
		return errors.New("--retry-exit-codes requires --retries: without it, nothing is tried again")
	}
	spec.RetryExitCodes = slices.Compact(o.retryExitCodes)
	return nil
}
