// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"encoding/binary"
	"hash/fnv"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

const (
	// letters are those of Kubernetes' generated names: no vowels, so no words, and nothing that looks like another.
	letters      = "bcdfghjklmnpqrstvwxz2456789"
	suffixLength = 5
	infix        = "-pod"
)

// place is where a pod belongs: its slot, and how many names of that slot were taken before it.
type place struct{ slot, attempt int }

// podName is the name of the pod of a place: <name>-pod<5 letters or digits> (rule 5). The name of the PodSet is cut
// where the whole would not fit into a host name.
func podName(set *appv1alpha1.PodSet, p place) string {
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

// slotOf reads the slot of a pod; ok is false when nobody or somebody else wrote it.
func slotOf(pod *corev1.Pod) (slot int, ok bool) {
	slot, err := strconv.Atoi(pod.Annotations[appv1alpha1.AnnotationSlot])
	return slot, err == nil && slot >= 0
}

// freePlaces gives the next n places: the lowest slots that no active pod fills, each with the first attempt whose name
// is not taken.
func freePlaces(o Observation, active []*corev1.Pod, n int) []place {
	filled, taken := sets.New[int](), sets.New[string]()
	for _, pod := range active {
		if slot, ok := slotOf(pod); ok {
			filled.Insert(slot)
		}
	}
	for _, pod := range o.Pods {
		taken.Insert(pod.Name)
	}
	var places []place
	for slot := 0; len(places) < n; slot++ {
		if filled.Has(slot) {
			continue
		}
		p := place{slot: slot}
		name := podName(o.Set, p)
		for taken.Has(name) || o.Taken.Has(name) {
			p.attempt++
			name = podName(o.Set, p)
		}
		taken.Insert(name)
		places = append(places, p)
	}
	return places
}
