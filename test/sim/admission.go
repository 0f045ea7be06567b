// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"sigs.k8s.io/yaml"
)

// admission applies the schema and the rules of a CRD with the library that the API server uses.
type admission struct {
	schema         *schema.Structural
	object, status validation.SchemaValidator
	rules          *cel.Validator

	// The results for objects that are created, objects that change, and statuses.
	created, updated, statuses memo
}

// admissions are those of the custom resources. They read the CRDs when they are first used.
var admissions = map[string]func() *admission{
	podSets: sync.OnceValue(func() *admission { return mustLoad("../../config/crd/bases/app.example.com_podsets.yaml") }),
	ats:     sync.OnceValue(func() *admission { return mustLoad("../../config/crd/bases/cnat.d2iq.com_ats.yaml") }),
}

func mustLoad(file string) *admission {
	a, err := load(file)
	if err != nil {
		panic(fmt.Errorf("reading %s: %w", file, err)) // The file is part of the repository.
	}
	return a
}

func load(file string) (*admission, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &v1); err != nil {
		return nil, err
	}
	var crd apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, &crd, nil); err != nil {
		return nil, err
	}
	properties := crd.Spec.Validation.OpenAPIV3Schema
	a := &admission{}
	if a.schema, err = schema.NewStructural(properties); err != nil {
		return nil, err
	}
	if a.object, _, err = validation.NewSchemaValidator(properties); err != nil {
		return nil, err
	}
	for _, rule := range properties.XValidations {
		if read := statusAndName.Replace(rule.Rule); strings.Contains(read, "elf.status") || strings.Contains(read, "elf.metadata") {
			return nil, fmt.Errorf("the rule %q reads more than the specs, the name, the attempts, and the phase", rule.Rule)
		}
	}
	status := properties.Properties["status"]
	if a.status, _, err = validation.NewSchemaValidator(&status); err != nil {
		return nil, err
	}
	a.rules = cel.NewValidator(a.schema, true, celconfig.PerCallLimit)
	return a, nil
}

// statusAndName removes the parts of a rule that read the attempts, the phases, or the name.
var statusAndName = strings.NewReplacer(
	"oldSelf.?status.?attempts", "", "oldSelf.?status.?phase", "", "oldSelf.status.phase", "", "self.?status.?phase", "", "self.metadata.name", "",
)

// decode drops unknown fields and sets defaults.
func (a *admission) decode(content map[string]any) {
	pruning.Prune(content, a.schema, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(content, a.schema)
	defaulting.Default(content, a.schema)
}

func (a *admission) validateNew(content map[string]any) field.ErrorList {
	errs := validation.ValidateCustomResource(nil, content, a.object)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, a.schema, content)...)
	if len(errs) == 0 {
		errs, _ = a.rules.Validate(context.Background(), nil, a.schema, content, nil, celconfig.RuntimeCELCostBudget)
	}
	return errs
}

// validateUpdate validates the spec of a changed object. Unchanged invalid values are accepted.
func (a *admission) validateUpdate(content, old map[string]any) field.ErrorList {
	if equality.Semantic.DeepEqual(content["spec"], old["spec"]) {
		return nil
	}
	correlated := common.NewCorrelatedObject(content, old, &model.Structural{Structural: a.schema})
	errs := validation.ValidateCustomResourceUpdate(nil, content, old, a.object, validation.WithRatcheting(correlated))
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, a.schema, content)...)
	if len(errs) == 0 {
		errs, _ = a.rules.Validate(context.Background(), nil, a.schema, content, old, celconfig.RuntimeCELCostBudget, cel.WithRatcheting(correlated))
	}
	return errs
}

// validateStatus validates a status. The simulation only stores valid ones, so nothing invalid can remain. No rule rejects a new status,
// because the rules only check whether the phase changes, and allow a change: load checks what they read.
func (a *admission) validateStatus(status any) field.ErrorList {
	path, properties := field.NewPath("status"), a.schema.Properties["status"]
	errs := validation.ValidateCustomResource(path, status, a.status)
	if content, ok := status.(map[string]any); ok {
		errs = append(errs, listtype.ValidateListSetsAndMaps(path, &properties, content)...)
	}
	return errs
}
