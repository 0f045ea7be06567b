// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The test is the kubelet: it writes what the pod of a rehearsal shows.
func TestRehearse(t *testing.T) {
	s := newShell(t)
	s.kubeconfig = adminKubeconfig
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = s.namespace, "a-rehearsal"
	s.run("", "noon", "tomorrow", "--name", "a", "--image", "alpine", "--", "migrate")
	terminated := func(message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "StartError", Message: message, ExitCode: 128}}}
	}
	for _, test := range []struct {
		status corev1.ContainerStatus
		args   string
		want   string
		code   int
	}{
		{terminated(`exec: "/dev/null/rehearsal": stat /dev/null/rehearsal: not a directory`), "", "at/a would start on node node\n  main: image alpine\n", 0},
		{terminated("mkdir /etc/passwd: not a directory"), "", "at/a would not start\n  main: StartError: mkdir", 1},
		{terminated("mkdir /etc/passwd: not a directory"), "-o=json", `"result": "WouldNotStart"`, 1},
		{corev1.ContainerStatus{Name: "main"}, "--timeout=2s", "at/a may start or not: after 2s, it waits for the volumes and images of main on node node", 3},
	} {
		ended := make(chan result, 1)
		go func() { ended <- s.run("", strings.Fields("rehearse a "+test.args)...) }()
		if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return admin.Get(ctx, client.ObjectKeyFromObject(pod), pod) == nil, nil
		}); err != nil {
			t.Fatal(err)
		}
		binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}}
		if err := admin.SubResource("binding").Create(t.Context(), pod, binding); err != nil {
			t.Fatal(err)
		}
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			t.Fatal(err)
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{test.status}
		if err := admin.Status().Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		if got := <-ended; got.code != test.code || !strings.Contains(got.out+got.errOut, test.want) {
			t.Errorf("got %+v, want %d and %s", got, test.code, test.want)
		}
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); !apierrors.IsNotFound(err) {
			t.Errorf("the pod is left: %v", err)
		}
	}
}

func TestRehearse_errors(t *testing.T) {
	s := newShell(t)
	s.run("", "noon", "tomorrow", "--name", "bare", "--", "true")
	s.run("", "noon", "tomorrow", "--name", "a", "--image", "alpine", "--", "true")
	for args, want := range map[string]string{
		"rehearse bare":                             "at/bare cannot be rehearsed: it has no template",
		"rehearse a -o yaml":                        `invalid --output "yaml": must be "json"`,
		"rehearse a --timeout 0":                    "invalid --timeout: must be more than 0s",
		"noon tomorrow --rehearse -- true":          "--rehearse requires --from or --image",
		"noon tomorrow --image a --rehearse --wait": "cannot be combined with --wait",
	} {
		if got := s.run("", strings.Fields(args)...); got.code != 1 || !strings.Contains(got.errOut, want) {
			t.Errorf("%s: got %+v", args, got)
		}
	}
	if got := s.run("", "rehearse", "a"); got.code != unknownExitCode || !strings.Contains(got.errOut, "cannot create resource") {
		t.Errorf("without permission: got %+v", got)
	}
}
