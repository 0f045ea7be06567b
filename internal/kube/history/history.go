// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history detects that the API server has lost changes that it has shown before.
package history

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// ErrRestored is a state of the API server that is older than one that it has shown.
var ErrRestored = errors.New("etcd was restored from a backup")

// Check returns an error that wraps ErrRestored if the resource version latest, from a response to a request that was sent after shown had
// been received, is less than shown. Two pairs prove a restore, because neither can decrease otherwise:
//   - A list without a resource version is a consistent read: its own resource version is at least all of its resource from before the
//     request.
//   - One object, read without a resource version or written: its resource version increases with each change, even if it was deleted and
//     created again.
//
// One object and the list of another, or a dry run, prove nothing, because an unchanged object has an old resource version. Resource
// versions are numbers since Kubernetes 1.35, and were numbers before if they come from etcd. Others prove nothing.
func Check(latest, shown string) error {
	if order, err := resourceversion.CompareResourceVersion(latest, shown); err == nil && order < 0 {
		return fmt.Errorf("the latest resource version is %s and was %s: %w. The manager exits, because its caches would miss changes, and reads "+
			"everything again after its restart", latest, shown, ErrRestored)
	}
	return nil
}

// Latest returns the greater of two resource versions. shown may be empty. If version is not a number, it returns shown.
func Latest(version, shown string) string {
	if order, err := resourceversion.CompareResourceVersion(version, cmp.Or(shown, "1")); err == nil && order >= 0 {
		return version
	}
	return shown
}
