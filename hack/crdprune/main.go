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
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

type schema = apiextensionsv1.JSONSchemaProps

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
	crd, err := read(file)
	if err != nil {
		return err
	}
	for _, version := range crd.Spec.Versions {
		object := version.Schema.OpenAPIV3Schema
		properties := object.Properties["spec"].Properties
		if template, ok := properties["template"]; ok {
			own := template.Description
			if err := pruneTemplate(&template); err != nil {
				return err
			}
			template.Description = own
			properties["template"] = template
		}
		walk("", object, restrictTimes)
	}
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		return err
	}
	delete(out, "status") // as controller-gen does
	compact, err := json.Marshal(out)
	if err != nil {
		return err
	}
	if len(compact) > maxSize {
		return fmt.Errorf("%d bytes as compact JSON, more than the %d that can be applied", len(compact), maxSize)
	}
	text, err := yaml.Marshal(out)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("---\n"), text...), 0o644)
}

func read(file string) (*apiextensionsv1.CustomResourceDefinition, error) {
	in, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	return crd, yaml.UnmarshalStrict(in, crd)
}

// walk calls do for a schema with the name of its property, and for all schemas below it. Items have no name.
func walk(name string, s *schema, do func(name string, s *schema)) {
	do(name, s)
	for property, below := range s.Properties {
		walk(property, &below, do)
		s.Properties[property] = below
	}
	if items := itemsOf(s); items != nil {
		walk("", items, do)
	}
}

// itemsOf returns the schema of the items of a list or of the values of a map, or nil.
func itemsOf(s *schema) *schema {
	switch {
	case s.Items != nil:
		return s.Items.Schema
	case s.AdditionalProperties != nil:
		return s.AdditionalProperties.Schema
	}
	return nil
}

// pruneTemplate changes the schema of a pod template.
func pruneTemplate(template *schema) error {
	if err := dropUnstable(template); err != nil {
		return err
	}
	walk("template", template, func(name string, s *schema) {
		s.Description, s.Default = "", nil
		makeAtomic(name, s)
		boundIntOrString(s)
		if name == "metadata" && s.Properties != nil { // of the template, and of the volume claims in it
			s.Properties["creationTimestamp"] = schema{Type: "string", Format: "date-time", Nullable: true}
		}
	})
	return requireImages(template)
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
func dropUnstable(template *schema) error {
	missing := map[string]bool{}
	for parent, fields := range unstable {
		for _, field := range fields {
			missing[parent+"."+field] = true
		}
	}
	walk("template", template, func(name string, s *schema) {
		fields := cmp.Or(itemsOf(s), s).Properties
		for _, field := range unstable[name] {
			if _, ok := fields[field]; ok {
				delete(fields, field)
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

// boundIntOrString limits a value that can be a number or a string. One with a pattern is a quantity. Others are of the type
// intstr.IntOrString, whose numbers have 32 bits. The limits of numbers do not apply to strings.
func boundIntOrString(s *schema) {
	switch {
	case !s.XIntOrString:
	case s.Pattern != "":
		s.Pattern, s.MaxLength = quantity, ptr.To[int64](maxQuantity)
	default:
		s.Minimum, s.Maximum = ptr.To[float64](math.MinInt32), ptr.To[float64](math.MaxInt32)
	}
}

// atomic are lists of a pod that are not lists of the type map here. The rules of a CRD ignore the order of such a list, but the first
// container of an At runs its command, init containers run in order, and a variable can refer to earlier ones. A list of the type map also
// requires unique keys. The API server does not require this of a pod's variables, ports, secrets, and host aliases.
var atomic = []string{"containers", "initContainers", "env", "ports", "imagePullSecrets", "hostAliases"}

// makeAtomic makes one of these lists atomic.
func makeAtomic(name string, s *schema) {
	if ptr.Deref(s.XListType, "") == "map" && slices.Contains(atomic, name) {
		s.XListType, s.XListMapKeys = ptr.To("atomic"), nil
	}
}

// restrictTimes sets the pattern of a time to the format that metav1.Time writes. The format date-time also accepts leap seconds, offsets of
// 99 hours, and a lower-case t or z, which metav1.Time cannot decode.
func restrictTimes(_ string, s *schema) {
	if s.Format == "date-time" {
		s.Pattern = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$`
	}
}

// requireImages requires that each container of a template has an image and a name that is a DNS label, and that the template has no
// ephemeral containers, which can only be added to an existing pod.
func requireImages(template *schema) error {
	spec := template.Properties["spec"].Properties
	for _, list := range []string{"containers", "initContainers"} {
		items := spec[list].Items
		if items == nil {
			return fmt.Errorf("a template has no spec.%s", list)
		}
		image, hasImage := items.Schema.Properties["image"]
		name, hasName := items.Schema.Properties["name"]
		if !hasImage || !hasName {
			return fmt.Errorf("the schema of spec.template.spec.%s has no image or no name", list)
		}
		items.Schema.Required = []string{"image", "name"}
		image.MinLength = ptr.To[int64](1)
		name.Pattern, name.MaxLength = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, ptr.To[int64](63)
		items.Schema.Properties["image"], items.Schema.Properties["name"] = image, name
	}
	spec["ephemeralContainers"] = schema{
		Type: "array", MaxItems: ptr.To[int64](0), Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &schema{Type: "object"}},
	}
	return nil
}
