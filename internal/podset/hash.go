// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// HashTemplate returns a hash of the user's template alone, so that neither a new default nor a new version of the
// operator changes it (rule 9).
//
// The hash covers the meaning of the template and not how a version of the Kubernetes API library encodes it. A field
// that is not a pointer is unset if it is zero or empty: the library may encode it as null, {}, "" or [], or omit it. A
// pointer that is not nil is set even if it points to an empty object: namespaceSelector: {} selects all namespaces.
func HashTemplate(template *corev1.PodTemplateSpec) string { return hashOf(template) }

// hashOf hashes the JSON of a value. It panics if the value cannot be encoded, which is impossible for a typed
// template.
func hashOf(value any) string {
	encoded, err := json.Marshal(treeOf(reflect.ValueOf(value)))
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])[:10]
}

// treeOf returns a value in the structure of its JSON, without the unset fields of objects.
func treeOf(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return treeOf(v.Elem())
	case reflect.Struct:
		if _, ok := v.Interface().(json.Marshaler); ok {
			break // a quantity, a time, or a number or string
		}
		fields := map[string]any{}
		addFields(fields, v)
		return fields
	case reflect.Map:
		entries := map[string]any{}
		for key, value := range v.Seq2() {
			entries[key.String()] = treeOf(value)
		}
		return entries
	case reflect.Slice:
		items := make([]any, v.Len())
		for i := range items {
			items[i] = treeOf(v.Index(i))
		}
		return items
	default: // a boolean, a number, or a string
	}
	return v.Interface()
}

// addFields adds the fields of a struct that are set, under their names in JSON.
func addFields(fields map[string]any, v reflect.Value) {
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		switch field := v.Field(i); {
		case name == "": // In JSON, its fields are fields of this struct.
			addFields(fields, field)
		case isUnset(field):
		default:
			tree := treeOf(field)
			if object, ok := tree.(map[string]any); ok && field.Kind() == reflect.Struct && len(object) == 0 {
				continue // All its fields are unset.
			}
			fields[name] = tree
		}
	}
}

// isUnset reports whether the value of a field means the same as an absent field. addFields finds the structs whose
// fields are all unset.
func isUnset(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice:
		return v.Len() == 0
	case reflect.Struct:
		if quantity, ok := v.Interface().(resource.Quantity); ok {
			return quantity.IsZero()
		}
	default: // The zero value is unset.
	}
	return v.IsZero()
}
