// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package timespec_test

import (
	_ "embed"
	"strings"
	"testing"
	"time"

	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/timespec"
)

//go:embed testdata/at.tsv
var recorded string

// TestParse_debian compares the package with the recorded answers of at(1). The comment of the table has the reasons
// for the differences.
func TestParse_debian(t *testing.T) {
	rows := 0
	for line := range strings.Lines(recorded) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		rows++
		words, want := columns[2], columns[3]
		if len(columns) == 6 {
			if want = columns[4]; want == columns[3] || !strings.Contains(recorded, "\n# "+columns[5]+": ") {
				t.Errorf("%q differs without a reason", words)
			}
		}
		now := instant(t, columns[1]).In(zone(t, columns[0]))
		got := "-"
		if when, _, err := timespec.Parse(strings.Fields(words), now, now.Location()); err == nil {
			got = when.UTC().Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q at %s in %s: got %s, want %s", words, columns[1], columns[0], got, want)
		}
	}
	if rows < 600 {
		t.Errorf("%d rows", rows)
	}
}
