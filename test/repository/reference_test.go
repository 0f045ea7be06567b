// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	conditionOrReason = regexp.MustCompile(`(?m)^\t(?:Condition|Reason)\w+ += "(\w+)"`)
	eventReason       = regexp.MustCompile(`\bevent\.(?:Normal|Warning)\("(\w+)"`)
	labelOrAnnotation = regexp.MustCompile(`(?m)^\t(?:const )?((?:Label|Annotation)\w* += "[^"]+)"`)
	camelCaseWord     = regexp.MustCompile("`([A-Z]\\w+)`")
	lostLine          = regexp.MustCompile(`(?m)^[ \t]*//[ \t]*\+[^a-z].*`)
)

// matches returns the matches of a pattern's first group in the files of a glob, without tests.
func matches(t *testing.T, pattern *regexp.Regexp, files string) []string {
	t.Helper()
	var found []string
	for _, file := range glob(t, files) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, match := range pattern.FindAllStringSubmatch(string(read(t, file)), -1) {
			found = append(found, match[1])
		}
	}
	if len(found) < 3 {
		t.Fatalf("%s has only %q", files, found)
	}
	return found
}

// listedIn returns the CamelCase words in the first and third column of the rows of a section that begin with a text.
func listedIn(page, heading, row string) []string {
	_, section, _ := strings.Cut(page, "\n"+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var words []string
	for line := range strings.Lines(section) {
		if columns := append(strings.Split(line, " | "), "", ""); strings.HasPrefix(line, row) {
			for _, match := range camelCaseWord.FindAllStringSubmatch(columns[0]+columns[2], -1) {
				words = append(words, match[1])
			}
		}
	}
	return words
}

// The tables of docs/reference.md list exactly the conditions, reasons, and events of each kind. The generators take a comment line of the
// types that begins with + for a marker, and drop it from docs/api.md, the CRDs, and the ClusterServiceVersion.
func TestReference(t *testing.T) {
	page := string(read(t, "docs/reference.md"))
	for _, kind := range []struct{ name, heading, types, rules string }{
		{"PodSet", "## Conditions of a PodSet", "api/app/v1alpha1/*.go", "internal/podset/*.go"},
		{"At", "## Conditions of an At", "api/cnat/v1alpha1/*.go", "internal/at/*.go"},
	} {
		t.Run(kind.name, func(t *testing.T) {
			for _, file := range glob(t, kind.types) {
				for _, line := range lostLine.FindAllString(string(read(t, file)), -1) {
					t.Errorf("%s: the generators drop the line%s", file, line)
				}
			}
			reasons, events := matches(t, conditionOrReason, kind.types), matches(t, eventReason, kind.rules)
			inConditions, inEvents := listedIn(page, kind.heading, "| `"), listedIn(page, "## Events", "| "+kind.name+" |")
			for _, reason := range reasons {
				if !slices.Contains(inConditions, reason) {
					t.Errorf("the table %q does not list %s", kind.heading, reason)
				}
			}
			for _, event := range events {
				if !slices.Contains(inEvents, event) {
					t.Errorf("the table of events does not list %s", event)
				}
			}
			for _, listed := range slices.Concat(inConditions, inEvents) {
				if !slices.Contains(reasons, listed) && !slices.Contains(events, listed) {
					t.Errorf("docs/reference.md lists %s, which does not exist", listed)
				}
			}
		})
	}
}

// The table of labels and annotations lists each one that the operator knows. The names of annotations are shortened after the first of a row.
func TestReference_labels(t *testing.T) {
	_, section, _ := strings.Cut(string(read(t, "docs/reference.md")), "\n## Labels and annotations of pods\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var found []string
	for _, file := range []string{"api/app/v1alpha1/*.go", "api/cnat/v1alpha1/*.go", "internal/pods/*.go"} {
		for _, path := range glob(t, file) {
			for _, match := range labelOrAnnotation.FindAllStringSubmatch(string(read(t, path)), -1) {
				found = append(found, match[1])
			}
		}
	}
	if len(found) < 10 {
		t.Fatalf("there are only %q", found)
	}
	for _, declared := range found {
		constant, key, _ := strings.Cut(declared, "\"")
		_, short, _ := strings.Cut(key, "/")
		listed := strings.Contains(section, "| label `"+key+"`")
		if strings.HasPrefix(constant, "Annotation") {
			listed = strings.Contains(section, "`"+key) || strings.Contains(section, " `"+short+"`")
		}
		if !listed {
			t.Errorf("docs/reference.md does not list %s", declared)
		}
	}
}
