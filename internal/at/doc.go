// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package at decides what an At needs. It talks to nobody: an Observation goes in, a Plan comes out, and after the plan
// was carried out a Report: the status, the events, and when to look again. The same observation always gives the same
// plan.
//
// The rows of the state table, by the numbers that the tests name. The first that fits decides; "own pod" is the pod of
// the newest attempt.
//
//	 #  finished  own pod              and                                  action                        phase
//	 1  any       any                  the At is being deleted              none                          unchanged
//	 2  yes       any                  the ttl is not over, or there is none  none                        DONE
//	 3  yes       any                  the ttl is over                      delete the At                 DONE
//	 4  yes       live                 it ended as DeadlineExceeded         delete the pod                DONE
//	 5  no        recorded, not seen   the API server was not asked yet     ask it                        unchanged
//	 6  no        recorded, gone                                            never run it again            DONE, PodLost
//	 7  no        live                 before activeDeadline                wake then                     RUNNING
//	 8  no        live                 activeDeadline is over               record; row 4 deletes it      DONE, DeadlineExceeded
//	 9  no        Succeeded                                                 record                        DONE, Completed
//	10  no        Failed               retries left, back-off not over      wake then                     RUNNING
//	11  no        Failed               retries left, back-off over          create the next attempt       RUNNING
//	12  no        Failed               activeDeadline is over, and retries  record, once the API server   DONE, DeadlineExceeded
//	                                   are left or the kubelet ended it     has no pod of the next attempt
//	13  no        Failed               no retries left                      record                        DONE, Failed
//	14  no        none                 schedule, command, template unusable wait for an edit              PENDING
//	15  no        none                 paused, or suspended                 none                          PENDING
//	16  no        none                 before the time                      wake then                     PENDING
//	17  no        none                 startingDeadline is over             none, once the API server     DONE, MissedDeadline
//	                                                                        has no pod of the At
//	18  no        none                 due                                  create <name>-pod             RUNNING
//
// Rows 11 and 18 create; before that:
//
//	19  the name is held by a pod of an older At of this name               wait, the garbage collector   unchanged
//	                                                                        removes it
//	20  the name is held by any other pod                                   leave it alone                DONE, PodNameConflict
//	21  the API server refused the last create                              wait for its back-off         unchanged
//
// # What is believed
//
//   - An own pod is one that the At's UID controls and that has the name of an attempt. Labels and annotations are for
//     people. A pod is believed before the status: it is the record of its run when a crash came before the status.
//   - The record (podUID, attempts) is believed where no pod speaks against it. A recorded run whose pod is gone is
//     PodLost and never repeated; so is a record that was forged and names no pod. When the record says that the run
//     failed and that a retry is due (retryTime), the retry follows although the pod is gone.
//   - The API server is asked before the absence of a pod ends an At: the response to a create can be lost while the cache
//     lags.
//   - An At is finished when its status has a completionTime, a reason out of the list and the result that goes with it.
//     The phase is never read: set back or forward by hand it neither repeats nor skips a run, and is put right.
//   - The pod is created before the status is written, so that the command starts on time. This leaves one gap of at most
//     once: somebody deletes the pod before its run is recorded, while the operator crashes or loses the response to the
//     creation. Nothing is left that could tell of the run.
//   - Who can write the whole status can also erase it. Then the pods speak; when they are deleted too, the At runs again.
//     The same holds for a backup of etcd that is older than the run.
//   - In a pod, Kubernetes is believed to start a container once: templateProblem rejects what restarts one. The kubelet
//     still starts it again when it loses the state of the container, or when somebody changes the image in the pod.
//   - README.md lists these exceptions for users.
//
// # Time
//
//   - A relative schedule counts from the creation of the At. A day has 24 hours.
//   - startingDeadlineSeconds counts whole seconds and is checked when the At could start. Held by suspend or by the pause
//     annotation it stays PENDING however late it is, and is rescheduled or released by its user; released too late it ends
//     as MissedDeadline, as a CronJob skips a run that is too late.
//   - activeDeadlineSeconds counts from the creation of the first pod and spans all attempts. The kubelet enforces it, by
//     the pod's own activeDeadlineSeconds, and keeps the pod for its logs. A pod that never ran is deleted at the deadline;
//     one that ran is deleted only when the kubelet has not stopped it its grace period and 10 s later: it was bound late,
//     or its node is gone.
//   - Between attempts there are 10 s, doubling to 6 minutes, from the end of the failed pod, as in a Job. After
//     DeadlineExceeded there is no further attempt, and after PodLost neither: whether the command did its work is not
//     known.
//   - While the pause annotation is true nothing is created and nothing is deleted, so deadlines that need a deletion wait
//     too. What ends meanwhile is recorded.
//
// # The end of a pod
//
// The At is done when its pod is: in the phase Succeeded or Failed. A container that a webhook added and that never ends
// keeps the At RUNNING; activeDeadlineSeconds helps. A pod that somebody deletes is live until it is gone or its command
// has ended, whichever is seen first. The exit code is that of the container that runs the command, found by name.
package at
