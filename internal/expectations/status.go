// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package expectations

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Status is the last status of an object that this process wrote, until the cache shows that version or a newer one.
// Without it a controller would compute from a status that it has already replaced, and its next write would be rejected
// as a conflict. The zero value expects nothing.
//
// A write requires the version of the object that the cache shows. So as long as the cache does not show the write, it shows the rest of
// the object as it is, and only the version and the status are kept: a template can be large.
type Status[S any] struct {
	// Version is the resource version that the API server returned; "": nothing was written.
	Version string
	// Value is the status. It must not be modified.
	Value S
}

// IsNewerThan tells whether the cache shows an older version than the one that was written. Versions that cannot be compared count as
// equal, so that the cache wins.
func (s Status[S]) IsNewerThan(cached metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), s.Version)
	return err == nil && order < 0
}
