// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package invariants checks the actions of the operator against these invariants. It uses only the changes of the objects, and what the
// operator sends and receives, and intentionally shares no code with the operator. The simulation uses it.
//
// PodSet:
//
//   - P1: each new pod has exactly one owner reference, with the UID of the PodSet as controller
//   - P2: active pods never exceed the largest spec.replicas since the PodSet last converged
//   - P3: within 60 s after the last fault, pods and status are correct; then there are no writes for 30 s
//   - P4: every delete has a UID precondition and deletes a pod of the operator; foreign pods are not changed
//   - P5: an owner does not get pods later than 2 s after the operator could see its deletion
//   - P6: Ready pods are not deleted while a pod that is not Ready remains
//   - P7: podNames lists the active pods, sorted; observedGeneration is correct
//   - P8: the operator creates and deletes as many pods as without faults
//   - P9: a rejected create or change of a pod is repeated with a doubling back-off, and a condition has the cause of a rejected create
//   - P10: there are no panics, data races, leaked goroutines, or unexpected exits
//   - P11: updatedReplicas is the number of pods of the current template; events list only pods that were deleted
//   - P12: a crash loop sets Degraded within a minute, and at most once per minute
//   - P13: no two active pods share a slot
//   - P14: a PodSet reports a lack of progress within a minute after progressDeadlineSeconds, and not earlier
//   - P15: a pod whose name or controller admission changed is removed, unless another client has taken it from the PodSet
//   - P16: a rolling update leaves all pods but maxUnavailable available
//
// At:
//
//   - A1: at most one pod can run for each attempt, and nothing runs after a command that may have succeeded
//   - A2: the first pod cannot run before the time or after the starting deadline
//   - A3: the command runs eventually, unless the At is deleted, suspended, or unusable
//   - A4: phases only move forward; DONE requires a finished pod or a reason; conditions agree with the phase
//   - A5: edits before the start take effect; edits after it are rejected
//   - A6: an At that is deleted and created again runs again, once
//   - A7: an unusable spec leads to a condition, at most 2 writes, and no retries
//   - A8: the program receives the user's arguments
//   - A9: a foreign pod with the name of the At's pod is reported and not changed
//   - A10: see P10
//   - A11: reason and exit code are correct: PodLost requires a lost pod, MissedDeadline that no command ran, Canceled a stopped command
//   - A12: an At does not fail if its command ended with exit code 0 before it was stopped
//   - A13: NotStarted requires a pod that was opened and never bound; the status reports what disrupted a pod
//   - A14: deadlines do not end an At early when the clocks of API server, nodes, and operator differ
//   - A15: within a minute, the status explains why a pod does not start
//   - A16: no pod can run after a cancel that came before its start; a cancel cannot be undone
//   - A17: a retry requires proof that the command failed with a code that allows it, or did not run
//   - A18: each pod has the arguments of the spec that the API server had when its attempt was recorded
//   - A19: an attempt begins with a pod that has its gate; the status of an At that waits has the last answer to a dry run; dry runs have a
//     back-off
//   - A20: a retry waits for its back-off after the failure was recorded
//   - A21: the operator opens only a pod that it created itself, and whose UID the status had recorded
//   - A22: a command did not run if the status says so
//   - A23: no pod runs while a pod of an earlier At with the same name can run
//   - A24: a pod that a node has is deleted only after it was asked to stop and its grace period; an At only after its time to live
//   - A25: an end says that the command did not run if that is proven
//   - A26: an At that must not be interrupted has a budget for its pod, and for no other, when the pod is opened
//
// Both:
//
//   - L1: lists and watches do not use resourceVersion=0 (any age), so a new process sees its predecessor's writes
//   - X2: conditions of other controllers are kept
//
// P2 counts create requests, so it holds no matter how admission changes a pod. The invariants of At count pods from when they have no gate: the
// operator has opened them, or they were created without it.
package invariants
