// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// row is a line of testdata: the response of both admission and the operator to an input, and the result.
type row struct {
	ok    bool
	input string
	words []string
}

func rows(t testing.TB, path string) []row {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		verdict, rest, _ := strings.Cut(line, " ")
		if verdict == "#" || verdict == "" {
			continue
		}
		var fields []string
		for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				t.Fatalf("%s: %s: %v", path, line, err)
			}
			field, _ := strconv.Unquote(quoted)
			fields = append(fields, field)
			rest = rest[len(quoted):]
		}
		rows = append(rows, row{ok: verdict == "ok", input: fields[0], words: fields[1:]})
	}
	return rows
}

func apiTypes(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("../../../api/cnat/v1alpha1/at_types.go")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// wantRule fails unless admission applies this pattern with this message.
func wantRule(t *testing.T, rule, message string) {
	t.Helper()
	marker := "+kubebuilder:validation:XValidation:rule=`" + rule + "`,message=`" + message + "`\n"
	if !strings.Contains(apiTypes(t), marker) {
		t.Errorf("admission and the operator differ: at_types.go has no marker\n%s", marker)
	}
}
