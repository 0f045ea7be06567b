// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// recoverWithin is how soon the operator must work after the API server is available again. An idle machine needs 3 s, and 10 s more if the
// process has lost its lease. The margin is for a busy machine: a crash loop would show in the number of starts.
const recoverWithin = 45 * time.Second

// F26: an outage of the API server, in which an At becomes due. The manager is restarted as by a kubelet. It loses its lease in an outage of
// more than 6 s.
func TestOutage(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		lasts  time.Duration
		killed bool
	}{
		"short": {4 * time.Second, false}, "short, and the manager is killed": {4 * time.Second, true},
		"long": {10 * time.Second, false}, "long, and the manager is killed": {10 * time.Second, true},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			g, shop, server := NewWithT(t), namespace(t, admin), newProxy(t, 0)
			server.back(t)
			p := runContainer(t, server.kubeconfig, managerEnv(shop), "--metrics-bind-address=0", "--leader-elect", "--leader-elect-resource-namespace="+shop,
				"--leader-elect-lease-duration=9s", "--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=1s")
			due := at(shop, "due", "now + 3 seconds")
			create(t, admin, podSet(shop, "a", 3))
			g.Eventually(pods(t, admin, shop)).WithTimeout(time.Minute).Should(Equal(3))
			create(t, admin, due)
			g.Eventually(func() int64 { return read(t, due).Status.ObservedGeneration }).WithTimeout(time.Minute).Should(Equal(due.Generation))

			server.leave()
			if tc.killed {
				g.Expect(p.Kill()).To(Succeed())
			}
			<-time.After(tc.lasts)
			server.back(t)
			back := time.Now()
			g.Eventually(func() cnatv1alpha1.Phase { return read(t, due).Status.Phase }).WithTimeout(2 * time.Minute).Should(Equal(cnatv1alpha1.PhaseRunning))
			g.Expect(time.Since(back)).To(BeNumerically("<", recoverWithin), "the At that became due in the outage")
			create(t, admin, podSet(shop, "b", 1))
			g.Eventually(pods(t, admin, shop)).WithTimeout(time.Minute).Should(Equal(5))
			g.Expect(p.Starts()).To(BeNumerically("<=", 2))
			waits, ends := p.Lines("Waiting for the API server"), p.Lines("The API server is back")
			g.Expect([]int{waits, ends}).To(HaveEach(p.Starts()-1), "log lines about the start and the end of a wait")
		})
	}
}

func podSet(namespace, name string, replicas int32) *appv1alpha1.PodSet {
	return &appv1alpha1.PodSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appv1alpha1.PodSetSpec{Replicas: &replicas},
	}
}

func at(namespace, name, schedule string) *cnatv1alpha1.At {
	return &cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: cnatv1alpha1.AtSpec{Schedule: schedule, Command: "echo YAY"},
	}
}

// read returns an object as it is now.
func read[T client.Object](t *testing.T, object T) T {
	t.Helper()
	if err := admin.Get(context.WithoutCancel(t.Context()), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	return object
}
