// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package expectations

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/redhat/podset-operator/internal/pods"
)

const (
	// ConfirmAfter is how long a created pod may be missing from the cache before it must be looked up. Such a pod was probably deleted
	// before the cache could show it.
	ConfirmAfter = 5 * time.Second
	// maxLost limits how many lost pods are remembered for one owner. A cache that lags by more than that may show the oldest one as
	// running until it catches up.
	maxLost = 256
)

// Pods are the pods of one owner that this process created or deleted and that the cache may not show so yet. The zero value expects
// nothing.
type Pods struct {
	// uncached are pods that were created and that the cache has not shown.
	uncached []uncachedPod
	// deleted are pods that were deleted and that the cache does not show as terminating yet.
	deleted sets.Set[types.UID]
	// lost are pods that were created and were gone, or released by their owner, before the cache showed them, oldest first. A cache that
	// lags can show them as running for a while.
	lost []lostPod
}

// lostPod is a pod that was gone or released before the cache showed it.
type lostPod struct {
	uid types.UID
	// shown is true if the cache shows the pod now, as an active pod of the owner.
	shown bool
	// released is the resource version of a pod that exists without its owner, or "" if the pod is gone. A cache that shows a later version
	// is right: the pod has its owner again.
	released string
}

// uncachedPod is a pod that was created and that the cache has not shown.
type uncachedPod struct {
	pod *corev1.Pod
	// confirmed is when the API server last confirmed that the pod exists.
	confirmed time.Time
}

// Uncached returns the names of the uncached pods, once one of them must be looked up: the API server confirmed it ConfirmAfter ago, or the
// cache shows another pod in a later version. In the second case the cache has probably shown the pod and its end already. The caller gets
// each from the API server and passes the answers to Observe. All are looked up together, because one that is not can delay the deletion of
// others.
func (p Pods) Uncached(cached []*corev1.Pod, now time.Time) []string {
	var names []string
	due := false
	for _, c := range p.uncached {
		if !pods.Contains(cached, c.pod.UID) {
			names = append(names, c.pod.Name)
			due = due || now.Sub(c.confirmed) >= ConfirmAfter || slices.ContainsFunc(cached, func(other *corev1.Pod) bool {
				return IsLater(other, c.pod.ResourceVersion)
			})
		}
	}
	if !due {
		return nil
	}
	return names
}

// NotLookedUp returns the names that are not in lookedUp.
func NotLookedUp(names []string, lookedUp map[string]*corev1.Pod) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		_, asked := lookedUp[name]
		return asked
	})
}

// View is what a cache shows of an owner's pods, corrected by the expectations.
type View struct {
	// Pods are the cached pods without those that are known to be gone, followed by the uncached ones. The slice must not be changed: it may
	// be the one that was passed to Observe.
	Pods []*corev1.Pod
	// Uncached are the uncached pods that were not looked up either. Do not delete them: their owner reference may have been removed since they
	// were created. The set must not be changed.
	Uncached sets.Set[types.UID]
	// Deleted are the pods that are treated as terminating although they have no deletion timestamp in Pods. The set must not be changed.
	Deleted sets.Set[types.UID]
	// Next are the expectations that remain. The caller stores them when it records what it has done. Until then the original remains
	// valid.
	Next Pods
}

// Observe corrects what the cache shows. lookedUp are the answers of the API server for the names of Uncached, with nil for a pod that
// does not exist.
func (p Pods) Observe(cached []*corev1.Pod, lookedUp map[string]*corev1.Pod, now time.Time) View {
	v := View{Pods: slices.Clip(cached)}
	v.observeLost(p.lost, cached)
	for _, pod := range v.Pods {
		if pod.DeletionTimestamp == nil && p.deleted.Has(pod.UID) {
			v.Next.deleted = with(v.Next.deleted, pod.UID)
		}
	}
	for _, c := range p.uncached {
		if !pods.Contains(cached, c.pod.UID) {
			v.observeUncached(c, p.deleted.Has(c.pod.UID), lookedUp, now)
		}
	}
	v.Next.lost = v.Next.lost[max(0, len(v.Next.lost)-maxLost):]
	v.Deleted = v.Next.deleted
	return v
}

// observeLost removes the pods that are known to be gone or released. Such a pod is forgotten once the cache has shown it and no longer
// does, or shows a version after its release.
func (v *View) observeLost(lost []lostPod, cached []*corev1.Pod) {
	for _, pod := range lost {
		shown := pods.ByUID(cached, pod.uid)
		switch {
		case shown == nil && pod.shown, shown != nil && IsLater(shown, pod.released):
			continue
		case shown != nil:
			v.Pods = slices.DeleteFunc(slices.Clone(v.Pods), func(c *corev1.Pod) bool { return c.UID == pod.uid })
		}
		pod.shown = shown != nil
		v.Next.lost = append(v.Next.lost, pod)
	}
}

// IsLater reports whether a pod has a later resource version than version. It returns false for versions that cannot be compared, such as
// "".
func IsLater(object metav1.Object, version string) bool {
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), version)
	return err == nil && order > 0
}

// observeUncached adds a pod that the cache does not show, unless the API server has confirmed that it is gone.
func (v *View) observeUncached(c uncachedPod, deleted bool, lookedUp map[string]*corev1.Pod, now time.Time) {
	if live, asked := lookedUp[c.pod.Name]; asked {
		if live == nil || live.UID != c.pod.UID {
			v.Next.lost = append(v.Next.lost, lostPod{uid: c.pod.UID})
			return
		}
		if pods.OwnerUID(live) != pods.OwnerUID(c.pod) {
			v.Next.lost = append(v.Next.lost, lostPod{uid: c.pod.UID, released: live.ResourceVersion})
			return
		}
		c = uncachedPod{pod: live, confirmed: now}
	} else {
		if v.Uncached == nil {
			v.Uncached = sets.New[types.UID]()
		}
		v.Uncached.Insert(c.pod.UID)
	}
	v.Next.uncached = append(v.Next.uncached, c)
	v.Pods = append(v.Pods, c.pod)
	if deleted || c.pod.DeletionTimestamp != nil {
		v.Next.deleted = with(v.Next.deleted, c.pod.UID) // The cache may show an older version of the pod first.
	}
}

// Created returns the expectations after pods were created, or were found to exist already, at now.
func (p Pods) Created(now time.Time, created ...*corev1.Pod) Pods {
	all := slices.Clone(p.uncached)
	for _, pod := range created {
		all = slices.DeleteFunc(all, func(c uncachedPod) bool { return c.pod.UID == pod.UID })
		all = append(all, uncachedPod{pod: pod, confirmed: now})
	}
	p.uncached = all
	return p
}

// Deleted returns the expectations after pods were deleted, or were found to be gone already.
func (p Pods) Deleted(deleted ...*corev1.Pod) Pods {
	for _, pod := range deleted {
		p.deleted = with(p.deleted, pod.UID)
	}
	return p
}

// CheckAt returns when Uncached will return a pod unless the cache shows it first, or zero if there is none.
func (p Pods) CheckAt() time.Time {
	var first time.Time
	for _, c := range p.uncached {
		if at := c.confirmed.Add(ConfirmAfter); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// String returns the expectations as text, in a fixed order.
func (p Pods) String() string {
	text := "created"
	for _, c := range p.uncached {
		text += fmt.Sprintf(" %s@%d", c.pod.UID, c.confirmed.Unix())
	}
	return fmt.Sprintf("%s deleted %v lost %v", text, sets.List(p.deleted), p.lost)
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
