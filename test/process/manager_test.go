// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// output is what a process has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(data)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Lines returns how many lines contain a text.
func (o *output) Lines(text string) int {
	n := 0
	for line := range strings.Lines(o.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// operator is a process of the manager.
type operator struct {
	*exec.Cmd
	log   *output
	ended chan error
}

// noPorts are the arguments of a manager that serves neither metrics nor probes.
var noPorts = []string{"--metrics-bind-address=0", "--health-probe-bind-address=0"}

// start starts the manager with variables of the environment. It ends when the test ends, or earlier.
func start(t *testing.T, env []string, args ...string) *operator {
	t.Helper()
	p := &operator{Cmd: exec.CommandContext(t.Context(), binary, args...), log: &output{}, ended: make(chan error, 1)}
	p.Env = append(os.Environ(), env...)
	p.Stdout, p.Stderr = p.log, p.log
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.Wait() }()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the output of the manager:\n%s", p.log)
		}
	})
	return p
}

// terminate ends the process with the signal that the kubelet sends, and returns its output, which is JSON.
func (p *operator) terminate(t *testing.T) string {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(t); err != nil {
		t.Errorf("the manager did not end cleanly: %v", err)
	}
	for line := range strings.Lines(p.log.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line of the log is not JSON: %s", line)
		}
	}
	return p.log.String()
}

// wait returns how the process ended.
func (p *operator) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-p.ended:
		return err
	case <-time.After(30 * time.Second):
		t.Fatal("the manager did not end")
		return nil
	}
}

// runExpectingError runs the manager, which must end by itself with the exit code 1, and returns the reason from the last line of the log.
func runExpectingError(t *testing.T, env []string, args ...string) string {
	t.Helper()
	p := start(t, env, append(args, noPorts...)...)
	var exit *exec.ExitError
	if err := p.wait(t); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the manager ended with %v, want the exit code 1", err)
	}
	lines := strings.Split(strings.TrimSuffix(p.log.String(), "\n"), "\n")
	last := lines[len(lines)-1]
	var entry struct{ Level, Msg, Error, Stacktrace string }
	if err := json.Unmarshal([]byte(last), &entry); err != nil || entry.Level != "error" || entry.Msg != "The manager ends" || entry.Stacktrace != "" {
		t.Errorf("the last line is %s", last)
	}
	return entry.Error
}

// namespace creates a namespace for one test.
func namespace(t *testing.T, admin client.Client) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "process-"}}
	create(t, admin, namespace)
	return namespace.Name
}

func create(t *testing.T, admin client.Client, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		if err := admin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
}

// samples are the objects of config/samples that lead to 3 pods and 1 pod.
func samples(t *testing.T, namespace string) (podSet, at client.Object) {
	t.Helper()
	read := func(file string) client.Object {
		data, err := os.ReadFile(filepath.Join(root, "config", "samples", file))
		if err != nil {
			t.Fatal(err)
		}
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &obj.Object); err != nil {
			t.Fatal(err)
		}
		obj.SetNamespace(namespace)
		return obj
	}
	return read("app_v1alpha1_podset.yaml"), read("cnat_v1alpha1_at.yaml")
}

// pods returns a function that counts the pods of a namespace.
func pods(t *testing.T, admin client.Client, namespace string) func() (int, error) {
	return func() (int, error) {
		list := &corev1.PodList{}
		err := admin.List(t.Context(), list, client.InNamespace(namespace))
		return len(list.Items), err
	}
}

func writeFile(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
