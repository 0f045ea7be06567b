// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is what the file server has instead of a program.
const program = "#!/bin/sh\necho it runs\n"

func sum(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

// archive returns a compressed archive with the program at a path.
func archive(t *testing.T, path string) string {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	files := tar.NewWriter(compressed)
	if err := files.WriteHeader(&tar.Header{Name: path, Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	for _, do := range []func() error{
		func() error { _, err := files.Write([]byte(program)); return err }, files.Close, compressed.Close,
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func TestDownload(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed, so nothing can be downloaded")
	}
	packed := archive(t, "etcd-v3/etcd")
	server := httptest.NewServer(files{
		"/good/tool":         program,
		"/good/tool.sha256":  sum(program),
		"/wrong/tool":        program + "echo and something else\n",
		"/wrong/tool.sha256": sum(program),
		"/unsigned/tool":     program,
		"/etcd/etcd.tar.gz":  packed,
		"/etcd/SHA256SUMS":   sum("other") + "  other.tar.gz\n" + sum(packed) + "  etcd.tar.gz\n",
		"/bad/etcd.tar.gz":   packed,
		"/bad/SHA256SUMS":    sum("other") + "  other.tar.gz\n",
	})
	defer server.Close()
	for path, want := range map[string]string{
		"/good/tool":                     "downloaded tool\n",
		"/wrong/tool":                    "the checksum of " + server.URL + "/wrong/tool is wrong: tool is compiled instead\n",
		"/unsigned/tool":                 "",
		"/etcd/etcd.tar.gz|etcd-v3/etcd": "downloaded tool\n",
		"/bad/etcd.tar.gz|etcd-v3/etcd":  "",
	} {
		t.Run(path, func(t *testing.T) {
			checkDownload(t, server.URL+path, want)
		})
	}
}

// checkDownload runs download.sh and checks that it prints this text. It must install the program if and only if it prints that it does.
func checkDownload(t *testing.T, url, want string) {
	t.Helper()
	target := filepath.Join(t.TempDir(), "bin", "tool")
	output, err := exec.CommandContext(t.Context(), filepath.Join(root, "hack/download.sh"), target, "tool", url).CombinedOutput()
	if !strings.Contains(string(output), want) || (want == "" && len(output) > 0) {
		t.Errorf("it printed %q, want %q", output, want)
	}
	installed := strings.HasPrefix(want, "downloaded")
	if installed != (err == nil) {
		t.Errorf("it ended with %v", err)
	}
	if !installed {
		if _, err := os.Stat(target); err == nil {
			t.Error("it installed the program")
		}
		return
	}
	if printed, err := exec.CommandContext(t.Context(), target).CombinedOutput(); err != nil || string(printed) != "it runs\n" {
		t.Errorf("the program printed %q: %v", printed, err)
	}
}

// files serves files by path.
type files map[string]string

func (f files) ServeHTTP(answer http.ResponseWriter, req *http.Request) {
	content, ok := f[req.URL.Path]
	if !ok {
		http.NotFound(answer, req)
		return
	}
	_, _ = answer.Write([]byte(content)) // The client notices an incomplete answer.
}
