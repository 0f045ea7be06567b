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
}

// Observe returns the newer of what the cache shows and what was last written, and the expectation that remains.
func (o Object[T]) Observe(cached T) (newest T, next Object[T]) {
	if o.expected && isOlder(cached, o.written) {
		return o.written, o
	}
	return cached, Object[T]{}
}

// Written returns the expectation after obj was written. The caller must not modify obj afterwards.
func (o Object[T]) Written(obj T) Object[T] {
	return Object[T]{written: obj, expected: true}
}

// isOlder tells whether a has an older resource version than b. Versions that cannot be compared count as equal, so that the
// cache wins.
func isOlder(a, b metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order < 0
}
