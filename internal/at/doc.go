// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package at decides what an At needs. It is pure: it calls nothing outside, and the same Observation always gives the
// same Plan. State is what the process knows about an At beyond what its caches show. State.Observe combines both to an
// Observation, MakePlan decides, MakeReport computes the status and the events, and State.Record remembers the outcome.
//
// The code and the tests refer to the rows of this table by their numbers. The first row that applies decides, with one
// exception: rows 3 and 4 can both apply. "Own pod" is the pod of the newest attempt. "Live" means that it has not ended.
// "Failed" includes a failed pod that is gone, if the status has a retryTime.
//
//	 #  done      own pod              condition                              action                        phase
//	 1  any       any                  the At is being deleted              none                          unchanged
//	 2  yes       any                  the TTL is not over, or not set      requeue when the TTL is over  DONE
//	 3  yes       any                  the TTL is over                      delete the At                 DONE
//	 4  yes       live                 the reason is DeadlineExceeded       delete the pod                DONE
//	 5  no        recorded, not cached the API server was not asked yet     look the pod up               unchanged
//	 6  no        recorded, gone                                            never run it again            DONE, PodLost
//	 7  no        live                 before activeDeadline                requeue at the deadline       RUNNING
//	 8  no        live                 activeDeadline is over               record, after a lookup of the DONE, DeadlineExceeded
//	                                                                        next attempt if retries are
//	                                                                        left; row 4 deletes the pod
//	 9  no        Succeeded                                                 record                        DONE, Completed
//	10  no        Failed               retries left, back-off not over      requeue after the back-off    RUNNING
//	11  no        Failed               retries left, back-off over          create the next attempt       RUNNING
//	12  no        Failed               activeDeadline is over, and retries  record                        DONE, DeadlineExceeded
//	                                   are left or the kubelet ended it
//	13  no        Failed               no retries left                      record                        DONE, Failed
//	14  no        none                 schedule, command, or template is    wait for an edit              PENDING
//	                                   unusable
//	15  no        none                 paused or suspended                  none                          PENDING
//	16  no        none                 before the scheduled time            requeue at that time          PENDING
//	17  no        none                 startingDeadline is over             record                        DONE, MissedDeadline
//	18  no        none                 due                                  create <name>-pod             RUNNING
//
// Rows 11 and 18 create a pod, unless one of these rows applies:
//
//	19  a pod of an older At of the same name has the name of the pod       wait until the garbage        unchanged
//	                                                                        collector has removed it
//	20  any other pod has the name                                          leave that pod alone          DONE, PodNameConflict
//	21  the API server rejected the last create                             requeue after the back-off    unchanged
//	22  the create fails in another way                                     retry with back-off           unchanged
//
// Row 17 looks up the pod of the first attempt before it records anything. Rows 12 and 13 look up the pod of the next
// attempt if that pod may exist: retries are left, or the status has a retryTime. Row 11 also waits for an edit while the
// command or the template is unusable. Row 4 waits until the cache or a lookup shows the pod.
// Rows 10 to 12 need a run that is known to have failed, or not to have run. Otherwise row 13 applies.
//
// # Which information counts
//
//   - A pod belongs to the run if the At controls it by UID and it has the name of an attempt. Labels and annotations are
//     only for users.
//   - A pod counts more than the status. If the operator crashes after it has created a pod, the pod is the only record of
//     the run.
//   - The record in the status (podUID, attempts) counts where no pod contradicts it. A recorded run whose pod is gone ends
//     as PodLost and is never repeated. A forged record that names no pod ends in the same way. If the record has a
//     retryTime, the run has failed, and the next attempt follows although the pod is gone.
//   - The cache may lag, and the response to a create may have been lost. Therefore the absence of a pod ends an At only
//     after the API server has confirmed the absence.
//   - An At is done if its status has a completionTime, a known reason, and the result that belongs to the reason. The
//     phase is never read. A phase that was set by hand neither repeats nor skips a run, and the next report corrects it.
//   - The operator creates the pod before it writes the status, so that the command starts on time. This leaves one case in
//     which a command can run twice: somebody deletes the pod before its run is recorded, and at the same time the operator
//     crashes or loses the response to the create. Nothing is left then that shows the run.
//   - A user who may write the status can also erase it. The pods decide then. If they are deleted too, the At runs again.
//     The same is true for a backup of etcd that is older than the run.
//   - Kubernetes starts a container of such a pod once: templateProblem rejects everything that restarts one. The kubelet
//     still starts it again if it loses the state of the container, or if somebody changes the image in the pod.
//   - docs/at-most-once.md lists these exceptions for users.
//
// # Time
//
//   - A relative schedule counts from the creation of the At. A day has 24 hours.
//   - startingDeadlineSeconds counts whole seconds and is checked when the At could start. An At that is suspended or paused
//     stays PENDING however late it is, until the user reschedules or releases it. If it is released too late, it ends as
//     MissedDeadline. A CronJob skips a late run in the same way.
//   - activeDeadlineSeconds counts from the creation of the first pod and spans all attempts. The kubelet enforces it through
//     the activeDeadlineSeconds of the pod and keeps the pod for its logs. The operator deletes a pod that never ran at the
//     deadline. It deletes a pod that ran only if the kubelet has not stopped it within its grace period and 10 s: the pod
//     was bound late, or its node is gone.
//   - Between attempts there is a back-off of 10 s, which doubles up to 6 minutes and counts from the end of the failed pod,
//     as in a Job. No attempt follows DeadlineExceeded. No attempt follows PodLost either, because nobody knows whether the
//     command did its work.
//   - While the pause annotation is true, the operator creates and deletes nothing. Deadlines and TTLs that need a deletion
//     wait, too. A run that ends in the meantime is recorded.
//
// # The condition Ready
//
// Tools that wait for resources (Flux, Helm, Argo CD) read the conditions Ready and Stalled, which follow from the others. An At
// that waits, is suspended, or is paused is Ready, because nothing remains to be done for it now. An At that runs is not Ready.
// An At that has failed, is unusable, or whose pod is rejected is also Stalled. Row 22 is reported after 5 s.
//
// # The end of a pod
//
// An At is done when its pod is in the phase Succeeded or Failed. A container that a webhook added and that never ends keeps
// the At RUNNING; activeDeadlineSeconds helps. A pod that somebody deletes is live until it is gone or its command has ended,
// whichever the operator observes first. The exit code is that of the container that runs the command, which is found by its
// name.
package at
