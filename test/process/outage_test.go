// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// outageLengths are those of F26. The operator loses its lease in an outage of more than 10 s.
var outageLengths = flag.String("outages", "5s,20s", "how long the API server is unavailable to the manager (F26), such as 5s,90s,10m")

// recoverWithin is how soon the operator must work after the API server is available again. An idle machine needs 3 s, and 18 s more if the
// process has lost its lease. The margin is for a busy machine: a crash loop would show in the number of starts.
const recoverWithin = 45 * time.Second

// F26: an outage of the API server. The manager runs in its own process, which is restarted as by a kubelet.
func TestOutage(t *testing.T) {
	t.Parallel()
	c := faults.OwnCluster(t, root)
	kubeconfig := writeFile(t, "kubeconfig", c.Environment.KubeConfig)
	for length := range strings.SplitSeq(*outageLengths, ",") {
		down, err := time.ParseDuration(length)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("the API server is unavailable for %v", down), func(t *testing.T) {
			managerOutage(t, c, kubeconfig, down, func(*container) {})
		})
		t.Run(fmt.Sprintf("the API server is unavailable for %v and the manager is killed", down), func(t *testing.T) {
			managerOutage(t, c, kubeconfig, down, func(p *container) {
				if err := p.Kill(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// managerOutage kills the API server and starts it again after a while. An At becomes due meanwhile.
func managerOutage(t *testing.T, c *faults.Cluster, kubeconfig string, down time.Duration, harm func(*container)) {
	e := faults.NewEnv(t, c, "F26")
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	p := runContainer(e, kubeconfig, managerEnv(e.Namespace), "--metrics-bind-address=0", "--leader-elect", "--leader-elect-resource-namespace="+e.Namespace)
	e.Create(podSet("a", 3))
	e.Settle()
	e.Create(at("due", "now + 3 seconds"))
	e.WaitForAt("A4", "due", func(a *cnatv1alpha1.At) bool { return a.Status.ObservedGeneration == a.Generation })

	again, err := c.KillAPIServer()
	e.Must(err)
	harm(p)
	e.Wait(down)
	e.Must(again())
	checkRecovery(e, p, time.Now())
}

// checkRecovery checks that the At that became due in the outage runs once, and soon after the API server is available again.
func checkRecovery(e *faults.Env, p *container, back time.Time) {
	took := podAfter(e, back, "due-pod", e.Timeout+2*time.Minute)
	e.Logf("the pod of the due At was created %v after the API server was available; the manager was started %d times", took.Round(10*time.Millisecond), p.Starts())
	e.Check("A3", took <= recoverWithin, "the At that became due in the outage ran %v after its end", took)
	e.Create(podSet("b", 1))
	e.Settle()
	e.Check("A3", ranOnce(e) == 1, "the At did not run")
	e.Check("P3", p.Starts() <= 2, "the process was started %d times", p.Starts())
	waits, ends := p.Lines("Waiting for the API server"), p.Lines("The API server is back")
	e.Check("P3", waits == p.Starts()-1 && ends == waits, "%d log lines about the start of a wait and %d about its end, with %d starts", waits, ends, p.Starts())
}

func podSet(name string, replicas int32) *appv1alpha1.PodSet {
	return &appv1alpha1.PodSet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appv1alpha1.PodSetSpec{Replicas: &replicas}}
}

func at(name, schedule string) *cnatv1alpha1.At {
	return &cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: cnatv1alpha1.AtSpec{Schedule: schedule, Command: "echo YAY"}}
}

// ranOnce checks A1: no At has had more than one pod. It returns how many Ats have had one.
func ranOnce(e *faults.Env) int {
	e.Helper()
	runs := e.Runs()
	for at, pods := range runs {
		e.Check("A1", len(pods) == 1, "the At with the UID %s ran %d times: %v", at, len(pods), pods)
	}
	return len(runs)
}
