// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// root is the path of the repository from this directory.
const root = "../.."

// ruleFiles are the manifests with alerts, by the names that alerts.yaml uses.
var ruleFiles = map[string]string{
	"rules.yaml":   "config/monitoring/prometheus/rules.yaml",
	"objects.yaml": "config/monitoring/kube-state-metrics/rules.yaml",
}

// prometheusRule is a PrometheusRule. Its spec has the format of a rule file of Prometheus.
type prometheusRule struct {
	Spec struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []rule `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

// rule is an alert.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func readRules(t *testing.T, path string) (object prometheusRule, rules []rule) {
	t.Helper()
	if err := yaml.Unmarshal(read(t, path), &object); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, group := range object.Spec.Groups {
		rules = append(rules, group.Rules...)
	}
	if len(rules) == 0 {
		t.Fatal("there are no alerts in ", path)
	}
	return object, rules
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAlerts(t *testing.T) {
	needPromtool(t)
	dir := t.TempDir()
	for name, path := range ruleFiles {
		object, _ := readRules(t, path)
		content, err := yaml.Marshal(object.Spec)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), content)
	}
	write(t, filepath.Join(dir, "alerts.yaml"), read(t, "test/monitoring/alerts.yaml"))
	promtool(t, dir, "test", "rules", "alerts.yaml")
}

func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}

func needPromtool(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed; Debian has it in the package prometheus")
	}
}

func TestAlerts_docs(t *testing.T) {
	runbooks := string(read(t, "docs/monitoring.md"))
	tests := string(read(t, "test/monitoring/alerts.yaml"))
	for line := range strings.Lines(tests) {
		if strings.Contains(line, "exp_labels:") && !strings.Contains(line, " namespace: ") {
			t.Errorf("an AlertmanagerConfig does not get the alert of%s, because it has no label namespace", line)
		}
	}
	for _, path := range ruleFiles {
		_, rules := readRules(t, path)
		for _, rule := range rules {
			url := "https://github.com/redhat/podset-operator/blob/main/docs/monitoring.md#" + strings.ToLower(rule.Alert)
			if rule.Annotations["runbook_url"] != url {
				t.Errorf("the runbook_url of %s is %q, want %q", rule.Alert, rule.Annotations["runbook_url"], url)
			}
			if !strings.Contains(runbooks, "\n### "+rule.Alert+"\n") {
				t.Errorf("docs/monitoring.md has no section %s", rule.Alert)
			}
			if !strings.Contains(tests, "alertname: "+rule.Alert+"\n    exp_alerts:") {
				t.Errorf("no test in alerts.yaml shows that %s fires", rule.Alert)
			}
		}
	}
}
