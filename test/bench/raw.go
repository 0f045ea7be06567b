// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample is one measurement: a value, or a distribution.
type sample struct {
	Metric string    // M1 to M13, or calls
	Case   string    // what was done
	Arm    string    // by whom
	Unit   string    // of the values
	Run    int       // of which run of the benchmark
	Rep    int       // the repetition
	Load   float64   // the load average of the machine during the measurement
	Steal  float64   // the share of the processors' time that the host of a virtual machine took, from 0 to 1
	Values []float64 // one for a value, many for a distribution
}

// key identifies what a sample is a repetition of.
func (s sample) key() [4]string { return [4]string{s.Metric, s.Case, s.Arm, s.Unit} }

// benchmarkRun is a run of the benchmark. Later runs on the same machine, of the same versions, continue it.
type benchmarkRun struct {
	Started time.Time
	Machine machine
}

// raw is all that was measured.
type raw struct {
	Runs []benchmarkRun
	// Agents are the user agents of each arm.
	Agents  map[string][]string
	Samples []sample
}

// begin starts a run, or continues an earlier one on the same machine and of the same versions. It returns the number of the run.
func (r *raw) begin(started time.Time, on machine) int {
	if i := slices.IndexFunc(r.Runs, func(earlier benchmarkRun) bool { return reflect.DeepEqual(earlier.Machine, on) }); i >= 0 {
		return i
	}
	r.Runs = append(r.Runs, benchmarkRun{started, on})
	return len(r.Runs) - 1
}

// put adds a sample, or replaces that of the same repetition. It keeps the other repetitions of the same run, but not those of another
// one.
func (r *raw) put(s sample) {
	r.Samples = slices.DeleteFunc(r.Samples, func(earlier sample) bool { return earlier.key() == s.key() && earlier.Run != s.Run })
	i := slices.IndexFunc(r.Samples, func(earlier sample) bool { return earlier.key() == s.key() && earlier.Rep == s.Rep })
	if i >= 0 {
		r.Samples[i] = s
	} else {
		r.Samples = append(r.Samples, s)
	}
}

// dropCalls removes the calls of an arm in a phase, before they are measured again: a call that is not made any more has no new figure.
func (r *raw) dropCalls(phase, arm string) {
	r.Samples = slices.DeleteFunc(r.Samples, func(earlier sample) bool {
		return earlier.Metric == callsMetric && earlier.Arm == arm && strings.HasPrefix(earlier.Case, callCase(phase, ""))
	})
}

// dropMetric removes all figures of a metric, before others are measured that do not belong together with them.
func (r *raw) dropMetric(metric string) {
	r.Samples = slices.DeleteFunc(r.Samples, func(earlier sample) bool { return earlier.Metric == metric })
}

// callCase is the case of a call in a phase.
func callCase(phase, call string) string { return phase + ": " + call }

// series is how a file stores the repetitions of a measurement: one line for all of them.
type series struct {
	Metric, Case, Arm, Unit string
	Run                     int
	Load                    []float64
	Steal                   []float64 `json:",omitempty"` // absent if there was none
	Reps                    [][]float64
}

// rawFile is the file of raw figures. Each series is on its own line, so that a difference between two files is readable.
type rawFile struct {
	Runs   []benchmarkRun
	Agents map[string][]string
	Series []series
}

// readRaw reads a file of raw figures.
func readRaw(path string) (*raw, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file rawFile
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	r := &raw{Runs: file.Runs, Agents: file.Agents}
	for _, line := range file.Series {
		for rep, values := range line.Reps {
			s := sample{
				Metric: line.Metric, Case: line.Case, Arm: line.Arm, Unit: line.Unit, Run: line.Run, Rep: rep, Values: values,
			}
			if rep < len(line.Load) {
				s.Load = line.Load[rep]
			}
			if rep < len(line.Steal) {
				s.Steal = line.Steal[rep]
			}
			r.Samples = append(r.Samples, s)
		}
	}
	return r, nil
}

// write writes a file of raw figures.
func (r *raw) write(path string) error {
	var lines []*series
	byKey := map[[4]string]*series{}
	for _, s := range r.Samples {
		line := byKey[s.key()]
		if line == nil {
			line = &series{Metric: s.Metric, Case: s.Case, Arm: s.Arm, Unit: s.Unit, Run: s.Run}
			byKey[s.key()] = line
			lines = append(lines, line)
		}
		line.Load, line.Steal = append(line.Load, s.Load), append(line.Steal, s.Steal)
		line.Reps = append(line.Reps, significant(s.Values))
	}
	head, err := json.Marshal(rawFile{Runs: r.Runs, Agents: r.Agents, Series: []series{}})
	if err != nil {
		return err
	}
	data := bytes.TrimSuffix(head, []byte("]}"))
	for i, line := range lines {
		if slices.Max(line.Steal) == 0 {
			line.Steal = nil
		}
		text, err := json.Marshal(line)
		if err != nil {
			return err
		}
		if i > 0 {
			data = append(data, ',')
		}
		data = append(append(data, '\n'), text...)
	}
	return os.WriteFile(path, append(data, "\n]}\n"...), 0o644)
}

// significant rounds values to four significant digits. No measurement here repeats more exactly than that.
func significant(values []float64) []float64 {
	rounded := make([]float64, len(values))
	for i, v := range values {
		// Formatting is exact where a multiplication by a power of ten is not.
		short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
		if err != nil || math.Abs(v) >= 1000 {
			short = math.Round(v)
		}
		rounded[i] = short
	}
	return rounded
}

// compact replaces each long distribution by its minimum and its percentiles. The quantiles in the tables stay the same.
func (r *raw) compact() {
	for i, s := range r.Samples {
		if len(s.Values) > percentiles+1 {
			r.Samples[i].Values = inPercentiles(s.Values)
		}
	}
}

const percentiles = 100

// inPercentiles returns the minimum of a distribution and its percentiles from 1 to 100.
func inPercentiles(values []float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	short := make([]float64, percentiles+1)
	for i := range short {
		short[i] = quantile(sorted, float64(i)/percentiles)
	}
	return short
}
