// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

const (
	// letters are those of the names that Kubernetes generates: without vowels, so that no words appear, and without
	// similar characters.
	letters      = "bcdfghjklmnpqrstvwxz2456789"
	suffixLength = 5
	infix        = "-pod"
)

// slotAttempt is a slot and an attempt. The attempt is the number of names of the slot that were in use before.
type slotAttempt struct{ slot, attempt int }

// MinAttempt is the lowest possible attempt of a slot.
type MinAttempt struct {
	Attempt int
	// Unanswered is true if a create of this attempt may have succeeded without a response. The name is then used even
	// if the cache shows a pod with it: the cache may show an older pod of that name.
	Unanswered bool
}

// podName returns the name of the pod of a slot and attempt: <name>-pod<5 letters or digits> (rule 5). The name of the
// PodSet is shortened if the result would be too long for a host name.
func podName(set *appv1alpha1.PodSet, p slotAttempt) string {
	hash := fnv.New64a()
	hash.Write([]byte(set.UID))
	var number [16]byte
	binary.BigEndian.PutUint64(number[:8], uint64(p.slot))    //nolint:gosec // never negative
	binary.BigEndian.PutUint64(number[8:], uint64(p.attempt)) //nolint:gosec // never negative
	hash.Write(number[:])

	sum := hash.Sum64()
	suffix := make([]byte, suffixLength)
	for i := range suffix {
		suffix[i] = letters[sum%uint64(len(letters))]
		sum /= uint64(len(letters))
	}
	base := set.Name
	if room := validation.DNS1123LabelMaxLength - len(infix) - suffixLength; len(base) > room {
		base = strings.TrimRight(base[:room], "-.")
	}
	return base + infix + string(suffix)
}

// slotOf returns the slot of a pod, from its annotation or else from its label. ok is false if an admission webhook or
// a user has removed both.
func slotOf(pod *corev1.Pod) (slot int, ok bool) {
	if slot, ok := number(pod.Annotations[appv1alpha1.AnnotationSlot]); ok {
		return slot, true
	}
	return number(pod.Labels[appv1alpha1.LabelSlot])
}

// number returns the value of an annotation or a label that is a non-negative number.
func number(value string) (n int, ok bool) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return 0, false
	}
	return n, true
}

// freeSlots returns n slots without an active pod, sorted, each with the first possible attempt whose name is not in
// use, as far as the cache shows. Slots with unanswered creates come first, because their pods may exist, and then the
// lowest ones.
func freeSlots(o Observation, active []*corev1.Pod, n int) []slotAttempt {
	filled, used := sets.New[int](), map[string]bool{} // by name: whether an active pod has it
	for _, pod := range o.Pods {
		used[pod.Name] = false
	}
	for _, pod := range active {
		used[pod.Name] = true
		if slot, ok := slotOf(pod); ok {
			filled.Insert(slot)
		}
	}
	var free []slotAttempt
	add := func(slot int) {
		p, ok := freeAttempt(o, slot, used)
		if !ok || filled.Has(slot) || len(free) == n {
			return
		}
		filled.Insert(slot)
		free = append(free, p)
	}
	for slot := range o.desired() {
		if o.Attempts[slot].Unanswered {
			add(slot)
		}
	}
	for slot := 0; len(free) < n; slot++ {
		add(slot)
	}
	slices.SortFunc(free, func(a, b slotAttempt) int { return a.slot - b.slot })
	return free
}

// freeAttempt returns the first possible attempt of a slot whose name is not in use. ok is false if an active pod has
// the name of an earlier attempt: that pod fills the slot.
func freeAttempt(o Observation, slot int, used map[string]bool) (p slotAttempt, ok bool) {
	first := o.Attempts[slot]
	for p = (slotAttempt{slot: slot, attempt: first.Attempt}); ; p.attempt++ {
		active, inUse := used[podName(o.Set, p)]
		switch {
		case active:
			return p, false
		case !inUse || first.Unanswered:
			return p, true
		}
	}
}

// attemptsAfter returns the lowest possible attempt of each slot after a plan was carried out. A slot whose pod was
// created starts over. A slot whose name a conflicting pod has uses the next attempt, unless it waits for that pod
// (rule 14). Every other create may have succeeded although its response was lost. It is retried under the same name,
// because another name could give the slot two pods.
func attemptsAfter(o Observation, attempts map[int]MinAttempt, plan Plan, outcome Outcome) map[int]MinAttempt {
	planned := plan.Create
	if len(planned) == 0 || len(attempts) == 0 && len(outcome.Created) == len(planned) {
		return attempts
	}
	next := map[int]MinAttempt{}
	maps.Copy(next, attempts)
	for _, pod := range planned {
		of := plannedFor(pod)
		switch {
		case slices.ContainsFunc(outcome.Created, func(created *corev1.Pod) bool { return created.Name == pod.Name }):
			delete(next, of.slot)
		case outcome.Conflicting != nil && outcome.Conflicting.Name == pod.Name && !o.isPredecessor(outcome.Conflicting):
			next[of.slot] = MinAttempt{Attempt: of.attempt + 1}
		default:
			next[of.slot] = MinAttempt{Attempt: of.attempt, Unanswered: true}
		}
	}
	return next
}

// plannedFor returns the slot and the attempt of a planned pod, which newPod has set.
func plannedFor(pod *corev1.Pod) slotAttempt {
	slot, _ := number(pod.Annotations[appv1alpha1.AnnotationSlot])
	attempt, _ := number(pod.Annotations[appv1alpha1.AnnotationAttempt])
	return slotAttempt{slot, attempt}
}

func fills(pod *corev1.Pod, slot int) bool {
	of, ok := slotOf(pod)
	return ok && of == slot
}
