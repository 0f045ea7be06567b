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
	"rules.yaml":   "config/prometheus/rules.yaml",
	"objects.yaml": "config/kube-state-metrics/rules.yaml",
}

// rule is an alert.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// ruleSpec is the spec of a PrometheusRule. It has the format of a rule file of Prometheus.
type ruleSpec struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

// readRules reads all alerts, by file.
func readRules(t *testing.T) map[string]*ruleSpec {
	t.Helper()
	specs := map[string]*ruleSpec{}
	for name, path := range ruleFiles {
		var object struct {
			Spec ruleSpec `json:"spec"`
		}
		if err := yaml.Unmarshal(read(t, path), &object); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		specs[name] = &object.Spec
	}
	return specs
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// promtool runs alerts.yaml on the alerts. It returns its output and whether it found no mistake.
func promtool(t *testing.T, specs map[string]*ruleSpec) (string, bool) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed; Debian has it in the package prometheus")
	}
	dir := t.TempDir()
	for name, spec := range specs {
		content, err := yaml.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), content)
	}
	write(t, filepath.Join(dir, "alerts.yaml"), read(t, "test/monitoring/alerts.yaml"))
	cmd := exec.CommandContext(t.Context(), program, "test", "rules", "alerts.yaml")
	cmd.Dir = dir
	output, err := cmd.CombinedOutput()
	return string(output), err == nil
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAlerts(t *testing.T) {
	if output, ok := promtool(t, readRules(t)); !ok {
		t.Errorf("promtool:\n%s", output)
	}
}

// Each planted mistake changes one alert. If promtool accepts it, alerts.yaml does not test that part of the alert.
func TestPlantedMistakesInTheAlertsAreFound(t *testing.T) {
	for _, mistake := range []struct{ alert, field, old, planted string }{
		{"PodSetOperatorDown", "expr", "podset_operator_podsets", "up"},
		{"PodSetOperatorDown", "expr", "podset-operator", "podset"},
		{"PodSetOperatorDown", "for", "10m", "30m"},
		{"PodSetOperatorErrors", "expr", `{job="podset-operator"}`, ""},
		{"PodSetOperatorErrors", "expr", "> 0.1", "> 0.01"},
		{"PodSetOperatorErrors", "expr", "by (controller)", ""},
		{"PodSetNamespaceUnreadable", "expr", "== 1", "== 0"},
		{"PodSetNamespaceUnreadable", "expr", "target_namespace", "namespace"},
		{"PodSetPodsNotReady", "expr", " < ", " > "},
		{"PodSetPodsNotReady", "for", "30m", "5m"},
		{"PodCreatesRejected", "for", "15m", "1m"},
		{"PodCreatesRejected", "expr", "by (kind)", ""},
		{"AtsStartLate", "expr", "> 30", "> 50"},
		{"AtsStartLate", "expr", "by (le)", ""},
		{"AtsFailed", "expr", "[1h]", "[3h]"},
		{"AtsFailed", "expr", "reason!~", "reason=~"},
		{"AtsFailed", "expr", `result="Failed",`, ""},
		{"AtsFailed", "expr", "MissedDeadline|", ""},
		{"AtsFailed", "expr", "|PodLost", ""},
		{"AtsMissed", "expr", "MissedDeadline", "DeadlineMissed"},
		{"AtsMissed", "expr", "increase", "rate)("},
		{"AtsLost", "expr", "PodLost", "MissedDeadline"},
		{"AtOverdue", "expr", "unless", "and"},
		{"AtOverdue", "expr", "PENDING", "RUNNING"},
		{"AtOverdue", "expr", "- 600", "+ 600"},
		{"AtFailed", "expr", "Failed", "Succeeded"},
		{"AtFailed", "expr", "- 3600", "- 36000"},
	} {
		t.Run(mistake.alert, func(t *testing.T) {
			t.Parallel()
			specs := readRules(t)
			plant(t, specs, mistake.alert, mistake.field, mistake.old, mistake.planted)
			if output, ok := promtool(t, specs); ok {
				t.Errorf("%q instead of %q in %s is not found:\n%s", mistake.planted, mistake.old, mistake.field, output)
			}
		})
	}
}

// plant replaces a part of a field of an alert.
func plant(t *testing.T, specs map[string]*ruleSpec, alert, field, old, planted string) {
	t.Helper()
	for _, spec := range specs {
		for _, group := range spec.Groups {
			for n := range group.Rules {
				if group.Rules[n].Alert != alert {
					continue
				}
				target := &group.Rules[n].Expr
				if field == "for" {
					target = &group.Rules[n].For
				}
				if !strings.Contains(*target, old) {
					t.Fatalf("%s: %s has no %q", alert, field, old)
				}
				*target = strings.Replace(*target, old, planted, 1)
				return
			}
		}
	}
	t.Fatalf("there is no alert %s", alert)
}

func TestEveryAlertIsCompleteTestedAndHasARunbook(t *testing.T) {
	runbooks := string(read(t, "docs/alerts.md"))
	tests := string(read(t, "test/monitoring/alerts.yaml"))
	for name, spec := range readRules(t) {
		for _, group := range spec.Groups {
			for _, rule := range group.Rules {
				for _, key := range []string{"summary", "description"} {
					if rule.Annotations[key] == "" {
						t.Errorf("%s: %s has no %s", name, rule.Alert, key)
					}
				}
				if rule.Labels["severity"] == "" {
					t.Errorf("%s: %s has no severity", name, rule.Alert)
				}
				url := "https://github.com/redhat/podset-operator/blob/main/docs/alerts.md#" + strings.ToLower(rule.Alert)
				if rule.Annotations["runbook_url"] != url {
					t.Errorf("%s: the runbook_url of %s is %q, want %q", name, rule.Alert, rule.Annotations["runbook_url"], url)
				}
				if !strings.Contains(runbooks, "\n## "+rule.Alert+"\n") {
					t.Errorf("docs/alerts.md has no section %s", rule.Alert)
				}
				if !strings.Contains(tests, "alertname: "+rule.Alert+"\n    exp_alerts:") {
					t.Errorf("no test in alerts.yaml shows that %s fires", rule.Alert)
				}
				if !strings.Contains(tests, "alertname: "+rule.Alert+"}") {
					t.Errorf("no test in alerts.yaml shows when %s does not fire", rule.Alert)
				}
			}
		}
	}
}
