// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// panel is a panel of a dashboard.
type panel struct {
	Title   string `json:"title"`
	GridPos struct {
		X, Y, W, H int
	} `json:"gridPos"`
	Targets []struct {
		Expr string `json:"expr"`
	} `json:"targets"`
}

// readPanels returns the panels for Grafana.
func readPanels(t *testing.T) []panel {
	t.Helper()
	return decode(t, read(t, "config/monitoring/dashboard/podset-operator.json"))
}

func decode(t *testing.T, content []byte) []panel {
	t.Helper()
	var dashboard struct {
		Panels []panel `json:"panels"`
	}
	if err := json.Unmarshal(content, &dashboard); err != nil || len(dashboard.Panels) == 0 {
		t.Fatalf("%d panels: %v", len(dashboard.Panels), err)
	}
	return dashboard.Panels
}

// The console of OpenShift has the panels and queries of Grafana, in the same places.
func TestDashboard_console(t *testing.T) {
	console := corev1.ConfigMap{}
	if err := yaml.UnmarshalStrict(read(t, "config/monitoring/dashboard/openshift-console.yaml"), &console); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(readPanels(t), decode(t, []byte(console.Data["podset-operator.json"]))); diff != "" {
		t.Errorf("(-Grafana +console): %s", diff)
	}
}

// foreign are the metrics of controller-runtime, client-go, the Go client of Prometheus, and Prometheus itself that the queries use.
var foreign = []string{
	"controller_runtime_reconcile_errors_total", "controller_runtime_reconcile_time_seconds_bucket", "controller_runtime_reconcile_total",
	"process_cpu_seconds_total", "process_resident_memory_bytes", "rest_client_requests_total", "up", "workqueue_depth",
}

// metricName matches the names in a query that a label selector, a range, or an operator follows. Names of labels are only in parentheses
// and braces.
var metricName = regexp.MustCompile(`[a-z]+(?:_[a-z]+)+|\bup\b`)

func TestQueries(t *testing.T) {
	known := knownMetrics(t)
	queries := map[string]string{} // where each query is
	for _, p := range readPanels(t) {
		for _, target := range p.Targets {
			queries[target.Expr] = "panel " + p.Title
		}
	}
	for _, path := range ruleFiles {
		_, rules := readRules(t, path)
		for _, rule := range rules {
			queries[rule.Expr] = "alert " + rule.Alert
		}
	}
	for expr, where := range queries {
		for _, name := range metricsOf(expr) {
			if !slices.Contains(known, name) {
				t.Errorf("%s: there is no metric %s", where, name)
			}
		}
	}
}

// The queries of the dashboard are rules of a file here, whose syntax promtool checks.
func TestQueries_syntax(t *testing.T) {
	needPromtool(t)
	type record struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var records []record
	for _, p := range readPanels(t) {
		for _, target := range p.Targets {
			records = append(records, record{fmt.Sprintf("query_%d", len(records)), target.Expr})
		}
	}
	content, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": records}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "queries.yaml"), content)
	promtool(t, dir, "check", "rules", "queries.yaml")
}

func metricsOf(expr string) []string {
	for _, labels := range []string{`\{[^}]*\}`, `"[^"]*"`, `\b(?:by|on|without)\s*\([^)]*\)`, `\b(?:histogram_quantile|[a-z]+_over_time)\b`} {
		expr = regexp.MustCompile(labels).ReplaceAllString(expr, " ")
	}
	return metricName.FindAllString(expr, -1)
}

// knownMetrics returns the metrics of controllers/metrics.go, of kube-state-metrics as configured here, and the foreign ones.
func knownMetrics(t *testing.T) []string {
	t.Helper()
	known := slices.Clone(foreign)
	for _, name := range regexp.MustCompile(`"(podset_operator_[a-z_]+)"`).FindAllStringSubmatch(string(read(t, "controllers/metrics.go")), -1) {
		known = append(known, name[1])
		if strings.HasSuffix(name[1], "_seconds") {
			known = append(known, name[1]+"_bucket")
		}
	}
	config := customResourceState{}
	if err := yaml.Unmarshal(read(t, objectMetrics), &config); err != nil {
		t.Fatal(err)
	}
	for _, resource := range config.Spec.Resources {
		for _, metric := range resource.Metrics {
			known = append(known, resource.MetricNamePrefix+"_"+metric.Name)
		}
	}
	return known
}

func TestMetrics_docs(t *testing.T) {
	page := string(read(t, "docs/monitoring.md"))
	for _, name := range knownMetrics(t) {
		if !strings.HasSuffix(name, "_bucket") && !slices.Contains(foreign, name) && !strings.Contains(page, "`"+name) {
			t.Errorf("docs/monitoring.md does not describe %s", name)
		}
	}
}
