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

// elect makes incarnations work only while they hold the lease, which is short so that the test is.
func elect(w *faults.World) {
	w.Options = append(w.Options, func(o *ctrl.Options) {
		o.LeaderElection, o.LeaderElectionID, o.LeaderElectionNamespace = true, lease, w.Namespace
		o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = ptr.To(4*time.Second), ptr.To(3*time.Second), ptr.To(500*time.Millisecond)
	})
}

// work asks for something from operators that are in each other's way, and returns what it costs.
func work(w *faults.World) faults.Counts {
	w.Helper()
	w.Create(podSet("a", 10), at("a", "now + 1 second", "echo YAY"), at("b", "now + 2 seconds", "echo YAY"), at("c", "now", "echo YAY"))
	w.Settle()
	scale(w, "a", 3)
	return faults.Counts{Creates: 13, Deletes: 7}
}

// F11: two operators at the same time.
func TestTwoOperators(t *testing.T) {
	try(t, "F11", map[string]trial{
		"two without a lease":       withoutLease,
		"the leader crashes":        leaderCrashes,
		"the lease is stolen":       leaseStolen,
		"the leader is frozen 20 s": leaderFrozen,
	})
}

func withoutLease(w *faults.World) {
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	w.Start()
	w.Start()
	cost := work(w)
	w.Rest()
	// Both see ten ready pods and give up the same seven: the order of victims is total.
	w.Costs(cost)
}

func leaderCrashes(w *faults.World) {
	elect(w)
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	leader := w.Start()
	awaitLeader(w)
	w.Start()
	w.Create(podSet("b", 2))
	w.Settle()
	leader.Inject(faults.Nth(6, faults.Writes, leader.CrashAfter))
	cost := work(w)
	w.Rest()
	w.Costs(faults.Counts{Creates: cost.Creates + 2, Deletes: cost.Deletes})
}

func leaseStolen(w *faults.World) {
	elect(w)
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	leader := w.Start()
	awaitLeader(w)
	w.Start()
	faults.Edit(w, theLease(w), func(l *coordinationv1.Lease) {
		l.Spec.HolderIdentity = ptr.To("a thief")
		l.Spec.RenewTime = ptr.To(metav1.NowMicro())
	})
	cost := work(w)
	<-leader.Dead() // Who has lost the lease ends.
	w.Rest()
	w.Costs(cost)
}

func leaderFrozen(w *faults.World) {
	elect(w)
	w.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	leader := w.Start()
	awaitLeader(w)
	w.Start()
	freeze, frozen, thaw := faults.Block()
	defer thaw()
	leader.Inject(faults.Each(faults.Writes, freeze), faults.Each(func(c *faults.Call) bool { return c.Resource == "leases" }, freeze))
	w.Create(podSet("b", 4))
	<-frozen // with a create in its hands
	w.Pass(20 * time.Second)
	cost := work(w)
	thaw() // The create that it had in its hands arrives now, after the other leader has made the same pod.
	<-leader.Dead()
	w.Rest()
	w.Costs(faults.Counts{Creates: cost.Creates + 4, Deletes: cost.Deletes})
}

func theLease(w *faults.World) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: lease, Namespace: w.Namespace}}
}

func awaitLeader(w *faults.World) {
	w.Helper()
	gomega.NewWithT(w).Eventually(func(ctx context.Context) (string, error) {
		l := theLease(w)
		err := w.User.Get(ctx, client.ObjectKeyFromObject(l), l)
		return ptr.Deref(l.Spec.HolderIdentity, ""), err
	}).WithContext(w.Context()).WithTimeout(faults.Patience).WithPolling(100 * time.Millisecond).ShouldNot(gomega.BeEmpty())
}
