// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Judge compares what Ats, Jobs, and CronJobs claim about their runs with what their commands did, while faults are injected into a
// real cluster. It knows the API of the operator, and none of its code.
//
// Each run has a name. Its command reports to the counter, a server in this process, that it has begun and how it ends (package
// command). The log of the counter is the truth. An adapter creates the object of a run, and reads what the object claims. The nemesis
// injects faults that follow from a seed: faults.go has those of any cluster, lab.go those that need the processes of the lab, which is
// a cluster on this machine. Each run may also have a user who edits, cancels, or deletes its object or its pod (plan.go).
//
// At the end, all faults stop. When all runs are done, and a quiet period has passed, verdict.go judges each run:
//
//   - twice: the command began again, without proof that it had ended before with a code that permits a retry
//   - early: the command began before its time
//   - false: the object claims that the command did not run, succeeded, exited with a code, or was started fewer times, and the counter
//     knows better
//   - forgotten: the command did not begin, or the run did not end, and the object does not say why
//
// Clocks are right, and kube-controller-manager runs once, without a lease, so no second leader interferes with Jobs.
//
// The judge prints a table, and the timeline of each run that violates a rule. It fails if an At does. `make judge` runs it: see
// docs/testing.md.
package main
