// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package expectations

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Status is the last status of an object that this process wrote, until the cache shows that version or a newer one.
// Without it a controller would compute from a status that it has already replaced, and its next write would be
// rejected as a conflict. It is never modified, and nil expects nothing.
//
// A write requires the version of the object that the cache shows. So as long as the cache does not show the write, it
// shows the rest of the object as it is, and only the version and the status are kept: a template can be large.
type Status[S any] struct {
	// Version is the resource version that the API server returned.
	Version string
	// Value is the status.
	Value S
}

// Newest returns what the cache shows or, if that is older than the last write, a copy with the version and the status
// that were written. It also returns the expectation that remains. statusOf returns the status of an object. If
// versions cannot be compared, the cache wins.
func Newest[T, S any, P interface {
	*T
	metav1.Object
}](cached P, written *Status[S], statusOf func(P) *S) (P, *Status[S]) {
	if written == nil {
		return cached, nil
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), written.Version)
	if err != nil || order >= 0 {
		return cached, nil
	}
	newest := P(new(*cached))
	newest.SetResourceVersion(written.Version)
	*statusOf(newest) = written.Value
	return newest, written
}
