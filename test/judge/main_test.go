// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The judge does not share code with what it judges: it may only import the API.
func TestImports(t *testing.T) {
	output, err := exec.Command("go", "list", "-deps", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/redhat/podset-operator/"
	found := 0
	for imported := range strings.Lines(string(output)) {
		name, ours := strings.CutPrefix(strings.TrimSpace(imported), module)
		if !ours {
			continue
		}
		found++
		if !strings.HasPrefix(name, "api/") && !strings.HasPrefix(name, "test/judge") {
			t.Errorf("the judge imports %s", name)
		}
	}
	if found < 3 {
		t.Errorf("go list shows %d packages of this module:\n%s", found, output)
	}
}

// Each seeded defect is a patch of the present tree. `make judge DEFECT=NAME` builds the operator with it.
func TestDefects(t *testing.T) {
	patches, err := filepath.Glob("defects/*.patch")
	if err != nil {
		t.Fatal(err)
	}
	if len(patches) == 0 {
		t.Fatal("there are no defects")
	}
	for _, patch := range patches {
		check := exec.Command("git", "apply", "--check", filepath.Join("test/judge", patch))
		check.Dir = "../.."
		if output, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s does not apply: %v\n%s", patch, err, output)
		}
	}
}
