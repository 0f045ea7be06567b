// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/kube/warnings"
	"github.com/redhat/podset-operator/test/apiserver"
)

// The tests of this package share one API server and one operator, which has only the permissions of
// config/rbac/role.yaml. Each test has its own namespace.
var (
	scheme   = apiserver.Scheme()
	admin    client.Client  // of a cluster administrator
	operator *rest.Config   // of the operator
	used     = &verbsUsed{} // what the operator requested
)

func TestMain(m *testing.M) {
	apiserver.Main(func() (int, error) { return runSuite(m) })
}

func runSuite(m *testing.M) (code int, err error) {
	logs := io.Discard
	if os.Getenv("TEST_LOGS") != "" {
		logs = os.Stderr
	}
	ctrl.SetLogger(zap.New(zap.WriteTo(logs)))
	environment := apiserver.New("..")
	// OpenShift enables this plugin: a user who sets blockOwnerDeletion needs the permission to update the owner's
	// finalizers.
	environment.ControlPlane.GetAPIServer().Configure().Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	defer func() { _ = environment.Stop() }()
	adminConfig, err := environment.Start()
	if err != nil {
		return 1, fmt.Errorf("starting etcd and kube-apiserver: %w", err)
	}
	if admin, err = client.New(adminConfig, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	user, err := apiserver.AddUser(environment, "operator")
	if err != nil {
		return 1, err
	}
	operator = used.record(user.Config())
	operator.QPS, operator.WarningHandlerWithContext = -1, &warnings.Handler{}
	if err := apiserver.GrantManagerRole(context.Background(), admin, "..", "operator", ""); err != nil {
		return 1, err
	}

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	if _, err := Preflight(ctx, clock.RealClock{}, operator, scheme, nil); err != nil {
		cancel()
		return 1, err
	}
	mgr, err := newManager(ctx, operator)
	if err != nil {
		cancel()
		return 1, err
	}
	go func() { done <- mgr.Start(ctx) }()
	code = m.Run()
	cancel()
	if err := <-done; err != nil || code != 0 || !all() {
		return code, err
	}
	return code, used.compareWithRole()
}

// all reports whether all tests were selected, so that a permission that was not used is not needed.
func all() bool {
	run, short := flag.Lookup("test.run"), testing.Short()
	return (run == nil || run.Value.String() == "") && !short
}

// newManager returns a manager like that of main, without metrics and probes.
func newManager(ctx context.Context, config *rest.Config) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(config, managerOptions())
	if err != nil {
		return nil, err
	}
	return mgr, Add(ctx, mgr, Options{Clock: clock.RealClock{}, Image: "busybox"})
}

func managerOptions() ctrl.Options {
	o := ctrl.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	}
	ConfigureCaches(&o, nil)
	return o
}

// newNamespace creates a namespace for one test. Its Ats are deleted at the end, because an At whose pod does not start
// is reconciled again after a minute, and other tests count reconciles.
func newNamespace(t *testing.T, labels ...string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: map[string]string{}}}
	for i := 0; i+1 < len(labels); i += 2 {
		namespace.Labels[labels[i]] = labels[i+1]
	}
	if err := admin.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.DeleteAllOf(context.Background(), &cnatv1alpha1.At{}, client.InNamespace(namespace.Name)); err != nil {
			t.Error(err)
		}
	})
	return namespace.Name
}

// create creates objects as the administrator.
func create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		if err := admin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
}

func refresh[T client.Object](g gomega.Gomega, ctx context.Context, obj T) T {
	g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(gomega.Succeed())
	return obj
}

// change edits obj as the administrator.
func change[T client.Object](t *testing.T, obj T, edit func(T)) {
	t.Helper()
	base := obj.DeepCopyObject().(client.Object)
	edit(obj)
	if err := admin.Patch(t.Context(), obj, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
}

// changeStatus edits the status of obj as the administrator.
func changeStatus[T client.Object](t *testing.T, obj T, edit func(T)) {
	t.Helper()
	base := obj.DeepCopyObject().(client.Object)
	edit(obj)
	if err := admin.Status().Patch(t.Context(), obj, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
}

func podsIn(ctx context.Context, g gomega.Gomega, namespace string) []corev1.Pod {
	list := &corev1.PodList{}
	g.Expect(admin.List(ctx, list, client.InNamespace(namespace))).To(gomega.Succeed())
	return list.Items
}
