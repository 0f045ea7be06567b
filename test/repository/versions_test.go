// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"regexp"
	"strings"
	"testing"
)

// The documentation and the tests use the same versions of Kubernetes, and the oldest one is the minimum of the bundle.
func TestVersions(t *testing.T) {
	pinned := func(module string) string {
		match := regexp.MustCompile(`k8s\.io/kubernetes v(\S+)`).FindSubmatch(read(t, "hack/tools/"+module+"/go.mod"))
		if match == nil {
			t.Fatal("there is no Kubernetes version in the module ", module)
		}
		return string(match[1])
	}
	minor := func(version string) string { return version[:strings.LastIndex(version, ".")] }
	newest, oldest := pinned("cluster"), pinned("oldest")
	for page, wants := range map[string][]string{
		"README.md":                          {"needs Kubernetes " + minor(oldest) + " or newer", "Kubernetes " + minor(newest)},
		"docs/compatibility.md":              {"| Kubernetes | " + minor(oldest) + " or newer |", "Kubernetes " + newest, oldest},
		"docs/install.md":                    {"need Kubernetes " + minor(oldest) + " or newer"},
		"docs/olm.md":                        {"need Kubernetes " + minor(oldest) + " or newer"},
		"docs/testing.md":                    {"Kubernetes " + oldest},
		".github/workflows/kubernetes.yaml":  {"[v" + oldest + ", v", ", v" + minor(newest) + "."},
		"charts/podset-operator/values.yaml": {"kubectl:v" + newest},
		"charts/podset-operator/Chart.yaml":  {">=" + minor(oldest) + ".0-0"},
		"config/manifests/bases/podset-operator.clusterserviceversion.yaml": {"minKubeVersion: " + minor(oldest) + ".0\n"},
	} {
		for _, want := range wants {
			if !strings.Contains(string(read(t, page)), want) {
				t.Errorf("%s does not contain %q", page, want)
			}
		}
	}
}
