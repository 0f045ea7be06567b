// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// errOutdated is a custom resource definition that is older than the process.
var errOutdated = errors.New("older than this manager")

// definitionAge is how long the result of a check is remembered, because the informers of several namespaces ask at the same time.
const definitionAge = time.Second

// Definitions checks whether the custom resource definition of a kind has every status field of the kind's type. The API server would drop
// the other fields, or reject the status. It reads the OpenAPI schema of the group, for which it needs no permission.
type Definitions struct {
	clock  clock.PassiveClock
	client rest.Interface
	scheme *runtime.Scheme

	mu      sync.Mutex
	results map[schema.GroupVersionKind]checkedDefinition
}

type checkedDefinition struct {
	when time.Time
	err  error
}

// NewDefinitions returns the definitions of the kinds of a scheme.
func NewDefinitions(c clock.PassiveClock, client rest.Interface, scheme *runtime.Scheme) *Definitions {
	return &Definitions{clock: c, client: client, scheme: scheme, results: map[schema.GroupVersionKind]checkedDefinition{}}
}

// compare returns an error that wraps errOutdated if the schema proves that the definition of the kind of obj is outdated. A schema that cannot
// be read proves nothing.
func (d *Definitions) compare(ctx context.Context, obj runtime.Object) error {
	kind, err := apiutil.GVKForObject(obj, d.scheme)
	if err != nil {
		return fmt.Errorf("finding the kind of %T: %w", obj, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.results[kind]; ok && d.clock.Since(known.when) < definitionAge {
		return known.err
	}
	data, err := d.client.Get().AbsPath("/openapi/v3/apis", kind.Group, kind.Version).SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx).Raw()
	if err != nil {
		return nil
	}
	err = nil
	if lack := lacks(data, kind, reflect.TypeOf(obj)); lack != "" {
		err = fmt.Errorf("the custom resource definition %s is %w: it lacks %s. Its objects are served within 10 s after it is updated",
			crdOf(kind), errOutdated, lack)
	}
	d.results[kind] = checkedDefinition{when: d.clock.Now(), err: err}
	return err
}

// crdOf returns the name of the custom resource definition of a kind.
func crdOf(kind schema.GroupVersionKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural.GroupResource().String()
}

// openAPI is the part of the OpenAPI document of a group and version that lacks reads.
type openAPI struct {
	Paths      map[string]struct{}
	Components struct {
		Schemas map[string]struct {
			fieldSchema

			Kinds []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
	}
}

// fieldSchema is the schema of a field. It has no additionalProperties, because no status has a map.
type fieldSchema struct {
	Properties            map[string]*fieldSchema
	Items                 *fieldSchema
	PreserveUnknownFields bool `json:"x-kubernetes-preserve-unknown-fields"`
}

// lacks returns what an OpenAPI document lacks of the status of a kind whose objects have a type, such as "the field status.phase". It
// returns "" if nothing is missing, or if the document does not have the kind.
func lacks(document []byte, kind schema.GroupVersionKind, object reflect.Type) string {
	var served openAPI
	if err := json.Unmarshal(document, &served); err != nil {
		return ""
	}
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	for _, definition := range served.Components.Schemas {
		if !slices.Contains(definition.Kinds, kind) {
			continue
		}
		status, ok := object.Elem().FieldByName("Status")
		if !ok || definition.PreserveUnknownFields {
			return ""
		}
		if field := missingField(definition.Properties["status"], status.Type, "status"); field != "" {
			return "the field " + field
		}
		if _, ok := served.Paths[fmt.Sprintf("/apis/%s/%s/namespaces/{namespace}/%s/{name}/status", kind.Group, kind.Version, plural.Resource)]; !ok {
			return "the subresource status"
		}
	}
	return ""
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// missingField returns the path of the first field of a type that is not in its schema, or "". The schema is nil if there is none.
func missingField(served *fieldSchema, t reflect.Type, path string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case served == nil:
		return path
	case served.PreserveUnknownFields || t.Implements(marshaler):
		return ""
	case t.Kind() == reflect.Slice:
		return missingField(served.Items, t.Elem(), path+"[]")
	case t.Kind() != reflect.Struct:
		return ""
	}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if missing := missingField(served.Properties[name], t.Field(i).Type, path+"."+name); missing != "" {
			return missing
		}
	}
	return ""
}
