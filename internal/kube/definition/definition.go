// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package definition checks custom resource definitions.
package definition

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Check returns an error if the custom resource definition of a kind lacks a status field of the type of obj. The API
// server would reject each status with such a field. Check reads the OpenAPI schema of the group, for which it needs no
// permission. A schema that cannot be read proves nothing.
func Check(ctx context.Context, client rest.Interface, kind schema.GroupVersionKind, obj runtime.Object) error {
	data, err := client.Get().AbsPath("/openapi/v3/apis", kind.Group, kind.Version).SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx).Raw()
	if err != nil {
		return nil //nolint:nilerr // It proves nothing.
	}
	if lack := lacks(data, kind, reflect.TypeOf(obj)); lack != "" {
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		return fmt.Errorf("the custom resource definition %s is older than this manager: it lacks %s. Install the one of this release",
			plural.GroupResource(), lack)
	}
	return nil
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

// lacks returns what an OpenAPI document lacks of the status of a kind whose objects have a type, such as "the field
// status.phase". It returns "" if nothing is missing, or if the document does not have the kind.
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

// missingField returns the path of the first field of a type that is not in its schema, or "". The schema is nil if
// there is none.
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
