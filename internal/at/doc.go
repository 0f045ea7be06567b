// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package at decides what an At needs. It is pure: the same View always gives the same Step. Memory is what the process
// knows about an At beyond what its caches show. Memory.View combines both, Next decides, and MakeReport computes the
// status. internal/at/spec interprets the spec, and internal/at/proof decides what the end of a pod proves.
//
// # The start is the removal of a gate
//
// The API server binds no pod that has a scheduling gate to a node, and gates can only be removed. So a pod that has
// its gate has never run, however late its create arrived, and whoever created it. An attempt starts in three requests:
//
//   - prepare: create the pod with the gate, up to 2 s before its time
//   - record: write attempts, podName, podUID, and the phase RUNNING, with the resource version of the At on which the decision was made
//   - open: remove the gate from the pod with that UID
//
// An edit, a cancel, or a deletion of the At comes before the record, which is then rejected as a conflict, or after
// it. Only a pod whose create was answered to this process is recorded, and only if neither the spec nor an image has
// changed since. Any other gated pod of the At is a stray: it is thrown away, after the At was read from the API
// server. Only the pod that the status names is opened. The name of the pod is not a lock: if another pod has it, the
// create is rejected like any other, and repeated.
//
// A pod of the At that has lost its gate although it was not recorded was opened by a user or by admission. It is
// recorded in the write that ends the At, and its command is never run again.
//
// # Write ahead
//
// Each pass reads, asks, decides, records, and acts. Questions to the API server change nothing and are repeated until
// a step is decided. The step is recorded in the status first. Then at most one request follows (the start of an At
// that must not be interrupted creates its budget first), and the next pass sees its answer. So the record precedes the
// start, the UID precedes a stop, and the end precedes the deletion of what is left. A gated pod is deleted, and the
// API server is asked for the name of the pod and for all pods of the At, before the end that says that the command did
// not run.
//
// # The table
//
// The code and the tests refer to the rows of this table by their numbers. The first row that applies decides. An At is
// done, or an attempt is under way (recorded, and not ended), or the At is idle: its next attempt has not begun. That
// is the first one, a retry, or one whose pod was deleted behind its gate. "The pod" is the one that the status names.
// It is bound once a node has it.
//
//	 #  state      condition                                            step                                phase
//	 1  any        the At is being deleted, and no node has the pod     none                                unchanged
//	 2  done       a gated pod is left                                  delete it                           DONE
//	 3  not under  the pod still runs                                   stop it                             DONE or RUNNING
//	    way
//	 4  done       the TTL is over                                      delete the At                       DONE
//	 5  under way  the cache does not show the pod                      look it up                          unchanged
//	 6  under way  the pod is gone or going, and was never bound        as row 8: it did not run            as row 8
//	 7  under way  the pod is gone                                      as row 8, if the last state or the  as row 8; DONE, PodLost,
//	                                                                    status proves the end; record the  or PodModified
//	                                                                    pod that others have opened under
//	                                                                    its name, and end; or end after 5 s
//	                                                                    without its last state
//	 8  under way  the attempt has ended                                none; record retryTime if a retry   DONE, or RUNNING
//	                                                                    is left and proven safe
//	 9  under way  canceled, a deadline is over, or the node has        stop the pod                        RUNNING
//	               started the command again
//	10  under way  the pod has its gate                                 open it; delete it if a user has    RUNNING
//	                                                                    changed its images: another is
//	                                                                    prepared
//	11  under way                                                       none                                RUNNING
//	12  idle       a pod has lost its gate, or admission has changed    record the opened pod, or delete    DONE, PodModified
//	               the created one                                      the gated one; end
//	13  idle       a gated pod must not be used                         read the At, delete the pod         unchanged
//	14  idle       canceled, or a deadline is over                      ask for the pods of the At, end     DONE, Canceled, DeadlineExceeded,
//	                                                                                                        or MissedDeadline
//	15  idle       the spec is unusable, suspended, or it is too early  wait; dry run of the pod            PENDING or RUNNING
//	16  idle       a pod of a deleted At of this name is left           wait until it is gone               unchanged
//	17  idle       there is no prepared pod                             create it                           unchanged
//	18  idle       before its time                                      wait                                unchanged
//	19  idle                                                            record the pod, open it             RUNNING
//
// A stop lowers the activeDeadlineSeconds of the pod to 1. The kubelet ends its containers with their grace period and
// keeps the pod with its log. The stop begins when it is decided for a pod that a node has. The operator deletes a pod
// that no node has, a pod without a log whose deadline it could not lower, and a pod that has not ended within the
// grace period and 10 s, whatever the API server, admission, or the node did in between.
//
// A request that the API server rejects, or that admission undoes, is repeated with a back-off and is in the condition
// Ready until it succeeds. What an earlier process has reported stays there until this process has an answer of its
// own.
//
// # Which information counts
//
//   - The phase is never read: a phase that was set by hand neither repeats nor skips a run, and the next report corrects it.
//   - An exit code is recorded in the status as soon as it is seen, even while other containers run. Nothing that the pod shows later
//     changes it.
//   - The cache may lag, so a pod counts as gone only after the API server has confirmed it, or the watch has delivered its last state. A pod
//     that is not bound, and that of the run, are deleted with their resource version, so no state is deleted that the operator has not seen.
//   - A user with write access to the status can erase it. Then the At starts again. docs/at-most-once.md lists the exceptions for users.
//
// # Time
//
//   - All durations are compared with the earlier of the clocks of this machine and of the API server: see internal/kube/serverclock. An At
//     with the schedule now is due as soon as it is observed.
//   - A relative schedule counts from the creation of the At. A day has 24 hours.
//   - startingDeadlineSeconds has whole seconds and bounds the start of the command. A suspended At stays PENDING, however late it is, until
//     the user reschedules or resumes it. If it is resumed too late, it ends as MissedDeadline, as a CronJob skips a late run.
//   - activeDeadlineSeconds counts from the record of the first attempt and spans all attempts. The kubelet enforces it through the
//     activeDeadlineSeconds of the pod.
//   - Between attempts there is a back-off of 10 s, which doubles up to 6 minutes and counts from when the failure was recorded. It does
//     not depend on the clock of a node.
//   - completionTime is when the end was recorded.
//
// # Dry runs
//
// The pod of an At that waits is sent as a dry run when the At is created or edited, again half an hour before its
// time, and after 1 minute, doubling to 1 hour, while the answer is not good. Nothing depends on the answer except what
// the condition Ready says, and that a pod whose gate admission removes is not created.
//
// # The end of a pod
//
// The exit code of the command is the result of the At. A pod ends in the phase Succeeded or Failed. A pod whose
// command has ended also ends when it is terminating, and otherwise after 30 s, or after its grace period if that is
// longer: a container that admission added, such as a proxy, may run forever. Row 3 then stops the pod, which would
// otherwise use its node and its quota forever.
package at
