// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rehearsal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/redhat/podset-operator/cmd/kubectl-at/internal/rehearsal"
	"github.com/redhat/podset-operator/internal/testutil"
)

func newPod(edit func(*corev1.PodTemplateSpec), image string) *corev1.Pod {
	at := testutil.MakeAt("a").Command("").Template(edit, "main").Obj()
	return rehearsal.NewPod(at, time.Minute, image)
}

func TestNewPod(t *testing.T) {
	cpu := func(milli int64) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI)}
	}
	pod := newPod(func(template *corev1.PodTemplateSpec) {
		template.Labels, template.Finalizers = map[string]string{"app": "web"}, []string{"example.com/hold"}
		spec := &template.Spec
		spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/quota"}}
		spec.PriorityClassName = "high"
		spec.InitContainers = []corev1.Container{
			{Name: "init", Command: []string{"/bin/init"}, Resources: corev1.ResourceRequirements{Requests: cpu(700), Limits: cpu(700)}},
			{Name: "proxy", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways), StartupProbe: &corev1.Probe{}, Resources: corev1.ResourceRequirements{Requests: cpu(100)}},
		}
		main := &spec.Containers[0]
		main.Command, main.Args = []string{"/app/$(NAME)"}, []string{"x"}
		main.Lifecycle, main.LivenessProbe, main.Resources.Requests = &corev1.Lifecycle{}, &corev1.Probe{}, cpu(200)
	}, "")
	want := []metav1.OwnerReference{{APIVersion: "cnat.d2iq.com/v1alpha1", Kind: "At", Name: "a", UID: "a-uid"}}
	if diff := cmp.Diff(want, pod.OwnerReferences); diff != "" {
		t.Errorf("owner: %s", diff)
	}
	if diff := cmp.Diff(map[string]string{"cnat.d2iq.com/rehearsal": "a"}, pod.Labels); diff != "" {
		t.Errorf("labels: %s", diff)
	}
	spec := pod.Spec
	if pod.Name != "a-rehearsal" || len(pod.Finalizers)+len(spec.SchedulingGates)+len(spec.InitContainers) > 0 || spec.PriorityClassName != "" ||
		*spec.ActiveDeadlineSeconds != 60 || spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("got %+v", pod)
	}
	commands, milli := map[string]string{}, int64(0)
	for _, c := range spec.Containers {
		commands[c.Name] = strings.Join(append(c.Command, c.Args...), " ")
		milli += c.Resources.Requests.Cpu().MilliValue()
		if c.Lifecycle != nil || c.LivenessProbe != nil || c.StartupProbe != nil || c.RestartPolicy != nil {
			t.Errorf("container %s: %+v", c.Name, c)
		}
	}
	if diff := cmp.Diff(map[string]string{"init": "/bin/init/", "proxy": "/dev/null/rehearsal", "main": "/app/$(NAME)/"}, commands); diff != "" {
		t.Errorf("commands: %s", diff)
	}
	if milli != 700 { // as the init container, which is larger than the others
		t.Errorf("requests %dm", milli)
	}
}

func TestNewPod_program(t *testing.T) {
	for name, test := range map[string]struct{ program, mount, want string }{
		"an absolute path":          {"/bin/x", "/data", "/bin/x/"},
		"a name":                    {"x", "", "/dev/null/rehearsal"},
		"a relative path":           {"bin/x", "", "/dev/null/rehearsal"},
		"that of the image":         {"", "", "/dev/null/rehearsal"},
		"a file of a volume":        {"/tools/x", "/tools/", "/dev/null/rehearsal"},
		"a file that is mounted":    {"/tools/x", "/tools/x", "/dev/null/rehearsal"},
		"a path that begins so too": {"/tools/x", "/too", "/tools/x/"},
	} {
		pod := newPod(func(template *corev1.PodTemplateSpec) {
			main := &template.Spec.Containers[0]
			if test.program != "" {
				main.Command = []string{test.program}
			}
			if test.mount != "" {
				main.VolumeMounts = []corev1.VolumeMount{{MountPath: test.mount}}
			}
		}, "")
		if diff := cmp.Diff([]string{test.want}, pod.Spec.Containers[0].Command); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestNewPod_look(t *testing.T) {
	pod := newPod(func(template *corev1.PodTemplateSpec) {
		template.Spec.Containers[0].Command = []string{"migrate"}
		template.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true)}
	}, "busybox:musl")
	look, main := pod.Spec.InitContainers[0], pod.Spec.Containers[0]
	if look.Image != "busybox:musl" || *look.SecurityContext.RunAsUser == 0 || main.Command[0] != "/.rehearsal/busybox" || main.Command[len(main.Command)-1] != "migrate" ||
		strings.Contains(strings.ReplaceAll(main.Command[3], "$$", ""), "$") {
		t.Errorf("got %+v", pod.Spec)
	}
}

const (
	runc = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "
	crio = "container create failed: "
)

func TestJudge(t *testing.T) {
	terminated := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, Message: message, ExitCode: 128}}
	}
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	for name, test := range map[string]struct {
		state   corev1.ContainerState
		finding string // a part of it
		waits   bool
	}{
		"containerd":                             {state: terminated("StartError", runc+`error during container init: exec: "/dev/null/rehearsal": stat /dev/null/rehearsal: not a directory: unknown`)},
		"containerd, the file exists":            {state: terminated("StartError", runc+`exec: "/bin/x/": stat /bin/x/: not a directory: unknown`)},
		"containerd, no file":                    {state: terminated("StartError", runc+`exec: "/bin/x/": stat /bin/x/: no such file or directory: unknown`), finding: "no such file"},
		"containerd, a directory":                {state: terminated("StartError", runc+`exec: "/etc/": permission denied: unknown`), finding: "permission denied"},
		"containerd, a working directory":        {state: terminated("StartError", runc+`error during container init: mkdir /etc/passwd: not a directory: unknown`), finding: "mkdir"},
		"CRI-O with crun":                        {state: waiting("CreateContainerError", crio+"open `/dev/null/rehearsal`: Not a directory")},
		"CRI-O with crun, the file exists":       {state: waiting("CreateContainerError", crio+"open `/bin/x/`: Not a directory")},
		"CRI-O with crun, no file":               {state: waiting("CreateContainerError", crio+"executable file `/bin/x/` not found: No such file or directory"), finding: "not found", waits: true},
		"CRI-O with crun, a directory":           {state: waiting("CreateContainerError", crio+"the path `/etc/` is not a regular file: Operation not permitted"), finding: "regular", waits: true},
		"CRI-O with an older crun":               {state: waiting("CreateContainerError", crio+"open executable: Not a directory")},
		"CRI-O with runc":                        {state: waiting("CreateContainerError", crio+`time="2026-11-28T12:00:00Z" level=error msg="runc create failed: unable to start container process: exec: \"/dev/null/rehearsal\": stat /dev/null/rehearsal: not a directory"`)},
		"CRI-O, a working directory":             {state: waiting("CreateContainerError", crio+"chdir to `/etc/passwd`: Not a directory"), finding: "chdir", waits: true},
		"an image that is not there":             {state: waiting("ErrImagePull", `failed to resolve reference "docker.io/library/busybox:9.99": docker.io/library/busybox:9.99: not found`), finding: "9.99"},
		"a registry that does not answer":        {state: waiting("ErrImagePull", `dial tcp 10.0.0.1:443: i/o timeout`), finding: "timeout", waits: true},
		"a Secret that is not there":             {state: waiting("CreateContainerConfigError", `secret "s" not found`), finding: `"s"`},
		"a cache of the kubelet that is not yet": {state: waiting("CreateContainerConfigError", `failed to sync secret cache: timed out waiting for the condition`), finding: "sync", waits: true},
		"a container that is created":            {state: waiting("ContainerCreating", ""), waits: true},
		"a program that ran":                     {state: terminated("Error", "x"), finding: "Error: x"},
	} {
		requested := newPod(nil, "")
		pod := requested.DeepCopy()
		pod.Spec.NodeName = "node"
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: test.state}, {Name: "injected", State: waiting("ErrImagePull", "not ours")}}
		got, text := rehearsal.Judge(requested, pod, nil), ""
		for _, f := range got.Findings {
			text += f.String()
		}
		if (text == "") != (test.finding == "") || !strings.Contains(text, test.finding) || got.IsSettled() == test.waits {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestJudge_pod(t *testing.T) {
	event := func(reason, message string) corev1.Event { return corev1.Event{Reason: reason, Message: message} }
	unschedulable := func(message string) corev1.PodStatus {
		return corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message}}}
	}
	for name, test := range map[string]struct {
		node    string
		status  corev1.PodStatus
		events  []corev1.Event
		finding string
		settled bool
	}{
		"no node yet":                  {},
		"no node":                      {status: unschedulable("0/1 nodes are available: 1 Insufficient cpu."), finding: "cpu"},
		"no claim":                     {status: unschedulable(`0/1 nodes are available: persistentvolumeclaim "d" not found. not found`), finding: `"d"`, settled: true},
		"no Secret for a volume":       {node: "n", events: []corev1.Event{event("FailedMount", `secret "s" not found`)}, finding: "FailedMount", settled: true},
		"a volume that may come":       {node: "n", events: []corev1.Event{event("FailedAttachVolume", "Multi-Attach error")}, finding: "Multi-Attach"},
		"a new namespace":              {node: "n", events: []corev1.Event{event("FailedMount", `configmap "kube-root-ca.crt" not found`)}, finding: "root-ca"},
		"a volume that has been there": {node: "n", events: []corev1.Event{event("FailedMount", `secret "s" not found`), event("Pulling", "")}},
		"the kubelet refuses it":       {node: "n", status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "SysctlForbidden", Message: "no"}, finding: "SysctlForbidden", settled: true},
		"an eviction":                  {node: "n", status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}, settled: true},
	} {
		requested := newPod(nil, "")
		pod := requested.DeepCopy()
		pod.Spec.NodeName, pod.Status = test.node, test.status
		got := rehearsal.Judge(requested, pod, test.events)
		if (len(got.Findings) > 0) != (test.finding != "") || test.finding != "" && !strings.Contains(got.Findings[0].String(), test.finding) || got.IsSettled() != test.settled {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestJudge_look(t *testing.T) {
	requested := newPod(nil, "busybox")
	pod := requested.DeepCopy()
	pod.Spec.NodeName = "node"
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "rehearsal", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no"}}}}
	if got := rehearsal.Judge(requested, pod, nil); got.Look != "ErrImagePull: no" || len(got.Findings) > 0 {
		t.Errorf("an image that cannot be pulled: %+v", got)
	}
	done := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
	pod.Status.InitContainerStatuses[0].State = done
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: done}}
	if got := rehearsal.Judge(requested, pod, nil); got.Look != "" || len(got.Findings) > 0 || !got.IsSettled() {
		t.Errorf("a program that is there: %+v", got)
	}
	pod.Status.ContainerStatuses[0].State.Terminated = &corev1.ContainerStateTerminated{Reason: "StartError", Message: "exec /.rehearsal/busybox: no such file or directory"}
	if got := rehearsal.Judge(requested, pod, nil); got.Look == "" || len(got.Findings) > 0 {
		t.Errorf("a busybox that is not static: %+v", got)
	}
}
