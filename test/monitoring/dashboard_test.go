// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// dashboard is the part of the JSON of a dashboard that the tests read.
type dashboard struct {
	Title  string  `json:"title"`
	UID    string  `json:"uid"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct{ X, Y, W, H int }
	Targets []struct {
		Expr string `json:"expr"`
	} `json:"targets"`
}

func readDashboards(t *testing.T) (grafana, console dashboard) {
	t.Helper()
	if err := json.Unmarshal(read(t, "config/dashboard/podset-operator.json"), &grafana); err != nil {
		t.Fatal(err)
	}
	configMap := corev1.ConfigMap{}
	if err := yaml.UnmarshalStrict(read(t, "config/dashboard/openshift-console.yaml"), &configMap); err != nil {
		t.Fatal(err)
	}
	if configMap.Namespace != "openshift-config-managed" || configMap.Labels["console.openshift.io/dashboard"] != "true" {
		t.Errorf("the console does not find the dashboard in %s with labels %v", configMap.Namespace, configMap.Labels)
	}
	if err := json.Unmarshal([]byte(configMap.Data["podset-operator.json"]), &console); err != nil {
		t.Fatal(err)
	}
	return grafana, console
}

func TestTheDashboardsHaveTheSamePanels(t *testing.T) {
	grafana, console := readDashboards(t)
	if len(grafana.Panels) == 0 || len(grafana.Panels) != len(console.Panels) {
		t.Fatalf("%d panels for Grafana, %d for the console", len(grafana.Panels), len(console.Panels))
	}
	types := map[string]string{"row": "row", "stat": "singlestat", "timeseries": "graph"}
	for n, p := range grafana.Panels {
		other := console.Panels[n]
		if p.Title != other.Title || types[p.Type] != other.Type || fmt.Sprint(p.Targets) != fmt.Sprint(other.Targets) {
			t.Errorf("panel %d is %s %q for Grafana and %s %q for the console", p.ID, p.Type, p.Title, other.Type, other.Title)
		}
	}
}

func TestPanelsDoNotOverlap(t *testing.T) {
	grafana, _ := readDashboards(t)
	cells, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range grafana.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the ID %d", p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, taken := cells[[2]int{x, y}]; taken || x >= 24 {
					t.Fatalf("%q overlaps %q, or leaves the grid, at %d, %d", p.Title, other, x, y)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
	}
}

// foreign are the metrics of controller-runtime, client-go, the Go client of Prometheus, and Prometheus itself that the queries use.
var foreign = []string{
	"controller_runtime_reconcile_errors_total", "controller_runtime_reconcile_time_seconds_bucket", "controller_runtime_reconcile_total",
	"process_cpu_seconds_total", "process_resident_memory_bytes", "rest_client_requests_total", "up", "workqueue_depth",
}

// metricName matches the names in a query that a label selector, a range, or an operator follows. Names of labels are only in
// parentheses and braces.
var metricName = regexp.MustCompile(`[a-z]+(?:_[a-z]+)+|\bup\b`)

func TestQueriesUseMetricsThatExist(t *testing.T) {
	known := knownMetrics(t)
	grafana, _ := readDashboards(t)
	for _, p := range grafana.Panels {
		for _, target := range p.Targets {
			for _, name := range metricsOf(target.Expr) {
				if !slices.Contains(known, name) {
					t.Errorf("panel %q: there is no metric %s", p.Title, name)
				}
			}
		}
	}
	for _, spec := range readRules(t) {
		for _, group := range spec.Groups {
			for _, rule := range group.Rules {
				for _, name := range metricsOf(rule.Expr) {
					if !slices.Contains(known, name) {
						t.Errorf("alert %s: there is no metric %s", rule.Alert, name)
					}
				}
			}
		}
	}
	if slices.Contains(known, "podset_operator_at_runs") || len(metricsOf("sum(rate(a_b{c_d=\"e_f\"}[5m])) by (g_h)")) != 1 {
		t.Error("the test accepts unknown metrics")
	}
}

// metricsOf returns the metrics in a query.
func metricsOf(expr string) []string {
	for _, labels := range []string{`\{[^}]*\}`, `"[^"]*"`, `\b(?:by|on|without)\s*\([^)]*\)`, `\bhistogram_quantile\b`} {
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

func TestEveryMetricIsDocumented(t *testing.T) {
	page := string(read(t, "docs/monitoring.md"))
	for _, name := range knownMetrics(t) {
		if !strings.HasSuffix(name, "_bucket") && !slices.Contains(foreign, name) && !strings.Contains(page, "`"+name) {
			t.Errorf("docs/monitoring.md does not describe %s", name)
		}
	}
}
