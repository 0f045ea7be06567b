// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"regexp"
	"strings"
)

var generation = regexp.MustCompile(`"generation":[0-9]+`)

// isIntentional reports whether a difference between a response of the API server, want, and that of the simulation, got, is the only one
// that the simulation has on purpose: the generation after an update with empty fields. The API server stores JSON, so an empty field that
// was absent is a change of the spec. The simulation stores Go objects, and neither the operator nor the users of the simulation replace
// custom resources.
func isIntentional(about, want, got string) bool {
	return strings.HasPrefix(about, "update, status false") && generation.ReplaceAllString(want, "") == generation.ReplaceAllString(got, "")
}
