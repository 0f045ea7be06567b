// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// knownPod is one pod of the At as this process knows it.
type knownPod struct {
	// pod is its newest known state.
	pod *corev1.Pod
	// generation is that of the spec from which this process created the pod, or 0. Admission may have removed the annotation.
	generation int64
	// exists is true if the pod is assumed to exist: the cache shows it, or has not had the time to show it, or the API server just did.
	exists bool
	// gone is true if the pod does not exist anymore. If the status records it, pod is also its last state.
	gone bool
	// deleted is true if this process has requested the deletion of the pod, and the API server has answered.
	deleted bool
	// shown is true if the cache has shown the pod.
	shown bool
	// confirmed is when the pod was last known to exist. missingSince is when it was first known not to, or zero.
	confirmed, missingSince time.Time
}

// modification is a pod that this process created and whose identity admission changed. It may belong to another object now.
type modification struct {
	// what was changed, or "" if no pod was modified.
	what string
	// pod is the pod, or nil if another pod has the name that admission gave it.
	pod *corev1.Pod
	// deleted is true if the API server has deleted it as it was.
	deleted bool
}

// find returns the pod with a UID, or the zero value.
func find(known []knownPod, uid types.UID) knownPod {
	for _, k := range known {
		if k.pod.UID == uid {
			return k
		}
	}
	return knownPod{}
}

// with returns the pods after a change to one of them, which is added if it is new. The original is not modified.
func with(known []knownPod, pod *corev1.Pod, change func(k *knownPod)) []knownPod {
	known = slices.Clone(known)
	i := slices.IndexFunc(known, func(k knownPod) bool { return k.pod.UID == pod.UID })
	if i < 0 {
		i, known = len(known), append(known, knownPod{pod: pod})
	}
	if !expectations.IsLater(known[i].pod, pod.ResourceVersion) {
		known[i].pod = pod
	}
	change(&known[i])
	return known
}

// observe returns the pods that are known after a look at the caches and at the answers. It forgets a pod that is gone, unless the status
// records it.
func observe(known []knownPod, seen Seen, answers Answers, now time.Time) []knownPod {
	confirm := func(k *knownPod) { k.confirmed = now }
	for _, pod := range seen.Pods {
		known = with(known, pod, confirm)
	}
	for _, pod := range answers.Pods {
		if pod != nil && atrun.IsOwn(seen.At, pod) {
			known = with(known, pod, confirm)
		}
	}
	if last := seen.LastState; last != nil && !pods.Contains(seen.Pods, last.UID) {
		known = with(known, last, func(k *knownPod) { k.gone = true })
	}
	var kept []knownPod
	for _, k := range known {
		k = k.observe(seen, answers, now)
		if k.pod.UID == seen.At.Status.PodUID || !k.isOver(seen, answers) {
			kept = append(kept, k)
		}
	}
	return kept
}

// observe returns what is known about one pod after a look at the caches and at the answers.
func (k knownPod) observe(seen Seen, answers Answers, now time.Time) knownPod {
	k.shown = k.shown || pods.Contains(seen.Pods, k.pod.UID)
	denied, confirmed := answers.deny(seen.At, k.pod), k.confirmed.Equal(now)
	k.exists = !k.gone && !denied && (confirmed || !k.shown && now.Sub(k.confirmed) < expectations.ConfirmAfter)
	switch {
	case confirmed && !denied:
		k.missingSince = time.Time{}
	case k.missingSince.IsZero():
		k.missingSince = now
	}
	return k
}

// isOver reports whether a pod that the status does not record need not be known anymore: it is gone, and the cache shows that, or the API
// server has said that a pod which this process created does not exist.
func (k knownPod) isOver(seen Seen, answers Answers) bool {
	if k.generation != 0 && answers.deny(seen.At, k.pod) {
		return true
	}
	return !pods.Contains(seen.Pods, k.pod.UID) && (k.gone || k.generation == 0 && !k.exists)
}
