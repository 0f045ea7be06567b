// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// patience is the time limit of one condition.
	patience = 2 * time.Minute
	// commandTimeout is the time limit of one command.
	commandTimeout = 10 * time.Minute
	// restricted is the label of namespaces that enforce the restricted Pod Security Standard.
	restricted = "pod-security.kubernetes.io/enforce=restricted"
)

// skipInShortMode skips a test that does not run for every change: see test/e2e/doc.go.
func skipInShortMode(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short")
	}
}

// eventually fails the test unless holds succeeds within patience.
func eventually(t *testing.T, what string, holds func(g gomega.Gomega)) {
	t.Helper()
	gomega.NewWithT(t).Eventually(holds).WithTimeout(patience).WithPolling(200*time.Millisecond).Should(gomega.Succeed(), what)
}

// execute runs a shell command in the root of the repository, with a kubeconfig unless it is empty. After commandTimeout, it kills the
// command and every process that it started, and returns an error.
func execute(kubeconfig, line string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), commandTimeout, fmt.Errorf("not finished after %s", commandTimeout))
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-c", line)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 10 * time.Second // A process may have left the group and hold the output.
	command.Dir = root
	command.Env = os.Environ()
	if kubeconfig != "" {
		command.Env = append(command.Env, "KUBECONFIG="+kubeconfig)
	}
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return output.String(), err
}

// labelled parses labels in the format of kubectl.
func labelled(pairs ...string) map[string]string {
	labels := map[string]string{}
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		labels[key] = value
	}
	return labels
}

// project is a namespace and a user who works in it.
type project struct {
	t          *testing.T
	name       string
	kubeconfig string // its current namespace is this one
}

func newProject(t *testing.T, labels ...string) *project {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "podset-e2e-", Labels: labelled(append(labels, partOf)...),
	}}
	if err := admin.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, name: namespace.Name, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	t.Cleanup(func() {
		p.explain()
		if err := admin.Delete(context.Background(), namespace); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})

	access, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	if err != nil {
		t.Fatal(err)
	}
	access.Contexts[access.CurrentContext].Namespace = p.name
	if err := clientcmdapi.FlattenConfig(access); err != nil {
		t.Fatal(err)
	}
	if err := clientcmd.WriteToFile(*access, p.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return p
}

// types runs a command line in the project as a user would, and returns its output. The command must succeed.
func (p *project) types(line string, args ...any) string {
	p.t.Helper()
	if len(args) > 0 {
		line = fmt.Sprintf(line, args...)
	}
	start := time.Now()
	output, err := execute(p.kubeconfig, line)
	p.t.Logf("%s [%.1f s] $ %s\n%s", p.name, time.Since(start).Seconds(), line, output)
	if err != nil {
		p.t.Fatalf("%s: %v", line, err)
	}
	return output
}

// explain logs the state that a failed test left.
func (p *project) explain() {
	if !p.t.Failed() {
		return
	}
	for _, line := range []string{
		"kubectl get podsets,ats,pods,deployments,leases -o wide",
		"kubectl get subscriptions,installplans,csv,catalogsources,operatorgroups,operatorconditions -o wide",
		`kubectl get subscriptions -o jsonpath='{range .items[*].status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'`,
		"kubectl get events --sort-by .lastTimestamp | tail -n 30",
		"kubectl logs --tail 40 deployment/" + deploymentName,
	} {
		output, _ := execute(p.kubeconfig, line)
		p.t.Logf("%s $ %s\n%s", p.name, line, output)
	}
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

func refresh[T client.Object](ctx context.Context, g gomega.Gomega, obj T) T {
	g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(gomega.Succeed())
	return obj
}

// change modifies obj as the administrator.
func change[T client.Object](t *testing.T, obj T, edit func(T)) {
	t.Helper()
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatal(err)
	}
	base := obj.DeepCopyObject().(client.Object)
	edit(obj)
	if err := admin.Patch(t.Context(), obj, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
}

// podsOf lists the pods that owner controls and that are not terminating.
func podsOf(ctx context.Context, g gomega.Gomega, owner client.Object) []corev1.Pod {
	var all corev1.PodList
	g.Expect(admin.List(ctx, &all, client.InNamespace(owner.GetNamespace()))).To(gomega.Succeed())
	var pods []corev1.Pod
	for _, pod := range all.Items {
		if metav1.IsControlledBy(&pod, owner) && pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// newSystem returns the project in which `make deploy` installs the operator. At the end of the test, a command line removes it.
func (p *project) newSystem(remove string) *project {
	system := &project{t: p.t, name: "podset-operator-system", kubeconfig: p.kubeconfig}
	p.t.Cleanup(func() { system.types("%s", remove) })
	p.t.Cleanup(system.explain)
	return system
}

// of returns the same project for a subtest.
func (p *project) of(t *testing.T) *project {
	return &project{t: t, name: p.name, kubeconfig: p.kubeconfig}
}
