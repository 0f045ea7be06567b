// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/controllers"
	"github.com/redhat/podset-operator/test/apiserver"
)

// A real Prometheus scrapes the real controllers, and every query of the dashboard must return a number. The queries about
// each object are left out, because they need kube-state-metrics.
func TestDashboard(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: it names the directory of etcd and kube-apiserver. `make test` sets it.")
	}
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed; Debian has it in the package prometheus", program)
		}
	}
	ctrl.SetLogger(logr.Discard())
	environment := apiserver.New("../..")
	t.Cleanup(func() { _ = environment.Stop() })
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	server, operator := apiserver.FreeAddress(t), apiserver.FreeAddress(t)
	admin := startOperator(t, config, operator)
	startPrometheus(t, server, operator)

	g := gomega.NewWithT(t)
	shows := func(expr string) {
		g.Eventually(func() string {
			output, _ := exec.CommandContext(t.Context(), "promtool", "query", "instant", "http://"+server, expr).CombinedOutput()
			return string(output)
		}).WithTimeout(time.Minute).WithPolling(time.Second).Should(
			gomega.And(gomega.ContainSubstring("=> "), gomega.Not(gomega.ContainSubstring("NaN"))), expr)
	}
	// Prometheus computes rates from the second value of a series on. controller-runtime has the first value after a reconcile.
	runObjects(t, admin, "first")
	shows(`sum(podset_operator_at_runs_total) == 1 and count(controller_runtime_reconcile_time_seconds_count) == 2`)
	runObjects(t, admin, "second")
	for _, p := range readPanels(t) {
		for _, target := range p.Targets {
			if !strings.HasPrefix(target.Expr, "kube_") {
				shows(target.Expr)
			}
		}
	}
}

// startOperator runs the controllers, with metrics at an address, and returns a client.
func startOperator(t *testing.T, config *rest.Config, metrics string) client.Client {
	t.Helper()
	options := ctrl.Options{Scheme: apiserver.Scheme(), Metrics: metricsserver.Options{BindAddress: metrics}}
	controllers.ConfigureCaches(&options, nil)
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	if err := controllers.Add(ctx, mgr, controllers.Options{Clock: clock.RealClock{}, Image: "busybox"}); err != nil {
		t.Fatal(err)
	}
	if err := controllers.RegisterMetrics(mgr); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	admin, err := client.New(config, client.Options{Scheme: options.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return admin
}

// startPrometheus runs a Prometheus at an address that scrapes the operator every second.
func startPrometheus(t *testing.T, address, operator string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yaml")
	write(t, file, []byte(fmt.Sprintf(`global: {scrape_interval: 1s}
scrape_configs:
- job_name: podset-operator
  static_configs: [{targets: [%q]}]
`, operator)))
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file="+file, "--storage.tsdb.path="+dir, "--web.listen-address="+address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// runObjects lets a PodSet become Ready and an At run, both with a name.
func runObjects(t *testing.T, admin client.Client, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	meta := metav1.ObjectMeta{Namespace: name, Name: name}
	for _, object := range []client.Object{
		namespace,
		&appv1alpha1.PodSet{ObjectMeta: meta},
		&cnatv1alpha1.At{ObjectMeta: meta, Spec: cnatv1alpha1.AtSpec{Schedule: "now", Command: "true"}},
	} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	g := gomega.NewWithT(t)
	list := &corev1.PodList{}
	g.Eventually(func() ([]corev1.Pod, error) {
		err := admin.List(t.Context(), list, client.InNamespace(name))
		return list.Items, err
	}).WithTimeout(time.Minute).Should(gomega.HaveLen(2))
	for n := range list.Items {
		pod := &list.Items[n]
		pod.Status.Phase = corev1.PodSucceeded
		if metav1.GetControllerOf(pod).Kind == "PodSet" {
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		if err := admin.Status().Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
}
