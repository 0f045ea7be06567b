// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func TestDescribe(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "example.com/main"}, Deps: []*debug.Module{
		{Path: "example.com/a", Version: "v1.0.0"},
		{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/new", Version: "v2.0.0"}},
	}}
	doc := describe("manager", "v0.1.0", info, sha256.Sum256([]byte("x")), time.Unix(0, 0).UTC())
	content, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"spdxVersion":"SPDX-2.3"`, `"created":"1970-01-01T00:00:00Z"`, `"pkg:golang/stdlib@1.26.8"`, `"pkg:golang/example.com/a@v1.0.0"`,
		`"pkg:golang/example.com/new@v2.0.0"`, `"checksumValue":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"`,
		`"documentNamespace":"https://example.com/main/sbom/2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"`,
	} {
		if !strings.Contains(string(content), want) {
			t.Errorf("the document has no %s:\n%s", want, content)
		}
	}
	if strings.Contains(string(content), "example.com/old") {
		t.Error("a module that was replaced is not in the binary")
	}
	ids := map[string]bool{doc.ID: true}
	for _, p := range doc.Packages {
		if ids[p.ID] {
			t.Errorf("two elements have the ID %s", p.ID)
		}
		ids[p.ID] = true
	}
	for _, r := range doc.Relationships {
		if !ids[r.Element] || !ids[r.Related] {
			t.Errorf("%s %s %s names an unknown element", r.Element, r.Type, r.Related)
		}
	}
}
