// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crdprune adapts the schemas of the given CRD files. In every spec.template, it removes the descriptions and the defaults, limits
// the values that can be a number or a string, and accepts and rejects what the API server accepts and rejects in a pod. It sets a pattern
// for each time.
//
// The descriptions of a pod template have thousands of lines, which kubectl explain also shows for pods. With them, the CRD would be too
// large for the annotation in which `kubectl apply` and `oc apply` store the applied object (256 KiB).
//
// The API server writes the defaults of a CRD into every object that it serves. A new default in a newer Kubernetes API library would
// change templates that were not edited. Pods get the same defaults when they are created.
//
// The API server checks a template with the schema only. controller-gen's schema accepts numbers and quantities that no program in Go can
// decode, or only with all of its memory. The format date-time of the API server accepts times that metav1.Time cannot decode. One such
// object would end every list and every watch of its kind, and so stop the operator in all namespaces.
//
// OLM v1 rejects an update of a CRD that lacks a field, and Kubernetes removes alpha fields again. So a template omits the fields that
// clusters disable by default.
//
// A template without an image is rejected when it is written, instead of when its first pod is created, perhaps years later. A template of
// a Deployment is accepted even if it repeats a variable or has a creationTimestamp, as older versions of kubectl print it.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// maxSize is the maximum size of a CRD as compact JSON, so that it fits into the annotation with the rest of the object.
const maxSize = 200 << 10

func main() {
	for _, file := range os.Args[1:] {
		if err := prune(file); err != nil {
			fmt.Fprintf(os.Stderr, "crdprune: %s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

// prune rewrites one CRD file in the format of controller-gen.
func prune(file string) error {
	in, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(in, &crd); err != nil {
		return err
	}
	spec, _ := dig(crd, "spec")
	versions, _ := spec["versions"].([]any)
	for _, version := range versions {
		if template, ok := dig(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", "template"); ok {
			own := template["description"]
			if err := dropUnstable(template); err != nil {
				return err
			}
			removeDescriptions(template)
			makeAtomic(template)
			removeDefaults(template, nil)
			boundIntOrStrings(template)
			allowCreationTimestamps(template)
			if err := requireImages(template); err != nil {
				return err
			}
			template["description"] = own
		}
		if object, ok := dig(version, "schema", "openAPIV3Schema"); ok {
			restrictTimes(object)
		}
	}
	compact, err := json.Marshal(crd)
	if err != nil {
		return err
	}
	if len(compact) > maxSize {
		return fmt.Errorf("%d bytes as compact JSON, more than the %d that can be applied", len(compact), maxSize)
	}
	out, err := yaml.Marshal(crd)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("---\n"), out...), 0o644)
}

// unstable are the fields of a pod whose feature gate is off by default in the Kubernetes version of the library, by the field that
// contains them. The gates are in pkg/features/kube_features.go of k8s.io/kubernetes. TestFields finds the fields of a newer library.
var unstable = map[string][]string{
	"clusterTrustBundle":  {"user"},                                  // AtomicWriteVolumeUserFields
	"configMap":           {"defaultUser"},                           // AtomicWriteVolumeUserFields
	"dataSourceRef":       {"namespace"},                             // CrossNamespaceVolumeDataSource
	"downwardAPI":         {"defaultUser"},                           // AtomicWriteVolumeUserFields
	"emptyDir":            {"mode"},                                  // EmptyDirVolumeMode
	"grpc":                {"mode"},                                  // GRPCContainerProbeTLS
	"httpGet":             {"protocol"},                              // H2CContainerProbe
	"items":               {"user"},                                  // AtomicWriteVolumeUserFields
	"lifecycle":           {"stopSignal"},                            // ContainerStopSignals
	"podCertificate":      {"user"},                                  // AtomicWriteVolumeUserFields
	"projected":           {"defaultUser"},                           // AtomicWriteVolumeUserFields
	"secret":              {"defaultUser"},                           // AtomicWriteVolumeUserFields
	"serviceAccountToken": {"user"},                                  // AtomicWriteVolumeUserFields
	"spec":                {"evictionResponders", "schedulingGroup"}, // EvictionRequestAPI, GenericWorkload
	"volumeMounts":        {"bindMountOptions"},                      // VolumeBindMountOptions
}

// dropUnstable removes the unstable fields from a template.
func dropUnstable(template map[string]any) error {
	missing := map[string]bool{}
	for parent, fields := range unstable {
		for _, field := range fields {
			missing[parent+"."+field] = true
		}
	}
	eachProperty(template, func(name string, property map[string]any) {
		if items, ok := dig(property, "items"); ok {
			property = items
		}
		properties, _ := dig(property, "properties")
		for _, field := range unstable[name] {
			if _, ok := properties[field]; ok {
				delete(properties, field)
				delete(missing, name+"."+field)
			}
		}
	})
	if len(missing) > 0 {
		return fmt.Errorf("a template has no %s: remove it from the unstable fields", strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	}
	return nil
}

// quantity is the pattern of a quantity with an exponent of at most two digits, and maxQuantity its maximum length. controller-gen accepts
// exponents that resource.Quantity rejects, such as 1.5, and exponents for which it would compute a number with a billion digits.
const (
	quantity    = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?$`
	maxQuantity = 64
)

// boundIntOrStrings limits the values that can be a number or a string in a schema and in all schemas below it. Those with a pattern are
// quantities. The others are of the type intstr.IntOrString, whose numbers have 32 bits. The limits of numbers do not apply to strings.
func boundIntOrStrings(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if s["x-kubernetes-int-or-string"] == true {
			if s["pattern"] != nil {
				s["pattern"], s["maxLength"] = quantity, maxQuantity
			} else {
				s["minimum"], s["maximum"] = math.MinInt32, math.MaxInt32
			}
		}
		for _, below := range s {
			boundIntOrStrings(below)
		}
	case []any:
		for _, below := range s {
			boundIntOrStrings(below)
		}
	}
}

// atomic are lists of a pod that are not lists of the type map here. The rules of a CRD ignore the order of such a list, but the first
// container of an At runs its command, init containers run in order, and a variable can refer to earlier ones. A list of the type map also
// requires unique keys. The API server does not require this of a pod's variables, ports, secrets, and host aliases.
var atomic = []string{"containers", "initContainers", "env", "ports", "imagePullSecrets", "hostAliases"}

// makeAtomic makes these lists atomic in a schema and in all schemas below it.
func makeAtomic(schema any) {
	eachProperty(schema, func(name string, property map[string]any) {
		if property["x-kubernetes-list-type"] == "map" && slices.Contains(atomic, name) {
			property["x-kubernetes-list-type"] = "atomic"
			delete(property, "x-kubernetes-list-map-keys")
		}
	})
}

// allowCreationTimestamps adds the creationTimestamp to the metadata of a template and of the volume claims in it.
func allowCreationTimestamps(schema any) {
	eachProperty(schema, func(name string, property map[string]any) {
		if metadata, ok := dig(property, "properties"); ok && name == "metadata" {
			metadata["creationTimestamp"] = map[string]any{
				"type": "string", "format": "date-time", "nullable": true,
			}
		}
	})
}

// restrictTimes sets the pattern of each time in a schema to the format that metav1.Time writes. The format date-time also accepts leap
// seconds, offsets of 99 hours, and a lower-case t or z, which metav1.Time cannot decode.
func restrictTimes(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if s["format"] == "date-time" {
			s["pattern"] = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$`
		}
		for _, below := range s {
			restrictTimes(below)
		}
	case []any:
		for _, below := range s {
			restrictTimes(below)
		}
	}
}

// requireImages requires that each container of a template has an image and a name that is a DNS label, and that the template has no
// ephemeral containers, which can only be added to an existing pod.
func requireImages(template map[string]any) error {
	for _, list := range []string{"containers", "initContainers"} {
		container, ok := dig(template, "properties", "spec", "properties", list, "items")
		image, hasImage := dig(container, "properties", "image")
		name, hasName := dig(container, "properties", "name")
		if !ok || !hasImage || !hasName {
			return fmt.Errorf("the schema of spec.template.spec.%s has no image or no name", list)
		}
		container["required"] = []any{"image", "name"}
		image["minLength"] = 1
		name["pattern"], name["maxLength"] = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, 63
	}
	spec, _ := dig(template, "properties", "spec", "properties")
	spec["ephemeralContainers"] = map[string]any{"type": "array", "maxItems": 0, "items": map[string]any{"type": "object"}}
	return nil
}

// eachProperty calls do for the properties of a schema and of all schemas below it.
func eachProperty(schema any, do func(name string, property map[string]any)) {
	s, _ := schema.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	for name, property := range properties {
		if p, ok := property.(map[string]any); ok {
			do(name, p)
		}
		eachProperty(property, do)
	}
	for _, below := range []string{"items", "additionalProperties"} {
		if s[below] != nil {
			eachProperty(s[below], do)
		}
	}
}

// dig follows the keys from a decoded object. It returns false if a key is missing.
func dig(object any, keys ...string) (map[string]any, bool) {
	m, ok := object.(map[string]any)
	for _, key := range keys {
		if ok {
			m, ok = m[key].(map[string]any)
		}
	}
	return m, ok
}

// removeDescriptions removes the descriptions of a schema and of all schemas below it. A description is a string. A schema under this key
// is a property with the name "description", and remains.
func removeDescriptions(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, ok := s["description"].(string); ok {
			delete(s, "description")
		}
		for _, below := range s {
			removeDescriptions(below)
		}
	case []any:
		for _, below := range s {
			removeDescriptions(below)
		}
	}
}

// removeDefaults removes the defaults of the properties of a schema and of all schemas below it. keys are the properties that identify the
// items of a list, which the API server requires to be required or to have a default.
func removeDefaults(schema any, keys []any) {
	s, _ := schema.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	for name, property := range properties {
		if p, ok := property.(map[string]any); ok && !slices.Contains(keys, any(name)) {
			delete(p, "default")
		}
		removeDefaults(property, nil)
	}
	keys, _ = s["x-kubernetes-list-map-keys"].([]any)
	for _, below := range []string{"items", "additionalProperties"} {
		if s[below] != nil {
			removeDefaults(s[below], keys)
		}
	}
}
