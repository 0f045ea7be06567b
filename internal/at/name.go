// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
)

const (
	// maxBackoffLimit is the maximum of spec.backoffLimit.
	maxBackoffLimit = 10
	// maxNameLength is the longest DNS label and label value. A pod's name may be longer, its host name may not.
	maxNameLength = 63
)

// PodName returns the name of the pod of an attempt, counted from 0: <name>-pod, <name>-pod-1, and so on. The API server
// accepts a name once, so the name prevents that an attempt is created twice. Therefore it depends only on the arguments.
// Two pairs of name and attempt never have the same pod name unless the name was shortened. A name of more than 63 characters
// is shortened, and a hash of the UID distinguishes it from others with the same prefix.
func PodName(at *cnatv1alpha1.At, attempt int) string {
	suffix := "-pod"
	if attempt > 0 {
		suffix += "-" + strconv.Itoa(attempt)
	}
	return shorten(at.Name, at.UID, suffix)
}

// labelValue returns the name of the At as the value of a label.
func labelValue(at *cnatv1alpha1.At) string {
	return shorten(at.Name, at.UID, "")
}

func shorten(name string, uid types.UID, suffix string) string {
	if len(name)+len(suffix) <= maxNameLength {
		return name + suffix
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(uid)) // never fails: see hash.Hash
	suffix = fmt.Sprintf("-%08x%s", hash.Sum32(), suffix)
	// A name with a dot or a dash before the dash of the suffix is invalid.
	return strings.TrimRight(name[:maxNameLength-len(suffix)], "-.") + suffix
}

// IsOwn reports whether a pod was created for the At: the At controls it by UID, or it has no controller and the At's UID in an
// annotation or in the record of the run. Admission can remove the controller reference of a new pod.
func IsOwn(at *cnatv1alpha1.At, pod *corev1.Pod) bool {
	owner := pods.OwnerUID(pod)
	return owner == at.UID || owner == "" && (pod.UID == at.Status.PodUID || pod.Annotations[cnatv1alpha1.AnnotationUID] == string(at.UID))
}

// attemptOf returns the attempt of an own pod, from 0. Its name counts first, because nobody can change it. Admission can give a new pod
// another name. Then the process that created the pod knows the attempt, or the record of the run tells it, or an annotation. If admission
// has removed that too, a pod that is newer than the one of the record is of the next attempt. Otherwise the number of own pods that are
// older counts.
func (o Observation) attemptOf(pod *corev1.Pod) int {
	for attempt := range maxBackoffLimit + 1 {
		if pod.Name == PodName(o.At, attempt) {
			return attempt
		}
	}
	if pod.UID == o.created.uid {
		return o.created.attempt
	}
	record := &o.At.Status
	if pod.UID == record.PodUID && record.Attempts > 0 {
		return int(record.Attempts) - 1
	}
	if attempt, err := strconv.Atoi(pod.Annotations[cnatv1alpha1.AnnotationAttempt]); err == nil && attempt >= 0 && attempt <= maxBackoffLimit {
		return attempt
	}
	if recorded := o.recordedCreation(); recorded != nil && recorded.Before(&pod.CreationTimestamp) {
		return int(record.Attempts)
	}
	older := 0
	for _, other := range o.Pods {
		if IsOwn(o.At, other) && other.CreationTimestamp.Before(&pod.CreationTimestamp) {
			older++
		}
	}
	return older
}

// recordedCreation returns when the pod that the status names was created, or nil if that is not known.
func (o Observation) recordedCreation() *metav1.Time {
	record := &o.At.Status
	if pod := pods.ByUID(o.Pods, record.PodUID); pod != nil {
		return &pod.CreationTimestamp
	}
	if record.Attempts == 1 {
		return record.StartTime
	}
	return nil
}
