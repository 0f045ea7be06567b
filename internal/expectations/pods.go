// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package expectations

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/redhat/podset-operator/internal/pods"
)

// ConfirmAfter is how long a created pod may be missing from the cache before it must be looked up. Such a pod was
// probably deleted before the cache could show it.
const ConfirmAfter = 5 * time.Second

// Pods are the pods of one owner that this process created or deleted and that the cache may not show so yet. The zero
// value expects nothing.
type Pods struct {
	// created are the last pods that were created, until the cache shows a version that is not earlier than all of
	// them. confirmed is when the API server last confirmed that they exist.
	created   []*corev1.Pod
	confirmed time.Time
	// deleted are pods that were deleted and that the cache does not show as terminating yet.
	deleted sets.Set[types.UID]
}

// View is what a cache shows of an owner's pods, compared with the expectations.
type View struct {
	// Lookups are the names of the created pods that the caller must get from the API server, and pass to Observe.
	Lookups []string
	// WaitUntil is when they must be looked up, or zero if the cache has shown all created pods.
	WaitUntil time.Time
	// Deleted are the pods that are treated as terminating although they have no deletion timestamp. The set must not
	// be changed.
	Deleted sets.Set[types.UID]
	// Next are the expectations that remain.
	Next Pods
}

// Observe compares what the cache shows with the expectations. lookedUp are the answers of the API server, with nil for
// a pod that does not exist. A pod that the API server says is gone, or has another owner, needs no memory: the cache
// shows that before it shows the next pod.
func (p Pods) Observe(cached []*corev1.Pod, lookedUp map[string]*corev1.Pod, now time.Time) View {
	v := View{Next: p}
	switch {
	case p.isShown(cached):
		v.Next.created = nil
	case now.Sub(p.confirmed) >= ConfirmAfter:
		v.lookUp(p.created, lookedUp, now)
	}
	if v.WaitUntil = v.Next.CheckAt(); v.WaitUntil.IsZero() {
		v.Next.deleted = nil
		for _, pod := range cached {
			if pod.DeletionTimestamp == nil && p.deleted.Has(pod.UID) {
				v.Next.deleted = with(v.Next.deleted, pod.UID)
			}
		}
	}
	v.Deleted = v.Next.deleted
	return v
}

// isShown reports whether the cache shows every created pod, or what came after it.
func (p Pods) isShown(cached []*corev1.Pod) bool {
	for _, c := range p.created {
		if !slices.ContainsFunc(cached, func(pod *corev1.Pod) bool { return pod.UID == c.UID || IsLater(pod, c.ResourceVersion) }) {
			return false
		}
	}
	return true
}

// lookUp keeps the created pods that still exist and belong to their owner.
func (v *View) lookUp(created []*corev1.Pod, lookedUp map[string]*corev1.Pod, now time.Time) {
	v.Next.created, v.Next.confirmed = nil, now
	for _, c := range created {
		live, asked := lookedUp[c.Name]
		if !asked {
			v.Lookups = append(v.Lookups, c.Name)
		}
		if !asked || live != nil && live.UID == c.UID && pods.OwnerUID(live) == pods.OwnerUID(c) {
			v.Next.created = append(v.Next.created, c)
		}
	}
}

// IsLater reports whether a pod has a later resource version than version. It returns false for versions that cannot be
// compared, such as "".
func IsLater(object metav1.Object, version string) bool {
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), version)
	return err == nil && order > 0
}

// Created returns the expectations after pods were created, or were found to exist already, at now.
func (p Pods) Created(now time.Time, created ...*corev1.Pod) Pods {
	if len(created) > 0 {
		p.created, p.confirmed = slices.Concat(p.created, created), now
	}
	return p
}

// Deleted returns the expectations after pods were deleted, or were found to be gone already.
func (p Pods) Deleted(deleted ...*corev1.Pod) Pods {
	for _, pod := range deleted {
		p.deleted = with(p.deleted, pod.UID)
	}
	return p
}

// CheckAt returns when the created pods must be looked up unless the cache shows them first, or zero if there are none.
func (p Pods) CheckAt() time.Time {
	if len(p.created) == 0 {
		return time.Time{}
	}
	return p.confirmed.Add(ConfirmAfter)
}

// with returns a set with one more element and leaves the original unchanged.
func with(set sets.Set[types.UID], uid types.UID) sets.Set[types.UID] {
	if set.Has(uid) {
		return set
	}
	larger := sets.New(uid)
	for other := range set {
		larger.Insert(other)
	}
	return larger
}
