// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package at decides what an At needs. It is pure: the same View always gives the same Step. Memory is what the process knows about an At
// beyond what its caches show. Memory.View combines both, Next decides, and MakeReport computes the status. internal/atspec interprets the
// spec, and internal/atrun decides what the end of a pod proves.
//
// # The start is the removal of a gate
//
// The API server binds no pod that has a scheduling gate to a node, and gates can only be removed. So a pod that has its gate has never run,
// however late its create arrived, and whoever created it. An attempt starts in three requests:
//
//   - prepare: create the pod with the gate, up to 10 s before its time
//   - record: write attempts, podName, podUID, and the phase RUNNING, with the resource version of the At on which the decision was made
//   - open: remove the gate from the pod with that UID
//
// An edit, a cancel, or a deletion of the At comes before the record, which is then rejected as a conflict, or after it. Only a pod that
// this process created itself from the present spec is recorded: the response to the create shows that, or, if it is lost, an annotation of
// the pod with the ID of the request. Any other gated pod of the At that the status does not name is thrown away, after the At was read from
// the API server. Only the pod that the status names is opened.
//
// # Write ahead
//
// Each pass reads, asks, decides, records, and acts. Questions to the API server change nothing and are repeated until a step is decided.
// The step is recorded in the status first. Then at most one request follows, and the next pass sees its answer. So the record precedes the
// start, the UID precedes a stop, and the end precedes the deletion of what is left. A gated pod is deleted before the end that says that the
// command did not run.
//
// # The table
//
// The code and the tests refer to the rows of this table by their numbers. The first row that applies decides. "Recorded" means that the
// status names a pod, which is "the pod". It is "bound" once a node has it. "Between" means that the newest attempt has failed and retryTime
// is set. "Never ran" means that the last known state of a pod that is gone, or is being deleted, was not bound.
//
//	 #  state       the pod          condition                            step                                phase
//	 1  any         not bound, or    the At is being deleted              none                                unchanged
//	                over
//	 2  done        any              a pod of the At has its gate         delete that pod                     DONE
//	 3  done        live                                                  stop the pod                        DONE
//	 4  done        any              the TTL is over                      delete the At                       DONE
//	 5  done        any                                                   delete the budget if that failed    DONE
//	                                                                      before
//	 6  any         any              admission changed the identity of    delete that pod if it is not        DONE, PodModified
//	                                 the created pod                      bound, else record it
//	 7  between     any              canceled                             none                                DONE, Canceled
//	 8  between     any              activeDeadline is over               none                                DONE, DeadlineExceeded
//	 9  between     live                                                  stop the pod                        RUNNING
//	10  between     any                                                   prepare, record, open the next one  RUNNING
//	11  recorded    not in the cache                                      look the pod up                     unchanged
//	12  recorded    never ran        it had its gate                      prepare the same attempt again      RUNNING
//	13  recorded    never ran        it had no gate, or the At must not   none                                DONE, Canceled, DeadlineExceeded,
//	                                 start                                                                    MissedDeadline, or NotStarted
//	14  recorded    gone             the last state or the status proves  as rows 21 to 25
//	                                 the end
//	15  recorded    gone             the watch may still deliver its last wait 5 s                            unchanged
//	                                 state
//	16  recorded    gone             no proof                             none                                DONE, PodLost, Canceled, or
//	                                                                                                          DeadlineExceeded
//	17  recorded    not bound        canceled, activeDeadline or          delete the pod in this state        RUNNING
//	                                 startingDeadline is over
//	18  recorded    has its gate                                          open the pod                        RUNNING
//	19  recorded    live             canceled, activeDeadline is over, or stop the pod                        RUNNING
//	                                 startingDeadline is over and the
//	                                 command has not started
//	20  recorded    live                                                  none                                RUNNING
//	21  recorded    ended            succeeded                            none                                DONE, Completed
//	22  recorded    ended            canceled, and retries are left or    none                                DONE, Canceled
//	                                 the pod was asked to stop
//	23  recorded    ended            activeDeadline is over, and the same none                                DONE, DeadlineExceeded
//	24  recorded    ended            a retry is left, and proven safe     record retryTime                    RUNNING
//	25  recorded    ended                                                 none                                DONE, Failed
//	26  not started                  canceled                             none                                DONE, Canceled
//	27  not started                  a gated pod must not be used         delete it after a read of the At    unchanged
//	28  not started                  the spec is unusable                 wait for an edit                    PENDING
//	29  not started                  suspended                            dry run of the pod                  PENDING
//	30  not started                  startingDeadline is over             none                                DONE, MissedDeadline
//	31  not started                  more than 10 s before its time       dry run of the pod                  PENDING
//	32  not started                  a pod of a deleted At of this name   wait until it is gone               PENDING
//	33  not started                                                       prepare, record, open               PENDING, then RUNNING
//
// In rows 10, 12, and 33, a pod with the name that another object controls, or that has no gate, ends the At as PodNameConflict.
//
// In rows 18 and 33, an At that must not be interrupted gets its PodDisruptionBudget between the record and the removal of the gate. Each
// process that removes the gate has created the budget or has read that it belongs to the At. The budget is deleted once the end is recorded.
//
// A stop lowers the activeDeadlineSeconds of the pod to 1. The kubelet ends its containers with their grace period and keeps the pod with its
// log. The operator deletes a pod that its node has not ended within the grace period and 10 s.
//
// # Which information counts
//
//   - The phase is never read: a phase that was set by hand neither repeats nor skips a run, and the next report corrects it.
//   - An exit code is recorded in the status as soon as it is seen, even while other containers run. Nothing that the pod shows later
//     changes it.
//   - The cache may lag, so a pod counts as gone only after the API server has confirmed it. A pod that is not bound, and that of
//     the run, are deleted with their resource version, so no state is deleted that the operator has not seen.
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
// The pod of an At that waits is sent as a dry run when the At is created or edited, again half an hour before its time, and after 1 minute,
// doubling to 1 hour, while the answer is not good. Nothing depends on the answer except what the condition Ready says.
//
// # The end of a pod
//
// The exit code of the command is the result of the At. A pod ends in the phase Succeeded or Failed. A pod whose command has ended also
// ends when it is terminating, and otherwise after 30 s, or after its grace period if that is longer: a container that admission added, such
// as a proxy, may run forever. Row 3 then stops the pod, which would otherwise use its node and its quota forever.
package at
