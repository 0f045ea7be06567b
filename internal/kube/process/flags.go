// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"flag"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// EnvPrefix is the beginning of the name of each environment variable that sets a flag.
const EnvPrefix = "PODSET_OPERATOR_"

// EnvVar returns the name of the environment variable that sets a flag.
func EnvVar(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// SetFromEnv sets each flag that the arguments have not set from its environment variable, unless that is empty. Operator Lifecycle Manager
// can set the variables of the operator, but not its arguments.
func SetFromEnv(flags *flag.FlagSet, getenv func(string) string) error {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var problem error // the first one, because it is printed as one line
	flags.VisitAll(func(f *flag.Flag) {
		variable := EnvVar(f.Name)
		value := getenv(variable)
		if given[f.Name] || value == "" || problem != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			problem = fmt.Errorf("environment variable %s: %q is not a valid --%s: %w", variable, value, f.Name, err)
		}
	})
	return problem
}

// Secrets is the value of a flag: names of Secrets, separated by commas.
type Secrets []corev1.LocalObjectReference

// Set reads the value. It replaces the previous one.
func (s *Secrets) Set(value string) error {
	*s = nil
	for item := range strings.SplitSeq(value, ",") {
		name := strings.TrimSpace(item)
		if name == "" {
			continue
		}
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			return fmt.Errorf("%q cannot be the name of a Secret: %s", name, problems[0])
		}
		*s = append(*s, corev1.LocalObjectReference{Name: name})
	}
	return nil
}

// String returns the value.
func (s *Secrets) String() string {
	names := make([]string, len(*s))
	for i, secret := range *s {
		names[i] = secret.Name
	}
	return strings.Join(names, ",")
}
