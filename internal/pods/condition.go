// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/redhat/podset-operator/internal/event"
)

// maxMessage bounds the message of a condition, which may quote others, in bytes.
const maxMessage = 1024

// StampConditions completes conditions that were computed at now for a generation of a spec. A condition keeps the
// transition time that it has in stored while its status is the same. Times have whole seconds, as the API stores them,
// so that conditions which did not change equal the stored ones.
func StampConditions(conditions, stored []metav1.Condition, generation int64, now time.Time) {
	for i := range conditions {
		c := &conditions[i]
		c.Message = event.Cut(c.Message, maxMessage)
		c.ObservedGeneration = generation
		c.LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
		if old := meta.FindStatusCondition(stored, c.Type); old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
}
