// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"
	"sigs.k8s.io/crdify/pkg/validations/property"
)

// baseline has the CRDs of the newest release, from `make crd-baseline`. Before the first release it does not exist.
const baseline = "test/bundle/testdata/baseline"

// OLM v1 never upgrades to a version with changes other than these.
func TestFreeze(t *testing.T) {
	if _, err := os.Stat(filepath.Join(root, baseline)); errors.Is(err, fs.ErrNotExist) {
		if changes, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md")); err != nil || strings.Contains(string(changes), "\n## [0.") {
			t.Fatalf("the changelog has a release, which has no baseline: make crd-baseline (%v)", err)
		}
		t.Skip("there is no release yet")
	}
	frozen := readCRDs(t, baseline)
	for name, crd := range readCRDs(t, "config/crd/bases") {
		for _, rejection := range rejections(t, frozen[name], crd) {
			t.Errorf("%s: %s", name, rejection)
		}
	}
}

// rejections returns why OLM v1 rejects the replacement of a CRD by another one: the node, and the rule of crdify. docs/compatibility.md
// describes what to do instead.
func rejections(t *testing.T, from, to apiextensionsv1.CustomResourceDefinition) []string {
	t.Helper()
	// This is the configuration of operator-controller 1.11, in internal/operator-controller/rukpak/preflights/crdupgradesafety.
	run, err := runner.New(&config.Config{
		Conversion:           config.ConversionPolicyIgnore,
		UnhandledEnforcement: config.EnforcementPolicyError,
		Validations: []config.ValidationConfig{
			{Name: "description", Enforcement: config.EnforcementPolicyNone},
			{Name: "enum", Enforcement: config.EnforcementPolicyError, Configuration: map[string]any{"additionPolicy": property.AdditionPolicyAllow}},
		},
	}, runner.DefaultRegistry())
	if err != nil {
		t.Fatal(err)
	}
	var rejected []string
	add := func(node string, results []validations.ComparisonResult) {
		for _, result := range results {
			for _, message := range result.Errors {
				rejected = append(rejected, fmt.Sprintf("%s: %s: %s", node, result.Name, concise(message)))
			}
		}
	}
	results := run.Run(&from, &to)
	add("the CRD", results.CRDValidation)
	for _, version := range append(results.SameVersionValidation, results.ServedVersionValidation...) {
		for _, property := range version.PropertyComparisons {
			add(version.Version+" "+property.Property, property.ComparisonResults)
		}
	}
	return rejected
}

// concise returns the changed lines of a message that contains a comparison of two schemas.
func concise(message string) string {
	lines := slices.DeleteFunc(strings.Split(strings.ReplaceAll(message, "\u00a0", " "), "\n"), func(line string) bool {
		return strings.HasPrefix(line, " ") || strings.TrimSpace(line) == ""
	})
	return strings.Join(lines, "\n")
}

// The API server does not evaluate a transition rule on a field that an update adds or removes, so a user could remove the field and set it
// again. A release freezes where a rule is.
func TestFreeze_transitionRules(t *testing.T) {
	crds := readCRDs(t, "config/crd/bases")
	for name, crd := range crds {
		if found := removableRules("", *crd.Spec.Versions[0].Schema.OpenAPIV3Schema, false); len(found) > 0 {
			t.Errorf("%s: an update can remove the nodes of these rules: %v", name, found)
		}
	}
}

// removableRules returns the rules that read the old object and are on or below a node that an update can remove: a field that is neither
// required nor has a default, or an item of a list or a map.
func removableRules(path string, s apiextensionsv1.JSONSchemaProps, removable bool) []string {
	var found []string
	for _, rule := range s.XValidations {
		if removable && strings.Contains(rule.Rule, "oldSelf") && !ptr.Deref(rule.OptionalOldSelf, false) {
			found = append(found, path+": "+rule.Rule)
		}
	}
	for field, below := range s.Properties {
		found = append(found, removableRules(path+"."+field, below, removable || below.Default == nil && !slices.Contains(s.Required, field))...)
	}
	if s.Items != nil && s.Items.Schema != nil {
		found = append(found, removableRules(path+"[]", *s.Items.Schema, true)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		found = append(found, removableRules(path+"[]", *s.AdditionalProperties.Schema, true)...)
	}
	return found
}

// TestOLMv1 of test/e2e makes such changes, too.
func TestFreeze_changes(t *testing.T) {
	from := readCRDs(t, "config/crd/bases")["app.example.com_podsets.yaml"]
	for _, c := range []struct {
		change   func(spec map[string]apiextensionsv1.JSONSchemaProps)
		rejected string // a part of the rejection, or empty if the change is accepted
	}{
		{func(spec map[string]apiextensionsv1.JSONSchemaProps) { *spec["replicas"].Maximum = 11 }, ""},
		{func(spec map[string]apiextensionsv1.JSONSchemaProps) { *spec["replicas"].Maximum = 5 }, "spec.replicas: maximum"},
		{func(spec map[string]apiextensionsv1.JSONSchemaProps) { spec["template"].XValidations[0].Message += "!" }, "spec.template: unhandled"},
	} {
		to := from.DeepCopy()
		c.change(to.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties)
		got := strings.Join(rejections(t, from, *to), "\n")
		if (got == "") != (c.rejected == "") || !strings.Contains(got, c.rejected) {
			t.Errorf("rejected with %q, want %q", got, c.rejected)
		}
	}
}
