// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"flag"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// envPrefix is the prefix of each environment variable that sets a flag.
const envPrefix = "PODSET_OPERATOR_"

// EnvVar returns the name of the environment variable that sets a flag.
func EnvVar(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// SetFromEnv sets each flag that the arguments have not set from its environment variable, unless that is empty.
// Operator Lifecycle Manager can set the variables of the operator, but not its arguments. It returns the names of the
// flags that it has set.
func SetFromEnv(flags *flag.FlagSet, getenv func(string) string) (set []string, problem error) {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	flags.VisitAll(func(f *flag.Flag) {
		variable := EnvVar(f.Name)
		value := getenv(variable)
		if given[f.Name] || value == "" || problem != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil { // the first one, because it is printed as one line
			problem = fmt.Errorf("environment variable %s: %q is not a valid --%s: %w", variable, value, f.Name, err)
		}
		set = append(set, f.Name)
	})
	return set, problem
}

// NameVariables adds to an error that mentions flags the variables that have set them. set is what SetFromEnv has
// returned.
func NameVariables(err error, set []string) error {
	if err == nil {
		return nil
	}
	var variables []string
	for _, name := range set {
		if regexp.MustCompile("--" + name + `($|[^a-z-])`).MatchString(err.Error()) {
			variables = append(variables, EnvVar(name))
		}
	}
	if len(variables) == 0 {
		return err
	}
	return fmt.Errorf("environment variable %s: %w", strings.Join(variables, ", "), err)
}

// serviceVariable matches the variables that Kubernetes sets in each pod for a Service of its namespace.
var serviceVariable = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_\w+)?$|_PORT(_\d+_\w+)?$`)

// UnknownVariables returns the names of the variables in environ that look as if they set a flag, but no flag has their
// name.
func UnknownVariables(flags *flag.FlagSet, environ []string) []string {
	known := map[string]bool{}
	flags.VisitAll(func(f *flag.Flag) { known[EnvVar(f.Name)] = true })
	var unknown []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, envPrefix) && !known[name] && !serviceVariable.MatchString(name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// Address is the value of a flag: an address to listen on, such as :8443. "0" and "" mean none.
type Address string

// Set reads the value.
func (a *Address) Set(value string) error {
	if value != "" && value != "0" {
		_, port, err := net.SplitHostPort(value)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return fmt.Errorf("want an address such as :8443, or 0 for none: %w", err)
		}
	}
	*a = Address(value)
	return nil
}

// String returns the value.
func (a *Address) String() string { return string(*a) }

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
