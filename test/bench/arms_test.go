// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// arm is the subject of a measurement: a process, or the bare client.
type arm struct {
	name string
	// command returns the program with its flags. It is nil for the bare client, which only creates the pods.
	command func(c *cluster) []string
	// newSet makes the object that an arm serves with a number of pods, and newTimer the one that it serves at a time.
	newSet   func(meta metav1.ObjectMeta, replicas int32) client.Object
	newTimer func(meta metav1.ObjectMeta, due time.Time) client.Object
}

var (
	operator = &arm{name: "operator", newSet: newPodSet, newTimer: newAt, command: func(c *cluster) []string {
		return []string{
			filepath.Join(c.assets, "manager"), "--kubeconfig=" + c.kubeconfig, "--zap-log-level=error",
			"--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=0",
		}
	}}
	replicaSetController = &arm{name: "replicaset-controller", newSet: newReplicaSet, command: kubeControllerManager("replicaset-controller")}
	cronJobController    = &arm{name: "cronjob-controller", newTimer: newCronJob, command: kubeControllerManager("cronjob-controller,job-controller")}
	bareClient           = &arm{name: "bare-client"}
)

// kubeControllerManager returns the command of some controllers of Kubernetes. They are tuned: with its defaults, kube-controller-manager
// sends 20 requests per second.
func kubeControllerManager(controllers string) func(*cluster) []string {
	return func(c *cluster) []string {
		return []string{
			filepath.Join(c.assets, "kube-controller-manager"), "--kubeconfig=" + c.kubeconfig, "--controllers=" + controllers,
			"--leader-elect=false", "--secure-port=0", "--kube-api-qps=5000", "--kube-api-burst=10000",
			"--concurrent-replicaset-syncs=16", "--concurrent-job-syncs=16", "--concurrent-cron-job-syncs=16",
		}
	}
}

// run measures some arms once, in a random order.
func run(b *testing.B, what string, arms []*arm, measure func(b *testing.B, a *arm)) {
	b.Helper()
	for _, i := range rand.Perm(len(arms)) {
		b.Run(what+"/arm="+arms[i].name, func(b *testing.B) {
			b.ReportMetric(0, "ns/op") // The time includes preparation and is meaningless, so it is not shown.
			measure(b, arms[i])
		})
	}
}

// process is a running arm.
type process struct {
	*arm
	command *exec.Cmd
}

// start starts an arm, which ends with the benchmark at the latest.
func (c *cluster) start(b *testing.B, a *arm, flags ...string) *process {
	b.Helper()
	args := append(a.command(c), flags...)
	log, err := os.CreateTemp(c.directory, a.name+"-*.log")
	must(b, err)
	p := &process{arm: a, command: exec.Command(args[0], args[1:]...)}
	p.command.Stdout, p.command.Stderr = log, log
	p.command.Env = append(os.Environ(), "WATCH_NAMESPACE=")
	must(b, p.command.Start())
	must(b, log.Close()) // The process has it open.
	b.Cleanup(func() {
		p.end(syscall.SIGKILL)
		if b.Failed() {
			text, _ := os.ReadFile(log.Name())
			b.Logf("the end of the log of %s:\n%s", a.name, text[max(0, len(text)-4000):])
		}
	})
	return p
}

// end sends a signal and waits until the process is gone. It does nothing if the process is already gone.
func (p *process) end(signal syscall.Signal) {
	_ = p.command.Process.Signal(signal)
	_ = p.command.Wait() // The error contains the signal.
}

// startWarm starts an arm and waits until it works: it has created a pod for an object of each of its kinds.
func (c *cluster) startWarm(b *testing.B, a *arm, flags ...string) *process {
	b.Helper()
	p := c.start(b, a, flags...)
	if a == cronJobController { // A CronJob is due only at a full minute.
		must(b, pause(b.Context(), 5*time.Second))
		return p
	}
	namespace := c.namespace(b)
	pods := c.observePods(b, namespace)
	must(b, c.admin.Create(b.Context(), a.newSet(metav1.ObjectMeta{Namespace: namespace, Name: "set"}, 1)))
	pods.waitFor(b, 1)
	if a.newTimer != nil {
		must(b, c.admin.Create(b.Context(), a.newTimer(metav1.ObjectMeta{Namespace: namespace, Name: "timer"}, time.Now())))
		pods.waitFor(b, 2)
	}
	c.clear(b, namespace)
	return p
}

func (p *process) proc(b *testing.B) procfs.Proc {
	b.Helper()
	proc, err := procfs.NewProc(p.command.Process.Pid)
	must(b, err)
	return proc
}

// cpuSeconds returns the processor time that the process has used.
func (p *process) cpuSeconds(b *testing.B) float64 {
	b.Helper()
	stat, err := p.proc(b).Stat()
	must(b, err)
	return stat.CPUTime()
}

// residentMiB returns the resident memory of the process without the pages of its executable, which are shared and can be dropped.
func (p *process) residentMiB(b *testing.B) float64 {
	b.Helper()
	status, err := p.proc(b).NewStatus()
	must(b, err)
	return float64(status.RssAnon) / (1 << 20)
}
