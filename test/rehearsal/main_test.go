// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rehearsal

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/apiserver"
)

var (
	admin    client.Client
	address  string // of the counter
	registry string
	busybox  = cmp.Or(os.Getenv("BUSYBOX_IMG"), "busybox:1.37-musl")
	reports  counter
)

// counter counts the containers that report to it.
type counter struct {
	mutex sync.Mutex
	seen  []string
}

// serve counts each line that a connection begins with.
func (c *counter) serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		line, _ := bufio.NewReader(conn).ReadString('\n')
		c.mutex.Lock()
		c.seen = append(c.seen, line)
		c.mutex.Unlock()
		_ = conn.Close()
	}
}

// take returns what was reported since the last call.
func (c *counter) take() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	seen := c.seen
	c.seen = nil
	return seen
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "rehearsal:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func prepare() error {
	address, registry = os.Getenv("E2E_JUDGE_COUNTER"), os.Getenv("E2E_REGISTRY")
	if address == "" || registry == "" || os.Getenv("CONTAINER_TOOL") == "" {
		return errors.New("E2E_JUDGE_COUNTER, E2E_REGISTRY, or CONTAINER_TOOL is not set: see doc.go")
	}
	cluster, err := config.GetConfig()
	if err != nil {
		return err
	}
	if admin, err = client.New(cluster, client.Options{Scheme: apiserver.Scheme()}); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	go reports.serve(listener)
	return nil
}

// namespace is where a test runs, with a user who has the permissions that docs/how-to/ci.md names.
type namespace struct {
	*testing.T
	name string
}

func newNamespace(t *testing.T) *namespace {
	t.Helper()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "reh-"}}
	n := &namespace{T: t}
	n.create(object)
	n.name = object.Name
	t.Cleanup(func() { _ = admin.Delete(context.Background(), object) })
	meta := metav1.ObjectMeta{Namespace: n.name, Name: "rehearses"}
	n.create(&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"cnat.d2iq.com"}, Resources: []string{"ats"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create", "get", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}},
	}})
	n.create(&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "rehearser"}}})
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return admin.Get(ctx, client.ObjectKey{Namespace: n.name, Name: "default"}, &corev1.ServiceAccount{}) == nil, nil
	}); err != nil {
		t.Fatal("no ServiceAccount default: ", err)
	}
	return n
}

func (n *namespace) create(object client.Object) {
	n.Helper()
	if err := admin.Create(n.Context(), object); err != nil {
		n.Fatal(err)
	}
}

// at creates an At that is due tomorrow.
func (n *namespace) at(name string, template *corev1.PodTemplateSpec) *cnatv1alpha1.At {
	n.Helper()
	at := &cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Namespace: n.name, Name: name}, Spec: cnatv1alpha1.AtSpec{
		Schedule: time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339), Template: template,
	}}
	n.create(at)
	return at
}

// command is kubectl at rehearse.
func (n *namespace) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	plugin, err := filepath.Abs("../../bin/kubectl-at")
	if err != nil {
		n.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(n.Context(), plugin, append([]string{"rehearse", "--as", "rehearser", "-n", n.name}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// rehearse returns the output, the exit code, and the time of a rehearsal, after which there must be no pod and no report.
func (n *namespace) rehearse(args ...string) (out string, code int, took time.Duration) {
	n.Helper()
	cmd, output := n.command(args...)
	began := time.Now()
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		n.Fatal(err)
	}
	if left := n.left(); len(left) > 0 {
		n.Errorf("%v: left: %s", args, left[0].Name)
	}
	if ran := reports.take(); len(ran) > 0 {
		n.Errorf("%v: ran: %v", args, ran)
	}
	return output.String(), cmd.ProcessState.ExitCode(), time.Since(began)
}

// left returns the pods of rehearsals.
func (n *namespace) left() []corev1.Pod {
	n.Helper()
	pods := &corev1.PodList{}
	if err := admin.List(n.Context(), pods, client.InNamespace(n.name), client.HasLabels{cnatv1alpha1.LabelRehearsal}); err != nil {
		n.Fatal(err)
	}
	return pods.Items
}

// report is a command that reports to the counter.
func report(name string) []string {
	host, port, _ := strings.Cut(address, ":")
	return []string{"/bin/sh", "-c", fmt.Sprintf("echo %s | nc -w 20 %s %s", name, host, port)}
}

// template returns one whose containers report to the counter.
func template(name string) *corev1.PodTemplateSpec {
	resources := corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
	}}
	container := func(kind string) corev1.Container {
		return corev1.Container{Name: kind, Image: busybox, Command: report(name + "/" + kind), Resources: *resources.DeepCopy()}
	}
	sidecar := container("sidecar")
	sidecar.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{container("init"), sidecar}, Containers: []corev1.Container{container("main")},
	}}
}
