// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/test/repository"
)

// The API server accepts each PodSet and At in the documentation, including all its fields.
func TestDocs_manifests(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../docs/how-to/*.md"} {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, matches...)
	}
	strict := client.WithFieldValidation(admin, metav1.FieldValidationStrict)
	created := 0
	for _, page := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range repository.Manifests(string(content)) {
			var parsed any
			if err := yaml.Unmarshal([]byte(document), &parsed); err != nil {
				t.Errorf("%s: %v\n%s", page, err, document)
			}
			fields, _ := parsed.(map[string]any) // A part of a manifest can be a list.
			obj := &unstructured.Unstructured{Object: fields}
			if kind := obj.GetKind(); kind != "PodSet" && kind != "At" {
				continue
			}
			obj.SetNamespace("default")
			if err := strict.Create(t.Context(), obj, client.DryRunAll); err != nil {
				t.Errorf("%s: %v\n%s", page, err, document)
			}
			created++
		}
	}
	if created < 5 {
		t.Errorf("the documentation has only %d manifests", created)
	}
}

// The line in the log about a finished At has the keys and the time format of docs/monitoring.md.
func TestDocs_history(t *testing.T) {
	page, err := os.ReadFile("../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Who ran what\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(section, -1) {
		for _, key := range strings.Split(row[1], ", ") {
			documented = append(documented, strings.Trim(key, "`"))
		}
	}
	scheduled := metav1.Date(2030, 1, 30, 11, 2, 0, 0, time.FixedZone("", 3600))
	finished := metav1.NewTime(scheduled.Add(time.Minute))
	object := &cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Status: cnatv1alpha1.AtStatus{
		Result: cnatv1alpha1.ResultFailed, Reason: cnatv1alpha1.ReasonMissedDeadline, ScheduledTime: &scheduled, CompletionTime: &finished, ExitCode: new(int32),
	}}
	var output bytes.Buffer
	object.Spec.Command = strings.Repeat("migrate ", 40)
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "worker"}}
	r := &AtReconciler{Defaults: at.Defaults{Image: "busybox"}}
	logger := zap.New(zap.WriteTo(&output)).WithValues("namespace", "shop", "name", "migrate")
	r.logRun(logger, "Run finished", object, pod)
	line := map[string]any{}
	if err := json.Unmarshal(output.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	for _, key := range documented {
		if _, ok := line[key]; !ok {
			t.Errorf("the line has no %s, which is documented", key)
		}
	}
	for key := range line {
		if !slices.Contains(documented, key) && key != "level" && key != "ts" {
			t.Errorf("the line has %s, which is not documented", key)
		}
	}
	for key, want := range map[string]any{"scheduled": "2030-01-30T10:02:00Z", "started": nil, "finished": "2030-01-30T10:03:00Z", "node": "worker", "image": "busybox"} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
	if command, _ := line["command"].(string); len(command) != maxLogged || !strings.HasPrefix(command, "migrate ") {
		t.Errorf("the command is %q", command)
	}
	output.Reset()
	r.OmitCommands = true
	r.logRun(logger, "Run finished", object, pod)
	if strings.Contains(output.String(), "migrate ") {
		t.Errorf("the log has a command: %s", &output)
	}
}

// TestDocs_reasons compares the table of docs/reference.md with the rules.
func TestDocs_reasons(t *testing.T) {
	text, err := os.ReadFile("../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	for reason, verdict := range at.Reasons {
		stalled, event := "-", "-"
		if verdict.Stalled {
			stalled = "True"
		}
		if verdict.Event != "" {
			event = "`" + verdict.Event + "`"
		}
		row := fmt.Sprintf("\n| `%s` | %s | %s | %s | %s | ", reason, cmp.Or(string(verdict.Scheduled), "-"), cmp.Or(string(verdict.Ready), "-"), stalled, event)
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/reference.md has no row that begins with %s", row[1:])
		}
	}
}
