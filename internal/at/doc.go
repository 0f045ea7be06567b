// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package at decides what an At needs. It is pure: the same Observation always gives the same Plan. State is what the process knows about
// an At beyond what its caches show. State.Observe combines both into an Observation, MakePlan decides, MakeReport computes the status, and
// State.Record remembers the outcome. internal/atspec interprets the spec, and internal/atrun decides which pod is the run and what its end
// proves.
//
// # The start is a compare-and-swap
//
// An attempt begins with a write of the status that requires the resource version on which the decision was made: attempts is one higher,
// podName is the name of its pod, podUID and retryTime are absent. Then the pod is created, and then podUID, startTime, and the phase
// RUNNING are recorded. So an edit, a cancel, or a deletion either precedes the start, and the write is rejected as a conflict, or follows
// it. Two processes cannot both begin an attempt, and a process that finds attempts without podUID knows that the pod may exist. A start is
// never undone: a rejected create is repeated, with the same name and the same words, until it succeeds, a deadline ends the At, or the
// user cancels it. An attempt starts only after a dry run of its pod has passed for this generation of the spec, unless the answer said
// nothing about the pod.
//
// # The state table
//
// The code and the tests refer to the rows of this table by their numbers. The first row that applies decides. "Started" means that
// status.attempts is at least 1. "The pod" is that of the newest attempt, and its UID is the one in the status or that of the pod that this
// process has seen under its name. "Live" means that it has not ended.
//
//	 #  started   the pod              condition                              action                        phase
//	 1  any       any                  the At is being deleted, and is done,  none                          unchanged
//	                                   has no pod, or waits for a retry
//	 2  any       any                  done, the TTL is not over or not set   delete a pod that is live     DONE
//	 3  any       any                  done, the TTL is over                  the same; delete the At       DONE
//	 4  yes       any                  admission changed the identity of a    row 2 deletes that pod        DONE, PodModified
//	                                   pod of the At
//	 5  yes       any                  retryTime is set, canceled             none                          DONE, Canceled
//	 6  yes       any                  retryTime is set, activeDeadline over  none                          DONE, DeadlineExceeded
//	 7  yes       any                  retryTime has not come                 requeue at retryTime          RUNNING
//	 8  yes       any                  retryTime has come                     start the next attempt        RUNNING
//	 9  yes       UID not known        a rejection, and its back-off          requeue after the back-off    unchanged
//	10  yes       UID not known        canceled, or the deadline is over      after a lookup: none          DONE, Canceled or PodLost
//	11  yes       UID not known                                               after a lookup, unless this   unchanged
//	                                                                          process has just begun the
//	                                                                          attempt: create the pod
//	12  yes       gone                 the watch may still deliver its last   after a lookup: wait 5 s      unchanged
//	                                   state
//	13  yes       gone                 no proof of its end                    after a lookup: none          DONE, PodLost, Canceled, or
//	                                                                                                        DeadlineExceeded
//	14  yes       live                 canceled, or activeDeadline is over    delete the pod once its UID   RUNNING
//	                                                                          is recorded
//	15  yes       live                                                        requeue at the deadline       RUNNING
//	16  yes       ended, succeeded     not stopped by the operator            none                          DONE, Completed
//	17  yes       ended                canceled, and retries are left or the  none                          DONE, Canceled
//	                                   pod was stopped
//	18  yes       ended                activeDeadline is over, and retries    none                          DONE, DeadlineExceeded
//	                                   are left or the pod was stopped
//	19  yes       ended                a retry is left, and proven to be safe record retryTime              RUNNING
//	20  yes       ended                                                       none                          DONE, Failed
//	21  no        any                  canceled                               none                          DONE, Canceled
//	22  no        any                  schedule, command, or template is      wait for an edit              PENDING
//	                                   unusable
//	23  no        any                  suspended                              check the pod                 PENDING
//	24  no        any                  before the scheduled time              check the pod, and requeue    PENDING
//	                                                                          at that time
//	25  no        any                  startingDeadline is over               none                          DONE, MissedDeadline
//	26  no        any                  a pod of a deleted At of this name     wait until it is gone         PENDING
//	                                   exists
//	27  no        any                  due                                    start the first attempt       PENDING
//
// Rows 16 to 20 also apply to a pod that is gone, if its last state or the status proves how it ended. A start and a create can have these
// outcomes:
//
//	28  admission would change, or has changed, the identity of the pod       none                          DONE, PodModified
//	29  a pod of a deleted At of the same name has the name of the pod       wait until it is gone         unchanged
//	30  any other pod has the name                                           leave that pod alone          DONE, PodNameConflict
//	31  the API server rejects the pod                                       requeue after the back-off    unchanged
//	32  the create fails in another way                                      retry with back-off           unchanged
//
// # Which information counts
//
//   - The record in the status decides whether an attempt has begun. The phase is never read: a phase that was set by hand neither repeats
//     nor skips a run, and the next report corrects it.
//   - An exit code is recorded in the status as soon as it is seen, even while other containers run. Nothing that the pod shows later
//     changes it.
//   - The cache may lag, so a pod counts as absent only after the API server has confirmed it.
//   - A user with write access to the status can erase it. Then the At starts again, under the same pod names. docs/at-most-once.md lists
//     the exceptions for users.
//
// # Time
//
//   - All durations are compared with the earlier of the clocks of this machine and of the API server: see internal/kube/serverclock. An At
//     with the schedule now is due as soon as it is observed.
//   - A relative schedule counts from the creation of the At. A day has 24 hours.
//   - startingDeadlineSeconds has whole seconds and is checked when the At could start. A suspended At stays PENDING, however late it is,
//     until the user reschedules or resumes it. If it is resumed too late, it ends as MissedDeadline, as a CronJob skips a late run.
//   - activeDeadlineSeconds counts from the creation of the first pod and spans all attempts. The kubelet enforces it through the
//     activeDeadlineSeconds of the pod and keeps the pod for its logs. The operator deletes a pod that has no node at the deadline, and any
//     other pod if the kubelet has not ended it within its grace period and 10 s. The At ends after the pod, as a Job does.
//   - Between attempts there is a back-off of 10 s, which doubles up to 6 minutes and counts from when the failure was recorded. It does
//     not depend on the clock of a node.
//
// # Checks
//
// The pod of an At that waits is checked by a dry run when the At is created or edited, again half an hour before its time, and after 1
// minute, doubling to 1 hour, while the answer is not good. A start needs an answer from the last hour.
//
// # The condition Ready
//
// Tools that wait for resources (Flux, Helm, Argo CD) read the conditions Ready and Stalled, which follow from the others. An At that waits
// or is suspended is Ready, unless the API server would reject its pod. An At that runs is not Ready. An At is also Stalled if it has
// failed, is unusable, or its pod is or would be rejected. Row 32 is reported after 5 s.
//
// # The end of a pod
//
// The exit code of the command is the result of the At. A pod ends in the phase Succeeded or Failed. A pod whose command has ended also
// ends when it is terminating, and otherwise 30 s later: a container that admission added, such as a proxy, may run forever. Row 2 then
// deletes the pod, which would otherwise use its node and its quota forever. A command that exits with 0 in the second in which the
// operator stopped it, or later, has not succeeded: times have whole seconds, so the order is not known.
package at
