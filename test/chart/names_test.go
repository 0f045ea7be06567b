// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/util/validation"
)

// everything creates every object of the chart.
const everything = "replicas: 2, networkPolicy: {enabled: true}, flowSchema: {enabled: true}, test: {enabled: true}, " +
	"metrics: {serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}, dashboard: {enabled: true}}"

// releases are the longest and the shortest names that Helm accepts, a long one with the same beginning, and the one that Flux chooses.
var releases = []string{
	"a", "1", "podset-operator", "0.9.release-with-dots", "0-9-release-with-dots", "podset-operator-system-podset-operator",
	"a-release-of-a-platform-team-with-many-environments-x", "a-release-of-a-platform-team-with-many-environments-y",
}

// Each release gets names that the API server accepts, and that are its own.
func TestNames(t *testing.T) {
	owners := map[string]string{}
	for _, release := range releases {
		if err := chartutil.ValidateReleaseName(release); err != nil {
			t.Fatal(err)
		}
		for _, more := range []string{"", ", nameOverride: a-name-of-the-chart-that-someone-made-rather-long", ", fullnameOverride: " + release + "-of-an-umbrella"} {
			all, tests, err := render(t, release, "ns", "{crds: {install: false}, "+everything+more+"}")
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(all, tests)
			if len(all) < 25 {
				t.Errorf("%s has only %d objects", release, len(all))
			}
			for key, o := range all {
				name := o["metadata"].(object)["name"].(string)
				problems := validation.IsDNS1123Label(name)
				if o["kind"] == "Service" {
					problems = validation.IsDNS1035Label(name)
				}
				if len(problems) > 0 {
					t.Errorf("release %s%s: %s: %v", release, more, key, problems)
				}
				if owner := owners[key]; owner != "" && owner != release+more {
					t.Errorf("releases %s and %s both have %s", release+more, owner, key)
				}
				owners[key] = release + more
			}
		}
	}
}

// A version can be longer than the value of a label, and can have characters that a label cannot have.
func TestNames_version(t *testing.T) {
	for _, version := range []string{"0.2.0+5", "0.2.0-rc.1+sha.0123456789abcdef0123456789abcdef01234567", "0.2.0-" + strings.Repeat("a.", 40) + "b"} {
		chart := load(t)
		chart.Metadata.Version, chart.Metadata.AppVersion = version, version
		all, _, err := renderChart(t, chart, "r", "ns", "{crds: {install: false}}")
		if err != nil {
			t.Fatal(err)
		}
		labels := all[operator]["metadata"].(object)["labels"].(object)
		for _, label := range []string{"helm.sh/chart", "app.kubernetes.io/version"} {
			value := labels[label].(string)
			if problems := validation.IsValidLabelValue(value); len(problems) > 0 || !strings.Contains(value, "0.2.0") {
				t.Errorf("version %s: %s=%s: %v", version, label, value, problems)
			}
		}
	}
}

// The policy that limits the manager names the user of this release.
func TestNames_managerPods(t *testing.T) {
	for _, c := range []struct{ release, values string }{
		{"podset-operator", "{}"}, {"team-b", "{}"}, {releases[6], "{}"}, {"a", "serviceAccount: {name: other}"}, {"a", "namespaceOverride: elsewhere"},
		{"a", "{watchNamespaces: [team-a], policy: {enabled: true}}"},
	} {
		all, err := rendered(t, c.release, "ns", c.values, false)
		if err != nil {
			t.Fatal(err)
		}
		var want, policy string
		got := map[string]any{}
		for _, o := range all {
			name := find(o, "metadata", "name").(string)
			switch {
			case o["kind"] == "Deployment":
				want = byManager(find(o, "metadata", "namespace").(string), find(o, "spec", "template", "spec", "serviceAccountName").(string))
			case o["kind"] == "ValidatingAdmissionPolicy" && strings.HasSuffix(name, "-manager-pods"):
				policy, got["expression"] = name, find(o, "spec", "matchConditions", "0", "expression")
			case o["kind"] == "ValidatingAdmissionPolicyBinding" && strings.HasSuffix(name, "-manager-pods"):
				got["policy"] = find(o, "spec", "policyName")
			}
		}
		if diff := cmp.Diff(map[string]any{"expression": want, "policy": policy}, got); diff != "" {
			t.Errorf("release %s with %s (-want +got):\n%s", c.release, c.values, diff)
		}
	}
}
