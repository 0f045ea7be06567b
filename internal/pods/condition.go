// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/redhat/podset-operator/internal/event"
)

// maxMessage limits the message of a condition, which may quote other messages, in bytes.
const maxMessage = 1024

// maxConditions is the maxItems of status.conditions in the CRDs of both kinds.
const maxConditions = 16

// StampConditions completes conditions that were computed at now for a generation of a spec, and adds those in stored
// whose type is not in own: they belong to other controllers. A computed condition keeps its transition time from
// stored while its status is the same. Times have whole seconds, as the API stores them, so that unchanged conditions
// equal the stored ones.
func StampConditions(computed, stored []metav1.Condition, own sets.Set[string], generation int64, now time.Time) []metav1.Condition {
	for i := range computed {
		c := &computed[i]
		c.Message = event.Cut(c.Message, maxMessage)
		c.ObservedGeneration = generation
		c.LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
		if old := meta.FindStatusCondition(stored, c.Type); old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
	for _, c := range stored {
		if !own.Has(c.Type) && len(computed) < maxConditions {
			computed = append(computed, c)
		}
	}
	return computed
}
