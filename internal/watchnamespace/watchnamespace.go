// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watchnamespace reads the environment variable WATCH_NAMESPACE, with which Operator Lifecycle Manager and
// administrators choose the namespaces of an operator.
package watchnamespace

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// EnvVar is the name of the variable.
const EnvVar = "WATCH_NAMESPACE"

// Parse reads the value of WATCH_NAMESPACE: a comma-separated list of namespaces. It returns them sorted, without
// duplicates. An empty result means all namespaces. White space and empty items are dropped. An invalid name is an
// error that quotes it. A list of only separators is an error too: in "$A,$B" the names are missing, and that must not
// mean all namespaces.
func Parse(value string) ([]string, error) {
	var namespaces []string
	for item := range strings.SplitSeq(value, ",") {
		name := strings.TrimSpace(item)
		if name == "" {
			continue
		}
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return nil, fmt.Errorf("%s: %q cannot be a namespace: %s; give a comma-separated list of namespaces, or leave it empty for all",
				EnvVar, name, problems[0])
		}
		namespaces = append(namespaces, name)
	}
	if len(namespaces) == 0 && strings.Contains(value, ",") {
		return nil, fmt.Errorf("%s: %q does not contain a namespace; give a comma-separated list of namespaces, or leave it empty for all", EnvVar, value)
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces), nil
}

// Mode describes what Parse returned, for the log.
func Mode(namespaces []string) string {
	switch len(namespaces) {
	case 0:
		return "all namespaces"
	case 1:
		return "namespace " + namespaces[0]
	default:
		return "namespaces " + strings.Join(namespaces, ", ")
	}
}
