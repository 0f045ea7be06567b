// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The back-off between attempts is that of a Job: 10 s, doubling to 6 minutes.
const minRetryBackoff, maxRetryBackoff = 10 * time.Second, 6 * time.Minute

// The range of times that the API can store: the zero time of Go is stored as null, and a year has four digits.
var (
	firstTime = time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)
	lastTime  = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// retryTime returns when the attempt after a failed one is due. It counts from the end of the failed pod, so that a restart
// of the operator does not change it. If the clock of the node is ahead, it counts from the creation of the pod.
func retryTime(failed *corev1.Pod, attempt int, now time.Time) time.Time {
	from := finishTime(failed)
	if from.IsZero() || from.After(now) {
		from = failed.CreationTimestamp.Time
	}
	return from.Add(min(minRetryBackoff<<attempt, maxRetryBackoff))
}

// apiTime returns a time as the API stores it, in whole seconds, so that a computed status equals the stored one. A time
// outside the range of the API becomes the nearest one inside.
func apiTime(t time.Time) *metav1.Time {
	t = t.UTC().Truncate(time.Second)
	if t.Before(firstTime) {
		t = firstTime
	}
	if t.After(lastTime) {
		t = lastTime
	}
	return &metav1.Time{Time: t}
}

func formatTime(t time.Time) string { return apiTime(t).Format(time.RFC3339) }

// seconds returns n seconds, n >= 0, or the longest time.Duration (292 years) if n is larger.
func seconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Second)-1)) * time.Second
}
