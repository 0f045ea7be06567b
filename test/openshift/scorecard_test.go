// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openshift

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// operator-sdk runs each test of the scorecard in a pod. Here it creates these pods in an API server without nodes, as docs/olm.md
// describes. The test takes the place of the node: it says at once that a pod has ended.
func TestTheScorecardPodsAreAdmitted(t *testing.T) {
	sdk, err := filepath.Abs(filepath.Join(root, "bin/operator-sdk"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(sdk); errors.Is(err, os.ErrNotExist) {
		t.Skip("there is no operator-sdk: run make bin/operator-sdk")
	}
	environment := startCluster(t, nil)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, environment.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	admin, err := client.NewWithWatch(environment.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pods, err := admin.Watch(t.Context(), &corev1.PodList{}, client.InNamespace("default"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), sdk, "scorecard", filepath.Join(root, "bundle"), "--kubeconfig", kubeconfig, "--namespace", "default",
		"--service-account", "podset-operator-scorecard", "--pod-security", "restricted", "--wait-time", "10m")
	ended := make(chan []byte, 1)
	go func() {
		defer pods.Stop()
		output, _ := command.CombinedOutput() // It fails, because pods without a node have no logs.
		ended <- output
	}()

	c, created := constraints(t), []string{}
	for event := range pods.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok || event.Type != watch.Added {
			continue
		}
		for _, reason := range c.Reject(allocated, &pod.Spec) {
			t.Errorf("%v: %s", pod.Spec.Containers[0].Command, reason)
		}
		created = append(created, entrypoint(pod.Spec.Containers[0].Image, pod.Spec.Containers[0].Command))
		end(t.Context(), t, admin, pod)
	}
	output := <-ended
	slices.Sort(created)
	if want := configuredTests(t); !slices.Equal(created, want) {
		t.Errorf("operator-sdk created pods for %q, and not for %q:\n%s", created, want, output)
	}
}

// end writes the status of a pod whose containers have ended.
func end(ctx context.Context, t *testing.T, admin client.Client, pod *corev1.Pod) {
	t.Helper()
	pod.Status.Phase = corev1.PodSucceeded
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}},
		})
	}
	if err := admin.Status().Update(ctx, pod); err != nil {
		t.Error(err)
	}
}

// configuredTests returns the entry points of the tests in the bundle, sorted.
func configuredTests(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "bundle/tests/scorecard/config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	configuration := &v1alpha3.Configuration{}
	if err := yaml.Unmarshal(content, configuration); err != nil {
		t.Fatal(err)
	}
	var tests []string
	for _, stage := range configuration.Stages {
		for _, test := range stage.Tests {
			tests = append(tests, entrypoint(test.Image, test.Entrypoint))
		}
	}
	if len(tests) == 0 {
		t.Fatal("the bundle has no scorecard tests")
	}
	slices.Sort(tests)
	return tests
}

func entrypoint(image string, command []string) string {
	return image + ": " + strings.Join(command, " ")
}
