// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watchnamespace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		value string
		want  []string
		mode  string
	}{
		"an empty value means all namespaces":         {value: "", mode: "all namespaces"},
		"white space alone means all namespaces":      {value: " \t", mode: "all namespaces"},
		"one namespace":                               {value: "shop", want: []string{"shop"}, mode: "namespace shop"},
		"several are sorted":                          {value: "shop,bank", want: []string{"bank", "shop"}, mode: "namespaces bank, shop"},
		"white space and empty items are dropped":     {value: " shop , ,bank,", want: []string{"bank", "shop"}, mode: "namespaces bank, shop"},
		"a namespace that is named twice counts once": {value: "shop,bank,shop", want: []string{"bank", "shop"}, mode: "namespaces bank, shop"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tc.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Parse(%q): %s", tc.value, diff)
			}
			if mode := Mode(got); mode != tc.mode {
				t.Errorf("Mode: got %q, want %q", mode, tc.mode)
			}
		})
	}
}

func TestParse_invalid(t *testing.T) {
	long := strings.Repeat("a", 64)
	for value, name := range map[string]string{
		"Not_Valid": "Not_Valid", "shop, Not_Valid": "Not_Valid", "a b": "a b", "-shop": "-shop", long: long, "shop;bank": "shop;bank", "shop.bank": "shop.bank",
	} {
		_, err := Parse(value)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s: %q cannot be a namespace", EnvVar, name)) {
			t.Errorf("Parse(%q): got error %v", value, err)
		}
	}
}

// A script with unset variables must not serve all namespaces.
func TestParse_empty(t *testing.T) {
	for _, value := range []string{",", " , ", ",,"} {
		if got, err := Parse(value); err == nil || !strings.Contains(err.Error(), EnvVar) {
			t.Errorf("Parse(%q): got %q and error %v", value, got, err)
		}
	}
}
