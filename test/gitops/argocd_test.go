// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"
)

// customizations has the scripts in the form in which the repository of Argo CD has those of other kinds, with their tests.
const customizations = "../../config/components/argocd/resource_customizations"

// healthTests and actionTests are the formats of health_test.yaml and action_test.yaml.
type healthTests struct {
	Tests []struct {
		HealthStatus struct{ Status, Message string } `json:"healthStatus"`
		InputPath    string                           `json:"inputPath"`
	} `json:"tests"`
}

type actionTests struct {
	DiscoveryTests []struct {
		InputPath string `json:"inputPath"`
		Result    []struct {
			Name     string `json:"name"`
			Disabled bool   `json:"disabled"`
		} `json:"result"`
	} `json:"discoveryTests"`
	ActionTests []struct {
		Action             string `json:"action"`
		InputPath          string `json:"inputPath"`
		ExpectedOutputPath string `json:"expectedOutputPath"`
	} `json:"actionTests"`
}

// now matches a time that an action has set. The expected outputs have the zero time.
var now = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

func readYAML(t *testing.T, into any, path ...string) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(readFile(t, path...)), into); err != nil {
		t.Fatalf("%v: %v", path, err)
	}
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestArgoCD(t *testing.T) {
	for _, kind := range []string{"app.example.com/PodSet", "cnat.d2iq.com/At"} {
		dir := filepath.Join(customizations, kind)
		var health healthTests
		readYAML(t, &health, dir, "health_test.yaml")
		for _, c := range health.Tests {
			var object map[string]any
			readYAML(t, &object, dir, c.InputPath)
			got := runHealthScript(t, readFile(t, dir, "health.lua"), object)
			if diff := cmp.Diff([]string{c.HealthStatus.Status, c.HealthStatus.Message}, got); diff != "" {
				t.Errorf("%s: health of %s (-want +got):\n%s", kind, c.InputPath, diff)
			}
		}
		testActions(t, kind, filepath.Join(dir, "actions"))
	}
}

func testActions(t *testing.T, kind, dir string) {
	t.Helper()
	var tests actionTests
	readYAML(t, &tests, dir, "action_test.yaml")
	for _, c := range tests.DiscoveryTests {
		var object map[string]any
		readYAML(t, &object, dir, c.InputPath)
		want := map[string]any{}
		for _, action := range c.Result {
			want[action.Name] = map[string]any{"disabled": action.Disabled}
		}
		if diff := cmp.Diff(want, goValue(runScript(t, readFile(t, dir, "discovery.lua"), object))); diff != "" {
			t.Errorf("%s: actions for %s (-want +got):\n%s", kind, c.InputPath, diff)
		}
	}
	tested := map[string]bool{}
	for _, c := range tests.ActionTests {
		tested[c.Action] = true
		var object, want map[string]any
		readYAML(t, &object, dir, c.InputPath)
		readYAML(t, &want, dir, c.ExpectedOutputPath)
		got, err := yaml.Marshal(goValue(runScript(t, readFile(t, dir, c.Action, "action.lua"), object)))
		if err != nil {
			t.Fatal(err)
		}
		input := readFile(t, dir, c.InputPath)
		changed := now.ReplaceAllStringFunc(string(got), func(text string) string {
			if strings.Contains(input, text) {
				return text
			}
			return "0001-01-01T00:00:00Z"
		})
		expected, err := yaml.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(expected), changed); diff != "" {
			t.Errorf("%s: %s of %s (-want +got):\n%s", kind, c.Action, c.InputPath, diff)
		}
	}
	scripts, err := filepath.Glob(filepath.Join(dir, "*/action.lua"))
	if err != nil || len(scripts) != len(tested) {
		t.Errorf("%s: the tested actions are %v, the scripts are %v: %v", kind, tested, scripts, err)
	}
}

// goValue converts a value of Lua as Argo CD does. An empty table is an object.
func goValue(value lua.LValue) any {
	switch v := value.(type) {
	case lua.LBool:
		return bool(v)
	case lua.LNumber:
		return float64(v)
	case *lua.LTable:
		if v.MaxN() > 0 {
			var items []any
			v.ForEach(func(_, item lua.LValue) { items = append(items, goValue(item)) })
			return items
		}
		fields := map[string]any{}
		v.ForEach(func(key, field lua.LValue) { fields[key.String()] = goValue(field) })
		return fields
	}
	return value.String()
}
