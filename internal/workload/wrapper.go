// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var (
	// interpreters run a program that is one of their arguments, and do not prepare its environment.
	interpreters = regexp.MustCompile(`^(?:ba|da|a|k|z)?sh$|^(?:python|ruby|node|java|php|perl|bundle|npm|yarn)[\d.]*$`)
	// wrappers are programs that prepare the environment of another one.
	wrappers = regexp.MustCompile(`launcher|entrypoint|vault-env|doppler|chamber|envconsul|aws-vault|summon|infisical|secrets`)
)

// Entrypoint is the wrapper of a container whose arguments begin with a program.
const Entrypoint = "the ENTRYPOINT of its image"

// Wrapper returns the words with which a container probably starts a program that follows them, or Entrypoint, or "" if there is no sign of
// such a wrapper. A command of its own takes the place of all of them.
func Wrapper(c *corev1.Container) string {
	hasProgram := len(c.Args) > 0 && !strings.HasPrefix(c.Args[0], "-")
	if len(c.Command) == 0 {
		if hasProgram {
			return Entrypoint
		}
		return ""
	}
	switch first := path.Base(c.Command[0]); {
	case interpreters.MatchString(first):
		return ""
	case slices.Contains(c.Command, "--"):
		return strings.Join(c.Command[:slices.Index(c.Command, "--")+1], " ")
	case hasProgram:
		return strings.Join(c.Command, " ")
	case wrappers.MatchString(first):
		return c.Command[0]
	}
	return ""
}
