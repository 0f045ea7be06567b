// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/redhat/podset-operator/test/faults"
)

const lease = "podset-operator"

// elect enables leader election with a lease that is shorter than the default, and long enough for a busy machine.
func elect(e *faults.Env) {
	e.Options = append(e.Options, func(o *ctrl.Options) {
		o.LeaderElection, o.LeaderElectionID, o.LeaderElectionNamespace = true, lease, e.Namespace
		o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = ptr.To(10*time.Second), ptr.To(8*time.Second), ptr.To(500*time.Millisecond)
	})
}

// work creates and changes objects while several operators run. It returns the expected counts.
func work(e *faults.Env) faults.Counts {
	e.Helper()
	begin(e)
	scale(e, "a", 3)
	return faults.Counts{Creates: 13, Deletes: 7}
}

// begin is the part of work before the scale-down.
func begin(e *faults.Env) {
	e.Helper()
	e.Create(podSet("a", 10), at("a", "now + 1 second", "echo YAY"), at("b", "now + 2 seconds", "echo YAY"), at("c", "now", "echo YAY"))
	e.Settle()
	e.Wait(2 * time.Second) // Each operator sees all pods ready, and not only the one that recorded it.
}

// F11: two operators at the same time.
func TestTwoOperators(t *testing.T) {
	runCases(t, "F11", map[string]testCase{
		"two without a lease":       withoutLease,
		"the leader crashes":        leaderCrashes,
		"the lease is stolen":       leaseStolen,
		"the leader is frozen 20 s": leaderFrozen,
	})
}

func withoutLease(e *faults.Env) {
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	two := []*faults.Process{e.Start(), e.Start()}
	begin(e)
	// An operator that sees a pod deleted before it sees the scale-down replaces the pod.
	for _, operator := range two {
		operator.Hold("pods")
	}
	scale(e, "a", 3)
	deletes := func() int { return e.Log.Count(func(w faults.Write) bool { return w.Verb == "delete" }) }
	gomega.NewWithT(e).Eventually(deletes).WithTimeout(e.Timeout).Should(gomega.Equal(14), "deletes by both operators")
	for _, operator := range two {
		operator.Release("pods")
	}
	e.ExpectIdle()
	// Both have deleted the same seven, because the order of deletion is total.
	e.ExpectCounts(faults.Counts{Creates: 13, Deletes: 7})
}

// startLeaderAndStandby starts two processes and returns the one that has the lease. The standby is started again whenever it ends,
// because it may lose the lease on a busy machine.
func startLeaderAndStandby(e *faults.Env) *faults.Process {
	e.Helper()
	elect(e)
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	leader := e.Start()
	waitForLeader(e)
	e.Supervise()
	return leader
}

func leaderCrashes(e *faults.Env) {
	leader := startLeaderAndStandby(e)
	e.Create(podSet("b", 2))
	e.Settle()
	leader.Inject(faults.Nth(6, faults.Writes, leader.CrashAfter))
	cost := work(e)
	e.ExpectIdle()
	e.ExpectCounts(faults.Counts{Creates: cost.Creates + 2, Deletes: cost.Deletes})
}

func leaseStolen(e *faults.Env) {
	leader := startLeaderAndStandby(e)
	faults.Edit(e, leaseOf(e), func(l *coordinationv1.Lease) {
		l.Spec.HolderIdentity = ptr.To("another")
		l.Spec.RenewTime = ptr.To(metav1.NowMicro())
	})
	cost := work(e)
	<-leader.Stopped() // A process that has lost the lease ends.
	e.ExpectIdle()
	e.ExpectCounts(cost)
}

func leaderFrozen(e *faults.Env) {
	leader := startLeaderAndStandby(e)
	freeze, frozen, unfreeze := faults.Block()
	defer unfreeze()
	leader.Inject(faults.Each(faults.Writes, freeze), faults.Each(func(c *faults.Call) bool { return c.Resource == "leases" }, freeze))
	e.Create(podSet("b", 4))
	select {
	case <-frozen: // with a create in flight
	case <-leader.Stopped():
		e.Fatal("the leader lost its lease before it created a pod: the machine is too busy for this test")
	}
	e.Wait(20 * time.Second)
	cost := work(e)
	unfreeze() // The create that was in flight arrives after the other leader has created the same pod.
	<-leader.Stopped()
	e.ExpectIdle()
	e.ExpectCounts(faults.Counts{Creates: cost.Creates + 4, Deletes: cost.Deletes})
}

func leaseOf(e *faults.Env) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: lease, Namespace: e.Namespace}}
}

func waitForLeader(e *faults.Env) {
	e.Helper()
	gomega.NewWithT(e).Eventually(func(ctx context.Context) (string, error) {
		l := leaseOf(e)
		err := e.User.Get(ctx, client.ObjectKeyFromObject(l), l)
		return ptr.Deref(l.Spec.HolderIdentity, ""), err
	}).WithContext(e.Context()).WithTimeout(faults.DefaultTimeout).WithPolling(100 * time.Millisecond).ShouldNot(gomega.BeEmpty())
}
