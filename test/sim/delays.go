// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

// delayOfUpdate returns how long a rolling update may wait until each pod has been Ready for minReadySeconds. The date of a pod is by the clock
// of its node; the operator uses the earlier of two clocks.
func (e *env) delayOfUpdate(set *appv1alpha1.PodSet) time.Duration {
	if set.Spec.MinReadySeconds == 0 {
		return 0
	}
	return time.Duration(*set.Spec.Replicas) * (time.Duration(set.Spec.MinReadySeconds)*time.Second + max(e.nodesAhead-min(e.serverAhead, 0), 0))
}

// delayOfCleanup returns how long the deletion of finished pods may take, which also changes the status, if the clock has jumped.
func (e *env) delayOfCleanup() time.Duration {
	if e.scenario.has(Jumps) {
		return cleanupDelay
	}
	return 0
}

// delayOfRejection returns how long the operator may wait because creates of an owner's pods were rejected.
func (e *env) delayOfRejection(owner types.UID) time.Duration {
	for _, write := range e.writes {
		if write.Owner == owner && (write.Code == http.StatusForbidden || write.Verb == "create" && write.Code == http.StatusConflict) {
			return rejectionDelay
		}
	}
	return 0
}

// delayOfNodes returns how long the actions of nodes on some pods may last. Only pods of PodSets crash again and again, and other
// containers outlive only the commands of Ats.
func (e *env) delayOfNodes(invariant string) (delay time.Duration) {
	if e.scenario.has(Hang) || e.scenario.has(CrashLoop) && invariant == "P3" || e.scenario.has(Purge) && invariant == "A3" {
		delay += fateTime
	}
	if e.scenario.has(Stuck) && invariant == "P3" { // A rolling update may wait for each pod.
		delay += 3 * fateTime
	}
	if e.webhook.injects && invariant == "A3" {
		delay += time.Minute
	}
	if invariant == "A3" { // The operator uses the earlier of two clocks, and waits for the containers of each attempt by that of the node.
		delay += 4 * max(e.serverAhead, e.nodesAhead, 0)
	}
	return delay
}

// delayOfRetry returns how long the operator may wait for a retry, or to delete an At, because its clock was ahead when the last attempt failed.
func (e *env) delayOfRetry(at *cnatv1alpha1.At) time.Duration {
	for _, t := range []*metav1.Time{at.Status.RetryTime, at.Status.CompletionTime} {
		if t == nil {
			continue
		}
		e.retry = max(e.retry, t.Sub(e.faultsEnded)-min(e.serverAhead, 0)) // The operator uses the earlier of two clocks.
	}
	return e.retry
}

// atDelay returns how long the operator may wait for the time of an At, for the grace period of its pod before it stops the pod and before it
// deletes it, and, if it has failed, for its next attempt.
func (e *env) atDelay(at *cnatv1alpha1.At) time.Duration {
	delay := time.Minute
	if ptr.Deref(at.Spec.BackoffLimit, 0) > 0 {
		delay = retryDelay
	}
	if template := at.Spec.Template; template != nil {
		delay += 2 * time.Duration(ptr.Deref(template.Spec.TerminationGracePeriodSeconds, 0)) * time.Second
	}
	if due, ok := invariants.Due(at); ok {
		delay += max(due.Sub(e.faultsEnded), 0)
	}
	return delay
}
