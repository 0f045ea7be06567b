// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redhat/podset-operator/internal/kube/process"
)

func pages(t *testing.T) []string {
	t.Helper()
	return glob(t, "*.md", "docs/*.md", "docs/*/*.md", "examples/*.md", "charts/*/*.md")
}

// The make targets, scripts, and manifests in blocks of commands exist.
func TestCommands(t *testing.T) {
	targets := makeTargets(t)
	for _, page := range pages(t) {
		for _, b := range blocks(string(read(t, page))) {
			if !b.hasCommands() {
				continue
			}
			for line := range strings.Lines(b.text) {
				for _, problem := range problemsOf(strings.TrimSpace(line), targets) {
					t.Errorf("%s:%d: %s", page, b.line, problem)
				}
			}
		}
	}
}

// At least 30 blocks are executed. Fewer would mean that the blocks are not found.
func TestBlocks(t *testing.T) {
	executed := 0
	for _, page := range pages(t) {
		for _, b := range blocks(string(read(t, page))) {
			if problem := b.problem(); problem != "" {
				t.Errorf("%s:%d: %s", page, b.line, problem)
			}
			if b.isExecuted() {
				executed++
			}
		}
	}
	if executed < 30 {
		t.Errorf("only %d blocks are executed", executed)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile("(?m)^#+ (.+)$")
	unsafe  = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// anchors returns the anchors that GitHub gives to the headings of a page.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(page, -1) {
		anchor := strings.ReplaceAll(unsafe.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-")
		found[anchor] = true
	}
	return found
}

// brokenLinks returns the links of a page to files and headings that do not exist.
func brokenLinks(t *testing.T, page, content string) []string {
	t.Helper()
	var broken []string
	for _, match := range link.FindAllStringSubmatch(content, -1) {
		target, anchor, _ := strings.Cut(match[1], "#")
		// A page that is also read elsewhere, such as that of the chart, has the address of the file.
		if file, ok := strings.CutPrefix(target, "https://github.com/redhat/podset-operator/blob/main/"); ok {
			target = strings.Repeat("../", strings.Count(page, "/")) + file
		}
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		path := page
		if target != "" {
			path = filepath.Join(filepath.Dir(page), target)
		}
		linked, err := os.ReadFile(filepath.Join(root, path))
		info, statErr := os.Stat(filepath.Join(root, path))
		switch {
		case statErr != nil:
			broken = append(broken, "there is no "+match[1])
		case anchor != "" && !info.IsDir() && (err != nil || !anchors(string(linked))[anchor]):
			broken = append(broken, "there is no heading "+match[1])
		}
	}
	return broken
}

func TestLinks(t *testing.T) {
	for _, page := range glob(t, "charts/*/*.md") { // helm show readme, and Artifact Hub
		if relative := regexp.MustCompile(`\]\([^:)#]+[)#]`).FindString(string(read(t, page))); relative != "" {
			t.Errorf("%s is read outside of the repository, so its links have addresses: %s", page, relative)
		}
	}
	for _, page := range pages(t) {
		for _, problem := range brokenLinks(t, page, string(read(t, page))) {
			t.Errorf("%s: %s", page, problem)
		}
	}
}

func TestIndex(t *testing.T) {
	index := string(read(t, "docs/README.md"))
	for _, page := range glob(t, "docs/*.md", "docs/*/*.md") {
		if name := strings.TrimPrefix(page, "docs/"); name != "README.md" && !strings.Contains(index, "("+name) {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}

func TestConfiguration(t *testing.T) {
	page := string(read(t, "docs/configuration.md"))
	flags := regexp.MustCompile(`flags\.(?:\w*Var\(&[\w.]+, |Func\()"([\w-]+)"`).FindAllStringSubmatch(string(read(t, "main.go")), -1)
	if len(flags) < 5 {
		t.Fatalf("main.go has %d flags", len(flags))
	}
	for _, flag := range flags {
		if !strings.Contains(page, "| `--"+flag[1]+"` | ") {
			t.Errorf("docs/configuration.md does not describe --%s", flag[1])
		}
	}
	if variable := process.EnvVar("leader-elect"); !strings.Contains(page, "`"+variable+"` is the variable of `--leader-elect`") {
		t.Errorf("docs/configuration.md does not name %s", variable)
	}
	code := ""
	for _, file := range glob(t, "*.go", "controllers/*.go", "internal/kube/*/*.go", "internal/watchnamespace/*.go") {
		if !strings.HasSuffix(file, "_test.go") {
			code += string(read(t, file))
		}
	}
	variables := regexp.MustCompile(`(?:Getenv\(|[eE]nvVar += )"([A-Z_]+)"`).FindAllStringSubmatch(code, -1)
	if len(variables) < 5 {
		t.Fatalf("the code reads %d variables", len(variables))
	}
	for _, variable := range variables {
		if !strings.Contains(page, "`"+variable[1]+"`") {
			t.Errorf("docs/configuration.md does not describe %s", variable[1])
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\|").FindAllStringSubmatch(page, -1) {
		known := strings.HasPrefix(row[1], "zap-") || row[1] == "kubeconfig" || strings.Contains(string(read(t, "main.go")), `"`+row[1]+`"`)
		if !known {
			t.Errorf("docs/configuration.md describes --%s, which does not exist", row[1])
		}
	}
}
