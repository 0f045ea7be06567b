// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestTheDemoUsesAnInstalledKubectlThatFitsTheCluster(t *testing.T) {
	script, err := filepath.Abs(filepath.Join(root, "hack/demo/installed-kubectl.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		kubectl string // what the program prints, or none
		fits    bool
	}{
		{`{"clientVersion": {"major": "1", "minor": "37"}}`, true},
		{`{"clientVersion": {"major": "1", "minor": "36+"}}`, true},
		{`{"clientVersion": {"major": "1", "minor": "38"}}`, true},
		{`{"clientVersion": {"major": "1", "minor": "35"}}`, false},
		{`{"clientVersion": {"major": "1", "minor": "39"}}`, false},
		{`error: unknown flag`, false},
		{"", false},
	} {
		dir := t.TempDir()
		if test.kubectl != "" {
			// kubectl prints each field on a line.
			fake := "#!/bin/sh\ncat <<'END' | tr '{,' '\\n\\n'\n" + test.kubectl + "\nEND\n"
			if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(fake), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, tool := range []string{"bash", "sed", "head", "cat", "tr", "env", "sh"} {
			path, err := exec.LookPath(tool)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(path, filepath.Join(dir, tool)); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), script, "37")
		cmd.Env = []string{"PATH=" + dir}
		if err := cmd.Run(); (err == nil) != test.fits {
			t.Errorf("kubectl that prints %q: %v", test.kubectl, err)
		}
	}
}
