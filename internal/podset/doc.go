// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podset decides what a PodSet needs. It is pure: the same Observation always gives the same Plan. State is
// what the process knows about a PodSet beyond what its caches show. State.Observe combines both into an Observation,
// MakePlan decides, MakeReport reports the outcome, and State.Record remembers it.
//
// The code and the tests refer to these rules by their numbers:
//
//  1. The pods of a PodSet are those whose controller reference has its UID. Labels are for users and selectors: the operator never counts,
//     changes, deletes, or adopts a pod that merely has the labels.
//  2. A pod of the PodSet is active unless it is terminating, has succeeded, or has failed. A pod in phase Unknown is active.
//  3. The operator creates and deletes nothing for a PodSet that has a deletion timestamp or is paused.
//  4. One reconcile creates all missing pods. After a create was rejected or has failed, the operator creates no pods until the back-off is
//     over or the spec has changed.
//  5. The name of a pod follows from the UID of the PodSet, a slot, and an attempt. A create that is repeated after a crash or from a stale
//     cache therefore finds its own pod instead of creating a second one. The operator fills the lowest free slot first. The attempt grows
//     while a terminating or conflicting pod has the name. A create without a response is retried under the same name, because only that
//     name shows whether the pod exists. The slot of a pod is in its annotation or, if that was removed, in its label. A pod without both
//     is active, and fills a slot only if the next name of the slot is its own.
//  6. The operator creates, deletes, and reports nothing until the cache shows the pods that it created last, or a lookup shows that they
//     are gone or have another owner. A pod that the operator has deleted is terminating even if the cache shows it as running.
//  7. Surplus pods are deleted in a total order, that of a ReplicaSet: see byDeletionPriority. An unanswered deletion is repeated before
//     others of the same rank.
//  8. A finished pod is replaced at once. It is deleted after a delay, which grows while pods keep finishing, but not after a failed
//     deletion. At most spec.replicas finished pods are replaced before they are deleted, so pods that finish as fast as they start do not
//     pile up.
//  9. Pods of an older template are replaced a few at a time. Pods that are not available are replaced at once, and available ones while at
//     most maxUnavailable pods are not available. A pod is available once it has been Ready for minReadySeconds. The hash of the template
//     covers only what the user wrote, so a new version of the operator replaces no pods. A pod without a hash is never replaced, because
//     its replacement could lose the hash as well, and is not counted as updated.
//  10. The status is computed as a whole and in a fixed order, so it equals the stored one if nothing has changed.
//  11. Some changes can wait a moment for others before the status shows them: the operator's own writes, and a pod that is
//     created, starts, becomes ready, or is gone. Others cannot wait: a pod that begins to terminate, finishes, stops being
//     ready, or cannot start, and a rejected create.
//  12. The operator does not use a template whose pods would finish by themselves: it creates no pod from it, and deletes
//     none because of it.
//  13. The pod in the response to a create must have the requested name and the PodSet as its controller. If admission has changed
//     one of them, the pod is deleted by its UID, and until it is, no other pod is created. If another pod already has the changed
//     name, or another client has taken the pod from the PodSet since, nothing is deleted. Both changes count as a rejection. Other
//     changes by admission are kept.
//  14. With the policy TerminationComplete, a pod is created only after the earlier pod of its slot is gone. If that pod has the name
//     and the cache does not show it, the same name is tried again.
//  15. A PodSet that does not match its spec must make progress within progressDeadlineSeconds: a pod is created, deleted, Ready, or
//     available. Otherwise the status shows that it is stuck, until there is progress. The operator continues in any case.
//  16. Only pods without a template have the labels app and version, so that a user's Service or PodDisruptionBudget selects pods only by
//     labels that the user wrote.
//  17. A pod with a subdomain gets its name as hostname, so that it has a DNS record, unless the template sets the hostname.
package podset
