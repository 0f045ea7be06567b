// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
)

// quantile of sorted values, by the nearest rank.
func quantile(sorted []float64, q float64) float64 {
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[max(i, 0)]
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// number writes a value with three digits that count.
func number(v float64) string {
	switch {
	case v == math.Trunc(v) && math.Abs(v) < 1000, math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// describeValues writes a value, or the quantiles of a distribution.
func describeValues(values []float64) string {
	switch len(values) {
	case 0:
		return "none"
	case 1:
		return number(values[0])
	}
	sorted := slices.Sorted(slices.Values(values))
	return describeQuantiles(func(q float64) float64 { return quantile(sorted, q) }, len(sorted), sorted[len(sorted)-1])
}

// tailSamples is how many samples a p99 needs. Of fewer samples, it is the largest.
const tailSamples = 100

// describeQuantiles writes the quantiles of a distribution.
func describeQuantiles(at func(q float64) float64, samples int, largest float64) string {
	tail := ""
	if samples >= tailSamples {
		tail = ", p99 " + number(at(.99))
	}
	return fmt.Sprintf("p50 %s%s, max %s", number(at(.5)), tail, number(largest))
}
