// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver starts a real etcd and kube-apiserver for the tests of a package, and provides a scheme, users, and the permissions of
// the manager.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/resource"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// Main is the last call of a TestMain. It calls run, which starts the servers and runs the tests, and ends the process with the exit
// code of run, or with 1 after an error.
func Main(run func() (code int, err error)) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		fmt.Println("KUBEBUILDER_ASSETS is not set: it must be the directory of etcd and kube-apiserver. `make test` sets it.")
		os.Exit(1)
	}
	code, err := run()
	if err != nil {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

// patience is how long a busy machine may take to start the servers, and to serve the CRDs.
const patience = 3 * time.Minute

// New returns the servers, with the CRDs of this repository, which is in the directory root. They are not started yet.
func New(root string) *envtest.Environment {
	return &envtest.Environment{
		CRDDirectoryPaths: []string{root + "/config/crd/bases"}, ErrorIfCRDPathMissing: true,
		ControlPlaneStartTimeout: patience, CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: patience},
	}
}

// Scheme returns a scheme that has the kinds of Kubernetes and of this operator.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(appv1alpha1.AddToScheme(scheme))
	utilruntime.Must(cnatv1alpha1.AddToScheme(scheme))
	return scheme
}

// Objects returns the objects of a kustomization, or of files or directories, in their order.
func Objects(t testing.TB, from resource.FilenameOptions) []*unstructured.Unstructured {
	t.Helper()
	infos, err := resource.NewLocalBuilder().Unstructured().FilenameParam(false, &from).Flatten().Do().Infos()
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, info := range infos {
		objects = append(objects, info.Object.(*unstructured.Unstructured))
	}
	return objects
}

// ManagerRole returns config/rbac/role.yaml.
func ManagerRole(root string) (*rbacv1.ClusterRole, error) {
	data, err := os.ReadFile(root + "/config/rbac/role.yaml")
	if err != nil {
		return nil, err
	}
	role := &rbacv1.ClusterRole{}
	return role, yaml.UnmarshalStrict(data, role)
}

// GrantManagerRole grants a user the permissions of the manager in a namespace, or in all namespaces if it is empty.
func GrantManagerRole(ctx context.Context, admin client.Client, root, user, namespace string) error {
	role, err := ManagerRole(root)
	if err != nil {
		return err
	}
	if namespace == "" {
		return errors.Join(admin.Create(ctx, role), admin.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "manager"}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		}))
	}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "manager"}
	return errors.Join(
		admin.Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: role.Rules}),
		admin.Create(ctx, RoleBinding(namespace, user, "Role", meta.Name)))
}

// RoleBinding returns a binding of a Role or a ClusterRole to a user in a namespace.
func RoleBinding(namespace, user, kind, role string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "binding-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
}

// addingUser is held while a user is added, because envtest numbers its certificates without a lock.
var addingUser sync.Mutex

// AddUser adds a user to the servers. Tests may call it at the same time.
func AddUser(environment *envtest.Environment, name string, groups ...string) (*envtest.AuthenticatedUser, error) {
	addingUser.Lock()
	defer addingUser.Unlock()
	return environment.AddUser(envtest.User{Name: name, Groups: groups}, environment.Config)
}

// FreeAddress returns a local address that nothing listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
