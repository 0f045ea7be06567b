// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// arm is a controller that is measured. Every arm runs as a process of its own, as the same user.
type arm struct {
	// name is what the tables call it.
	name string
	// set and timer are the kinds that it serves.
	set, timer kind
	// command starts it; port is where its metrics are.
	command func(b *bench, port int) []string
	// reconciles is the metric that counts its reconciles, and plain says that it is not behind TLS.
	reconciles string
	plain      bool
}

const (
	kcmReconciles = "workqueue_work_duration_seconds"
	ctrReconciles = "controller_runtime_reconcile_total"
)

func kubeControllerManager(controllers, qps, burst, workers string) func(*bench, int) []string {
	return func(b *bench, port int) []string {
		return []string{
			filepath.Join(b.assets, "kube-controller-manager"), "--kubeconfig=" + b.cluster.kubeconfig,
			"--authentication-kubeconfig=" + b.cluster.kubeconfig, "--authorization-kubeconfig=" + b.cluster.kubeconfig,
			"--controllers=" + controllers, "--leader-elect=false", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
			"--kube-api-qps=" + qps, "--kube-api-burst=" + burst,
			"--concurrent-replicaset-syncs=" + workers, "--concurrent-job-syncs=" + workers, "--concurrent-cron-job-syncs=" + workers,
		}
	}
}

// operatorCommand starts a manager, today's or an earlier one.
func (b *bench) operatorCommand(manager string, port int) []string {
	return []string{
		manager, "--kubeconfig=" + b.cluster.kubeconfig, "--zap-log-level=error",
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", port), "--health-probe-bind-address=0",
	}
}

var (
	operatorArm = &arm{
		name: "P", set: podSets, timer: ats, reconciles: ctrReconciles,
		command: func(b *bench, port int) []string { return b.operatorCommand(b.manager, port) },
	}
	beforeArm = &arm{
		name: "before", set: podSets, timer: ats, reconciles: ctrReconciles,
		command: func(b *bench, port int) []string { return b.operatorCommand(b.before, port) },
	}
	naiveArm = &arm{
		name: "N", set: podSets, timer: ats, reconciles: ctrReconciles, plain: true,
		command: func(b *bench, port int) []string {
			return []string{b.self, "-naive", b.cluster.kubeconfig, fmt.Sprintf("127.0.0.1:%d", port)}
		},
	}
	replicaSetStock = &arm{name: "R-stock", set: replicaSets, reconciles: kcmReconciles, command: kubeControllerManager("replicaset-controller", "20", "30", "5")}
	replicaSetTuned = &arm{name: "R-tuned", set: replicaSets, reconciles: kcmReconciles, command: kubeControllerManager("replicaset-controller", "5000", "10000", "16")}
	cronJobTuned    = &arm{name: "C-tuned", timer: cronJobs, reconciles: kcmReconciles, command: kubeControllerManager("cronjob-controller,job-controller", "5000", "10000", "16")}
)

// process is a running arm.
type process struct {
	*arm
	bench   *bench
	command *exec.Cmd
	port    int
	// profiles is the port of net/http/pprof, 0 for an arm that is not profiled.
	profiles int
	started  time.Time
	exited   chan struct{}
}

// start starts an arm and returns at once.
func (b *bench) start(a *arm, flags ...string) (*process, error) {
	p := &process{arm: a, bench: b, exited: make(chan struct{})}
	var err error
	if p.port, err = freePort(); err != nil {
		return nil, err
	}
	args := append(a.command(b, p.port), flags...)
	if b.profiles != "" && a == operatorArm {
		if p.profiles, err = freePort(); err != nil {
			return nil, err
		}
		args = append(args, fmt.Sprintf("--pprof-bind-address=127.0.0.1:%d", p.profiles))
	}
	log, err := os.OpenFile(filepath.Join(b.cluster.directory, a.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	p.command = exec.Command(args[0], args[1:]...)
	p.command.Stdout, p.command.Stderr = log, log
	p.command.Env = append(os.Environ(), "WATCH_NAMESPACE=")
	p.started = time.Now()
	if err := p.command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting arm %s: %w", a.name, err), log.Close())
	}
	go func() {
		_ = p.command.Wait() // It says that we killed it.
		_ = log.Close()
		close(p.exited)
	}()
	return p, nil
}

// freePort finds a port on which nobody listens.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// kill ends the arm as a crash does.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	<-p.exited
}

// terminate ends the arm as a kubelet does: it is asked to, and waited for.
func (p *process) terminate() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	<-p.exited
}

// startWarm starts an arm and returns once it works: it has created and deleted a pod for an object of its kind.
func (b *bench) startWarm(ctx context.Context, a *arm, flags ...string) (*process, error) {
	p, err := b.start(a, flags...)
	if err != nil {
		return nil, err
	}
	if err := b.warm(ctx, p); err != nil {
		p.kill()
		return nil, fmt.Errorf("warming arm %s: %w", a.name, err)
	}
	return p, nil
}

func (b *bench) warm(ctx context.Context, p *process) error {
	err := eventually(ctx, time.Minute, "the metrics of "+p.name, func() (bool, error) {
		families, err := p.metrics(ctx)
		return err == nil && families["workqueue_adds_total"] != nil, nil
	})
	if err != nil {
		return err
	}
	if p.set.Kind == "" { // A CronJob fires at a full minute only: the caches are all there is to wait for.
		return pause(ctx, 5*time.Second)
	}
	namespace, w, err := b.cluster.watchedNamespace(ctx, nil)
	if err != nil {
		return err
	}
	defer w.stop()
	if err := b.cluster.admin.Create(ctx, makeSet(p.set, namespace, "warm", 1)); err != nil {
		return err
	}
	if _, err := w.await(ctx, 1, time.Minute); err != nil {
		return err
	}
	return b.cluster.clear(ctx, namespace)
}

// metrics reads the arm's own metrics.
func (p *process) metrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	scheme := "https"
	if p.plain {
		scheme = "http"
	}
	return scrape(ctx, localClient, fmt.Sprintf("%s://127.0.0.1:%d/metrics", scheme, p.port), p.bench.cluster.token)
}

// localClient talks to arms on this machine, whose certificates are created at their start.
var localClient = &http.Client{Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a certificate of a process of ours, on the loopback
}}

// reconcileCount is how many objects the arm has looked at since its start.
func (p *process) reconcileCount(ctx context.Context) (float64, error) {
	families, err := p.metrics(ctx)
	if err != nil {
		return 0, err
	}
	var n float64
	for _, metric := range families[p.reconciles].GetMetric() {
		switch label := labels(metric); {
		case p.reconciles == ctrReconciles:
			n += metric.GetCounter().GetValue()
		case strings.HasPrefix(label["name"], "replicaset"), strings.HasPrefix(label["name"], "cronjob"), strings.HasPrefix(label["name"], "job"):
			n += float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return n, nil
}
