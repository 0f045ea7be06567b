// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/redhat/podset-operator/test/apiserver"
)

const (
	// inFlight is how many requests of the harness are in flight at the same time.
	inFlight = 32
	// patience limits every wait.
	patience = 15 * time.Minute
	// idleTime is how long nothing must be written before the controller is considered done.
	idleTime = 1500 * time.Millisecond
	// armUser is the user of every arm: a service account, as an operator is. Priority and fairness would exempt an administrator.
	armUser = "system:serviceaccount:bench:arm"
)

// cluster is an etcd and a kube-apiserver, without nodes, and without a controller except the arm that is measured.
type cluster struct {
	// admin is the client of the harness, without limits, and raw calls paths that have no object.
	admin client.Client
	raw   rest.Interface
	// config is the administrator's, arm that of every arm.
	config, arm *rest.Config
	// directory has the kubeconfig of the arms and their logs, and assets their programs.
	directory, kubeconfig, assets string
}

func startCluster(b *testing.B) *cluster {
	b.Helper()
	ctrl.SetLogger(logr.Discard())
	c := &cluster{directory: b.TempDir(), assets: os.Getenv("KUBEBUILDER_ASSETS")}
	if c.assets == "" {
		b.Fatal("KUBEBUILDER_ASSETS is not set: it must be the directory of etcd, kube-apiserver, kube-controller-manager, and manager. `make bench` sets it.")
	}
	env := apiserver.New("../..")
	env.ControlPlane.Etcd = &envtest.Etcd{}
	// 100,000 Ats, the pods of 5000 PodSets, and their history do not fit into the default of 2 GiB.
	env.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", "8589934592")
	flags := env.ControlPlane.GetAPIServer().Configure().Append("delete-collection-workers", "16")
	// No periodic work of the API server falls into a measurement: it neither compacts etcd nor compares its cache with it.
	flags.Append("etcd-compaction-interval", "0").Append("feature-gates", "DetectCacheInconsistency=false")
	b.Cleanup(func() {
		if err := env.Stop(); err != nil {
			b.Log(err)
		}
	})
	var err error
	c.config, err = env.Start()
	must(b, err)
	must(b, c.connect(b.Context(), env))
	return c
}

// connect sets the clients of the harness and the user of the arms.
func (c *cluster) connect(ctx context.Context, env *envtest.Environment) error {
	c.config.QPS = -1
	set, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return err
	}
	c.raw = set.CoreV1().RESTClient()
	if c.admin, err = client.New(c.config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	user, err := apiserver.AddUser(env, armUser, "system:serviceaccounts")
	if err != nil {
		return err
	}
	c.arm = user.Config()
	c.arm.QPS = -1
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return err
	}
	c.kubeconfig = filepath.Join(c.directory, "kubeconfig")
	if err := os.WriteFile(c.kubeconfig, kubeconfig, 0o600); err != nil {
		return err
	}
	if err := c.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: leaseNamespace}}); err != nil {
		return err
	}
	return c.admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bench"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: armUser}},
	})
}

func (c *cluster) namespace(b *testing.B) string {
	b.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "run-"}}
	must(b, c.admin.Create(b.Context(), ns))
	return ns.Name
}

// clear deletes everything in a namespace. A request for many objects can take longer than the API server allows, so it is repeated.
func (c *cluster) clear(b *testing.B, namespace string) {
	b.Helper()
	for _, kind := range []client.Object{podSet, replicaSet, at, cronJob, job, pod, event} {
		must(b, wait.PollUntilContextTimeout(b.Context(), time.Second, patience, true, func(ctx context.Context) (bool, error) {
			err := c.admin.DeleteAllOf(ctx, kind, client.InNamespace(namespace), client.GracePeriodSeconds(0),
				client.PropagationPolicy(metav1.DeletePropagationBackground))
			if apierrors.IsTimeout(err) {
				return false, nil
			}
			return true, err
		}))
	}
}

// collectGarbage collects the garbage of the API server. Otherwise a one-second run depends more on whether a collection falls into it than
// on the arm.
func (c *cluster) collectGarbage(b *testing.B) {
	b.Helper()
	_, err := c.raw.Get().AbsPath("/debug/pprof/heap").Param("gc", "1").DoRaw(b.Context())
	must(b, err)
}

// The writes that are counted, without those of the API server itself, such as its leases.
var (
	writingVerbs     = []string{"POST", "PUT", "PATCH", "APPLY", "DELETE"}
	countedResources = []string{"pods", "events", "podsets", "ats", "replicasets", "cronjobs", "jobs"}
)

// writes returns how many writes the API server has answered, including those of the harness.
func (c *cluster) writes(ctx context.Context) (float64, error) {
	reader, err := c.raw.Get().AbsPath("/metrics").Stream(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = reader.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(reader)
	if err != nil {
		return 0, err
	}
	var n float64
	for _, metric := range families["apiserver_request_total"].GetMetric() {
		label := map[string]string{}
		for _, pair := range metric.GetLabel() {
			label[pair.GetName()] = pair.GetValue()
		}
		if slices.Contains(writingVerbs, label["verb"]) && slices.Contains(countedResources, label["resource"]) {
			n += metric.GetCounter().GetValue()
		}
	}
	return n, nil
}

// waitForIdle waits until nothing is written anymore and returns the number of writes so far.
func (c *cluster) waitForIdle(b *testing.B) float64 {
	b.Helper()
	last, since := -1.0, time.Now()
	must(b, wait.PollUntilContextTimeout(b.Context(), idleTime/6, patience, true, func(ctx context.Context) (bool, error) {
		n, err := c.writes(ctx)
		if n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > idleTime, err
	}))
	return last
}

// inParallel calls do for 0 to n-1, at most width at a time, and returns the first error.
func inParallel(ctx context.Context, n, width int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(width)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
