// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// podState is what a process knows about one pod of an At.
type podState struct {
	// pod is its newest known state, or nil.
	pod *corev1.Pod
	// generation is that of the spec from which this process created the pod, or 0. modified is what admission changed
	// in its identity, or how others opened it. reimaged is true if a user has changed an image while the pod had its
	// gate: another pod is prepared instead.
	generation int64
	modified   string
	reimaged   bool
	// shown is true if the cache shows the pod. answered is when the API server last answered with it.
	shown    bool
	answered time.Time
	// isLast is true if pod is the last state before the pod was deleted. goneSince is when the API server first
	// answered that the At has no such pod, or zero.
	isLast    bool
	goneSince time.Time
	// startedAgain is true if the node has started the container of the command again after it had started before.
	startedAgain bool
}

func (k podState) uid() types.UID {
	if k.pod == nil {
		return ""
	}
	return k.pod.UID
}

// see returns what is known after another state of the pod was seen.
func (k podState) see(at *cnatv1alpha1.At, pod *corev1.Pod) podState {
	isDeleted := k.pod != nil && k.pod.DeletionTimestamp != nil && pod.DeletionTimestamp == nil // It was deleted in this state.
	switch {
	case k.pod == nil:
		k.pod, k.startedAgain = pod, proof.StartedAgain(at, nil, pod)
	case expectations.IsLater(k.pod, pod.ResourceVersion), k.pod.ResourceVersion == pod.ResourceVersion && isDeleted:
	default:
		k.startedAgain = k.startedAgain || proof.StartedAgain(at, k.pod, pod)
		k.reimaged = k.reimaged || proof.IsGated(k.pod) && proof.IsGated(pod) && !proof.SameImages(k.pod, pod)
		k.pod = pod
	}
	return k
}

// observe returns what is known about a pod after a look at the caches and at the answers.
func (k podState) observe(seen Seen, answers Answers, uid types.UID, name string, now time.Time) podState {
	cached := pods.ByUID(seen.Pods, uid)
	read, asked := answers.Pods[name]
	last := pods.ByUID(seen.LastStates, uid)
	if cached != nil {
		k = k.see(seen.At, cached)
	}
	found := read != nil && read.UID == uid
	taken := found && !proof.IsOwn(seen.At, read) && !k.isFollowed(seen.At, read)
	if found {
		k = k.see(seen.At, read)
		k.answered = now
	}
	if asked && k.goneSince.IsZero() && (!found || taken) { // A UID never comes back.
		k.goneSince = now
	}
	if last != nil {
		k = k.see(seen.At, last)
		k.isLast = true
	}
	k.shown = cached != nil && !k.isGone()
	return k
}

// isFollowed reports whether a modified pod that the At does not control is its run: the operator created it, and no
// other object has come to control it.
func (k podState) isFollowed(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	if k.modified == "" {
		return false
	}
	owner := pods.OwnerUID(pod)
	isTaken := owner != "" && owner != pods.OwnerUID(k.pod)
	return !isTaken && (k.generation > 0 || proof.LostOwner(at, pod))
}

// isGone reports whether it is known that the At has no such pod anymore.
func (k podState) isGone() bool { return k.isLast || !k.goneSince.IsZero() }

// mayShowLast returns until when the watch may still deliver the last state of a pod that is gone, or zero.
func (k podState) mayShowLast() time.Time {
	if k.pod == nil || k.isLast || k.goneSince.IsZero() {
		return time.Time{}
	}
	return k.goneSince.Add(lastStateGrace)
}

// exists reports whether the pod is assumed to exist: the cache shows it, or has not had the time to show it.
func (k podState) exists(now time.Time) bool {
	return k.pod != nil && !k.isGone() && (k.shown || now.Sub(k.answered) < expectations.ConfirmAfter)
}

// neverRan reports whether it is proven that no node had the pod and none will.
func (k podState) neverRan() bool {
	return k.pod != nil && !isBound(k.pod) && (k.isLast || k.pod.DeletionTimestamp != nil)
}
