// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podset decides what a PodSet needs. It talks to nobody: an Observation goes in, a Plan comes out, and after
// the plan was carried out a status and events. The same observation always gives the same plan.
//
// The rules, by the numbers that the code and the tests name:
//
//  1. Ours are the pods whose controller reference has this PodSet's UID. Labels are for people and selectors: a foreign
//     pod with our labels is never counted, changed or deleted, and nothing is adopted.
//  2. Active is a pod of ours that is not terminating and has neither succeeded nor failed. Phase Unknown is active.
//  3. Once the PodSet has a deletionTimestamp, or is paused, nothing is created and nothing is deleted.
//  4. Missing pods are created in one pass. After a refusal by the API server no pod is created until the back-off is
//     over or the spec has changed.
//  5. A pod's name follows from the PodSet's UID, a slot and an attempt, so that a create that is repeated after a crash
//     or with a stale cache meets its own pod instead of making a second one. The lowest free slot is filled first; the
//     attempt grows while the name is taken.
//  6. A pod whose deletion we asked for counts as terminating although the cache does not show it yet.
//  7. Surplus pods die in a total order, worst first: see order.go.
//  8. A finished pod is replaced at once and removed when the back-off of its PodSet is over. At most spec.replicas
//     finished pods are replaced ahead of their removal, so that pods which end as fast as they start make no flood.
//  9. Pods of an older template are replaced a few at a time: those that are not Ready at once, Ready ones while at most
//     maxUnavailable pods are unready. The template's hash is taken over the user's template alone, so a new version of
//     the operator replaces no pod. A pod without a hash is taken for current: it is never replaced in a circle.
//  10. The status is computed as a whole, in a fixed order, so that at rest it equals the one that is stored.
//  11. A pod that exists, starts, becomes Ready or is gone at last waits a moment for others like it before the status
//     tells, and so does what we did ourselves. A pod that begins to go, ends, stops being Ready, or cannot start is dealt
//     with at once, and so is a refusal.
//  12. A template whose pods would end by themselves is not used: no pod is created of it, and none is deleted for it.
package podset
