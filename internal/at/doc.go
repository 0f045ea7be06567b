// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package at decides what an At needs. It is pure: it calls nothing outside, and the same Observation always gives the
// same Plan. State is what the process knows about an At beyond what its caches show. State.Observe combines both to an
// Observation and decides once. MakePlan and MakeReport read the decision, and State.Record remembers the outcome.
//
// The code and the tests refer to the rows of this table by their numbers. The first row that applies decides, except that rows 3 and 4
// can both apply. "Own pod" is the pod of the newest attempt. "Live" means that it has not ended. "Failed" includes a failed pod that is
// gone, if the status has a retryTime.
//
//	 #  done      own pod              condition                              action                        phase
//	 1  any       any                  the At is being deleted, and is done   none                          unchanged
//	                                   or has no run
//	 2  yes       any                  the TTL is not over, or not set        requeue when the TTL is over  DONE
//	 3  yes       any                  the TTL is over                        delete the At                 DONE
//	 4  yes       live                 the At stopped the command, or only    delete the pod                DONE
//	                                   other containers still run
//	 5  no        recorded, not cached the API server was not asked yet       look the pod up               unchanged
//	 6  no        recorded, gone       its last state does not say how it     never run it again            DONE, PodLost
//	                                   ended: otherwise rows 11 to 16
//	 7  no        live                 its containers can be restarted        record; row 4 deletes the pod DONE, PodModified
//	 8  no        live                 canceled                               delete the pod once its run   RUNNING
//	                                                                          is recorded
//	 9  no        live                 before activeDeadline                  requeue at the deadline       RUNNING
//	10  no        live                 activeDeadline is over                 record, after a lookup of the DONE, DeadlineExceeded
//	                                                                          next attempt if retries are
//	                                                                          left; row 4 deletes the pod
//	11  no        exit code 0          not canceled, or ended before that     record                        DONE, Completed
//	12  no        ended                canceled, and retries are left or the  record                        DONE, Canceled
//	                                   pod was stopped
//	13  no        Failed               retries left, back-off not over        requeue after the back-off    RUNNING
//	14  no        Failed               retries left, back-off over            create the next attempt       RUNNING
//	15  no        Failed               activeDeadline is over, and retries    record                        DONE, DeadlineExceeded
//	                                   are left or the kubelet ended it
//	16  no        Failed               no retries left                        record                        DONE, Failed
//	17  no        none                 canceled                               record                        DONE, Canceled
//	18  no        none                 schedule, command, or template is      wait for an edit              PENDING
//	                                   unusable
//	19  no        none                 suspended                              none                          PENDING
//	20  no        none                 before the scheduled time              requeue at that time, and     PENDING
//	                                                                          check a template once
//	21  no        none                 startingDeadline is over               record                        DONE, MissedDeadline
//	22  no        none                 due                                    create <name>-pod             RUNNING
//
// Rows 14 and 22 create a pod, unless one of these rows applies:
//
//	23  a pod of an older At of the same name has the name of the pod       wait until the garbage        unchanged
//	                                                                        collector has removed it
//	24  any other pod has the name                                          leave that pod alone          DONE, PodNameConflict
//	25  the API server rejected the last create                             requeue after the back-off    unchanged
//	26  the create fails in another way                                     retry with back-off           unchanged
//
// Rows 17 and 21 look up the pod of the first attempt before they record anything. Rows 12, 15, and 16 look up the pod of the next
// attempt if that pod may exist: retries are left, or the status has a retryTime. Row 10 looks up a pod without a controller reference,
// which the cache does not show. Row 14 also waits for an edit while the command or the template is unusable. Row 4 waits until the cache or
// a lookup shows the pod.
// Rows 13 to 15 need a run that is known to have failed, or not to have run, and an exit code that retryExitCodes allows. Otherwise row
// 16 applies. No retry is made of an At that is being deleted.
//
// # Which information counts
//
//   - A pod belongs to the run if the At controls it by UID, whatever its name is. Admission can change everything in the metadata of a
//     new pod. A pod without a controller belongs to the run if its UID is recorded in the status, or if it has the UID of the At in an
//     annotation. Such a pod is read every 10 s, because the cache does not have it. It is deleted only if this process created it so.
//   - A pod counts more than the status. If the operator crashes after it has created a pod, the pod is the only record of
//     the run.
//   - The record in the status (podUID, attempts) counts where no pod contradicts it. A recorded run whose pod is gone ends
//     as PodLost and is never repeated. A forged record that names no pod ends in the same way. If the record has a
//     retryTime, the run has failed, and the next attempt follows although the pod is gone.
//   - The cache may lag, and the response to a create may have been lost. Therefore the absence of a pod ends an At only
//     after the API server has confirmed the absence. If a create got no response, the caller also lists the pods of the At from the API
//     server, because the pod may have another name.
//   - The last state of a deleted pod, which the watch delivers, says how the pod ended, or that it was deleted before it had a node.
//   - An At is done if its status has a completionTime, a known reason, and the result that belongs to the reason. The
//     phase is never read. A phase that was set by hand neither repeats nor skips a run, and the next report corrects it.
//   - The operator creates the pod before it writes the status, so that the command starts on time. This leaves one case in
//     which a command can run twice: a user deletes the pod before its run is recorded, and at the same time the operator
//     crashes or loses the response to the create. Nothing is left then that shows the run.
//   - A user who may write the status can also erase it. The pods decide then. If they are deleted too, the At runs again.
//     The same is true for a backup of etcd that is older than the run.
//   - Kubernetes starts a container of such a pod once: templateProblem rejects everything that restarts one, and row 7 stops a pod that
//     admission changed so. The kubelet still starts it again if it loses the state of the container, or if a user changes the image in
//     the pod.
//   - docs/at-most-once.md lists these exceptions for users.
//
// # Time
//
//   - All durations are compared with the clock of the API server: see internal/kube/serverclock. An At with the schedule now is due as soon
//     as it is observed.
//   - A relative schedule counts from the creation of the At. A day has 24 hours.
//   - startingDeadlineSeconds counts whole seconds and is checked when the At could start. An At that is suspended
//     stays PENDING however late it is, until the user reschedules or resumes it. If it is resumed too late, it ends as
//     MissedDeadline. A CronJob skips a late run in the same way.
//   - activeDeadlineSeconds counts from the creation of the first pod and spans all attempts. The kubelet enforces it through
//     the activeDeadlineSeconds of the pod and keeps the pod for its logs. The operator deletes a pod that never ran at the
//     deadline. It deletes a pod that ran only if the kubelet has not stopped it within its grace period and 10 s: the pod
//     was bound late, or its node is gone.
//   - Between attempts there is a back-off of 10 s, which doubles up to 6 minutes and counts from the end of the failed pod,
//     as in a Job. No attempt follows DeadlineExceeded. No attempt follows PodLost either, because nobody knows whether the
//     command did its work.
//
// # The condition Ready
//
// Tools that wait for resources (Flux, Helm, Argo CD) read the conditions Ready and Stalled, which follow from the others. An At
// that waits or is suspended is Ready, because nothing remains to be done for it now. An At that runs is not Ready.
// An At that has failed, is unusable, or whose pod is rejected is also Stalled. Row 26 is reported after 5 s.
//
// # The end of a pod
//
// The exit code of the command is what the user scheduled, so it is the result. A pod ends in the phase Succeeded or Failed. A pod whose
// command has ended also ends when it is terminating, and otherwise 30 s later: a container that admission added, such as a proxy, may run
// for ever. Row 4 then deletes the pod, because nothing else would end it, and it would hold its node and its quota. An exit code of 0
// counts whatever ended the pod afterwards, unless the kubelet stopped the command at its deadline, or the operator because of
// spec.cancel. The container of the command is found by its name or, if admission changed the name, by what it runs.
package at
