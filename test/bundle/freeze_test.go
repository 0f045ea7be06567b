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

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"
	"sigs.k8s.io/crdify/pkg/validations/property"
)

// baseline has the CRDs of the newest release, from `make crd-baseline`. Before the first release it does not exist.
const baseline = "test/bundle/testdata/baseline"

// advice describes what to do instead of a change, by the validation of crdify that rejects it.
var advice = map[string]string{
	"existingFieldRemoval": "keep the field and ignore it; say in its comment that it is deprecated",
	"required":             "make the field optional, and let the controller choose a value",
	"default":              "keep the default; let the controller treat an absent value of a new field as the default",
	"type":                 "add a field of the other type",
	"enum":                 "keep the value, and let the controller treat it as another one",
	// crdify has no rule for these: CEL rules and their messages, list types, preserve-unknown-fields.
	"unhandled": "keep it as it is; check more in the controller, which reports a condition, and put a new rule on a new field",
}

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

// rejections returns why OLM v1 rejects the replacement of a CRD by another one: the node, the rule of crdify, and what to do instead.
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
				instead, ok := advice[result.Name]
				if !ok {
					instead = "keep the bound; check more in the controller, which reports a condition"
				}
				rejected = append(rejected, fmt.Sprintf("%s: %s: %s: %s", node, result.Name, concise(message), instead))
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
	root := crds["app.example.com_podsets.yaml"].Spec.Versions[0].Schema.OpenAPIV3Schema
	frozen := apiextensionsv1.ValidationRules{{Rule: "self == oldSelf"}}
	spec := root.Properties["spec"]
	root.XValidations, spec.XValidations = frozen, frozen
	for _, field := range []string{"replicas", "minReadySeconds"} { // Only the first has a default.
		node := spec.Properties[field]
		node.XValidations = frozen
		spec.Properties[field] = node
	}
	root.Properties["spec"] = spec
	if diff := cmp.Diff([]string{".spec.minReadySeconds: self == oldSelf"}, removableRules("", *root, false)); diff != "" {
		t.Errorf("rules on the root, on spec, and on two fields (-want +got): %s", diff)
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

// The changes that docs/compatibility.md allows, and those that it excludes.
func TestFreeze_docs(t *testing.T) {
	type (
		schema = apiextensionsv1.JSONSchemaProps
		rules  = apiextensionsv1.ValidationRules
		crd    = *apiextensionsv1.CustomResourceDefinition
	)
	// node changes the schema at a path from the root, or adds one.
	var node func(s *schema, change func(*schema), path ...string)
	node = func(s *schema, change func(*schema), path ...string) {
		if len(path) == 0 {
			change(s)
			return
		}
		below := s.Properties[path[0]]
		node(&below, change, path[1:]...)
		s.Properties[path[0]] = below
	}
	at := func(path string, change func(*schema)) func(crd) {
		return func(c crd) { node(c.Spec.Versions[0].Schema.OpenAPIV3Schema, change, strings.Split(path, ".")...) }
	}
	without := func(field string) func(*schema) { return func(s *schema) { delete(s.Properties, field) } }
	required := func(fields ...string) func(*schema) { return func(s *schema) { s.Required = fields } }
	rule := func(change func(rules) rules) func(*schema) {
		return func(s *schema) { s.XValidations = change(s.XValidations) }
	}
	// version adds a version with a change, and without a conversion webhook.
	version := func(change func(crd)) func(crd) {
		return func(c crd) {
			other := c.DeepCopy()
			change(other)
			added := other.Spec.Versions[0]
			added.Name, added.Storage = "v1beta1", false
			c.Spec.Versions = append(c.Spec.Versions, added)
		}
	}
	for name, c := range map[string]struct {
		change   func(crd)
		rejected string // a part of the rejection, or empty if the change is accepted
	}{
		"a new optional field with a bound, a default, and a rule": {at("spec.note", func(s *schema) {
			*s = schema{
				Type: "string", MaxLength: ptr.To[int64](10), Default: &apiextensionsv1.JSON{Raw: []byte(`"x"`)},
				XValidations: rules{{Rule: "self == oldSelf", Message: "note is fixed"}},
			}
		}), ""},
		"a longer maximum":                {at("spec.command", func(s *schema) { *s.MaxLength++ }), ""},
		"another description":             {at("spec.command", func(s *schema) { s.Description = "another" }), ""},
		"a required field, now optional":  {at("spec", required()), ""},
		"an enum value":                   {at("status.phase", func(s *schema) { s.Enum = append(s.Enum, apiextensionsv1.JSON{Raw: []byte(`"X"`)}) }), ""},
		"a column":                        {func(c crd) { c.Spec.Versions[0].AdditionalPrinterColumns = nil }, ""},
		"a second version, the same":      {version(func(crd) {}), ""},
		"a shorter maximum":               {at("spec.command", func(s *schema) { *s.MaxLength-- }), "spec.command: maxLength"},
		"a new bound":                     {at("spec.command", func(s *schema) { s.MinLength = ptr.To[int64](7) }), "spec.command: minLength"},
		"a new default":                   {at("spec.command", func(s *schema) { s.Default = &apiextensionsv1.JSON{Raw: []byte(`"x"`)} }), "spec.command: default"},
		"another type":                    {at("spec.command", func(s *schema) { s.Type = "integer" }), "spec.command: type"},
		"a removed enum value":            {at("status.phase", func(s *schema) { s.Enum = s.Enum[1:] }), "status.phase: enum"},
		"a removed field":                 {at("spec", without("command")), "removed field : v1alpha1.^.spec.command"},
		"a removed field of a template":   {at("spec.template.spec", without("priority")), "removed field : v1alpha1.^.spec.template.spec.priority"},
		"an optional field, now required": {at("spec", required("schedule", "command")), "spec: required"},
		"a required new field": {at("spec", func(s *schema) {
			s.Properties["note"] = schema{Type: "string"}
			s.Required = append(s.Required, "note")
		}), "spec: required"},
		"unknown fields":                {at("spec.template", func(s *schema) { s.XPreserveUnknownFields = ptr.To(true) }), "spec.template: unhandled"},
		"a removed rule":                {at("spec", rule(func(r rules) rules { return r[1:] })), "spec: unhandled"},
		"a new rule":                    {at("spec", rule(func(r rules) rules { return append(r, apiextensionsv1.ValidationRule{Rule: "true"}) })), "spec: unhandled"},
		"a looser rule":                 {at("spec", rule(func(r rules) rules { r[0].Rule += " || true"; return r })), "spec: unhandled"},
		"another message":               {at("spec", rule(func(r rules) rules { r[0].Message += "!"; return r })), "spec: unhandled"},
		"a second version, other rules": {version(at("spec", rule(func(r rules) rules { return r[1:] }))), "spec: unhandled"},
	} {
		t.Run(name, func(t *testing.T) {
			from := readCRDs(t, "config/crd/bases")["cnat.d2iq.com_ats.yaml"]
			to := from.DeepCopy()
			c.change(to)
			got := strings.Join(rejections(t, from, *to), "\n")
			if (got == "") != (c.rejected == "") || !strings.Contains(got, c.rejected) {
				t.Errorf("rejected with %q, want %q", got, c.rejected)
			}
		})
	}
}
