// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podset decides what a PodSet needs. It is pure: it calls no API, reads no clock, and the same Observation always
// gives the same Plan. State is what the process knows about a PodSet beyond what its caches show. State.Observe combines
// both to an Observation, MakePlan decides, MakeReport reports the outcome, and State.Record remembers it.
//
// The code and the tests refer to these rules by their numbers:
//
//  1. The pods of a PodSet are those whose controller reference has its UID. Labels are only for users and selectors: the
//     operator never counts, changes, deletes, or adopts a pod that merely has the labels.
//  2. A pod of the PodSet is active unless it is terminating, has succeeded, or has failed. A pod in phase Unknown is
//     active.
//  3. The operator creates and deletes nothing for a PodSet that has a deletion timestamp or is paused.
//  4. One reconcile creates all missing pods. After the API server has rejected a create, the operator creates no pod
//     until the back-off is over or the spec has changed.
//  5. The name of a pod follows from the UID of the PodSet, a slot, and an attempt. A create that is repeated after a
//     crash or from a stale cache therefore finds its own pod instead of creating a second one. The operator fills the
//     lowest free slot first. The attempt grows while a terminating or conflicting pod has the name. A create that was not
//     answered is retried under the same name, since only that name tells whether the pod exists. A pod that admission has
//     renamed counts, because rule 1 applies.
//  6. A pod that the operator has deleted counts as terminating although the cache shows it as running. A pod that is known
//     to be gone does not count at all.
//  7. Surplus pods are deleted in a total order: see byDeletionPriority. A pod that neither the cache
//     nor a lookup shows is not deleted: somebody may have taken it from the PodSet since its create. Until it is shown, no
//     other pod is deleted, so that the order is kept.
//  8. A finished pod is replaced at once. It is deleted after a delay, which grows while pods keep finishing and is not
//     longer after a failed deletion. At most spec.replicas finished pods are replaced before they are deleted, so pods that
//     finish as fast as they start do not pile up.
//  9. Pods of an older template are replaced a few at a time. Pods that are not available are replaced at once, and available
//     ones while at most maxUnavailable pods are not available. A pod is available once it has been Ready for minReadySeconds.
//     The hash of the template covers only what the user wrote, so a new version of the operator replaces no pod. A pod
//     without a hash is not replaced, so that it is not replaced again and again, and does not count as updated.
//  10. The status is computed as a whole and in a fixed order, so it equals the stored one when nothing has changed.
//  11. Some changes can wait a moment for others before the status shows them: the operator's own writes, and a pod that is
//     created, starts, becomes ready, or is gone. Others cannot wait: a pod that begins to terminate, finishes, stops being
//     ready, or cannot start, and a rejected create.
//  12. The operator does not use a template whose pods would finish by themselves: it creates no pod from it, and deletes
//     none because of it.
//  13. A pod that admission has taken from the PodSet, by removing or replacing its controller reference, is deleted by its UID.
//     Until it is, no other pod is created. This counts as a rejection.
//  14. With the policy TerminationComplete, a pod is created only after the earlier pod of its slot is gone. If that pod has the name
//     and the cache does not show it, the same name is tried again.
package podset
