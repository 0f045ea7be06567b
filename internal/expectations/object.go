// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package expectations

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Object is one object as the last write of its status returned it, until the cache shows that version or a newer one.
// Without it a controller would compute from a status that it has already replaced, and its next write would be rejected
// as a conflict. The zero value expects nothing.
type Object[T metav1.Object] struct {
	// written is nil-valued unless expected is true.
	written  T
	expected bool
	// version is the resource version of the last write, also after the cache has shown it.
	version string
}

// Observe returns the newer of what the cache shows and what was last written, and the expectation that remains.
func (o Object[T]) Observe(cached T) (newest T, next Object[T]) {
	if o.expected && isOlder(cached, o.written) {
		return o.written, o
	}
	return cached, Object[T]{version: o.version}
}

// Written returns the expectation after the API server answered a write with obj. The caller must not change obj
// afterwards.
func (o Object[T]) Written(obj T) Object[T] {
	return Object[T]{written: obj, expected: true, version: obj.GetResourceVersion()}
}

// LastVersion returns the resource version of the last write; "": there was none. An update event with this version tells
// the controller nothing that it does not know.
func (o Object[T]) LastVersion() string { return o.version }

// isOlder tells whether a was superseded by b. Versions that cannot be compared are no reason to distrust the cache.
func isOlder(a, b metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order < 0
}
