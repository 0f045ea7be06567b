// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/pods"
)

const (
	// MaxAttempts is one more than the maximum of spec.backoffLimit.
	MaxAttempts = 11
	// maxNameLength is the longest DNS label and label value. A pod's name may be longer, its host name may not.
	maxNameLength = 63
)

// PodName returns the name of the pod of an attempt, counted from 0: <name>-pod, <name>-pod-1, and so on. It depends
// only on the arguments, so that users can predict it. Two pairs of name and attempt never have the same pod name
// unless the name was shortened. A name of more than 63 characters is shortened, and a hash of the UID distinguishes it
// from others with the same prefix.
func PodName(at *cnatv1alpha1.At, attempt int) string {
	suffix := "-pod"
	if attempt > 0 {
		suffix += "-" + strconv.Itoa(attempt)
	}
	return shorten(at.Name, at.UID, suffix)
}

// LabelValue returns the name of the At as the value of a label.
func LabelValue(at *cnatv1alpha1.At) string {
	return shorten(at.Name, at.UID, "")
}

// SelectorLabels returns the labels of the pods of an At.
func SelectorLabels(at *cnatv1alpha1.At) map[string]string {
	return map[string]string{pods.LabelManagedBy: pods.ManagedBy, cnatv1alpha1.LabelAt: LabelValue(at)}
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
