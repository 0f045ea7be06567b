// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/at/spec"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/testutil"
)

// ats returns the situations of an At: one or more for each row of the table in internal/at/doc.go.
func ats() map[string]situation {
	const current, inProgress, failed = status.CurrentStatus, status.InProgressStatus, status.FailedStatus
	mk := func() *testutil.AtBuilder { return testutil.MakeAt("a") }
	runs := func() *testutil.AtBuilder { return mk().Recorded(1, "a-pod", "a-pod-uid") }
	pod := func() *testutil.AtPodBuilder { return testutil.MakeAtPod(mk().Obj(), "a-pod").OnNode() }
	ended := func(phase corev1.PodPhase, code int32) *testutil.AtPodBuilder {
		reason := map[bool]string{true: "Completed", false: "Error"}[code == 0]
		return pod().Phase(phase).Exited("busybox", code, reason, "", testutil.AtDue.Add(5*time.Second))
	}
	older := testutil.MakeAt("a").Obj()
	older.UID = "older"
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a-pod", field.ErrorList{field.Required(field.NewPath("spec", "containers"), "")})
	situations := map[string]situation{}
	for name, s := range map[string]struct {
		at      *testutil.AtBuilder
		pods    []*corev1.Pod
		older   []*corev1.Pod
		now     time.Duration // after it is due
		answer  at.Answer     // to the dry run
		reject  error         // of the request about the pod
		kstatus status.Status
		argo    string
		message string
	}{
		"it waits for its time":            {at: mk(), now: -time.Minute, kstatus: current, argo: "Healthy", message: "runs at 2030-01-30T10:02:00Z"},
		"its pod would be rejected":        {at: mk(), now: -time.Minute, answer: at.Answer{Rejection: &expectations.Rejection{Message: "exceeded quota"}}, kstatus: failed, argo: "Degraded", message: "the API server would reject the pod now: exceeded quota"},
		"it is suspended":                  {at: mk().Suspend(), kstatus: current, argo: "Suspended", message: "spec.suspend is true: set it to false to continue"},
		"its schedule is invalid":          {at: mk().Schedule("x"), kstatus: failed, argo: "Degraded", message: spec.ScheduleMessage},
		"its command is invalid":           {at: mk().Command(" "), kstatus: failed, argo: "Degraded", message: "spec.command: the first word is missing or empty: begin with the program to run"},
		"its template is invalid":          {at: mk().Command("").Template(nil), kstatus: failed, argo: "Degraded", message: "spec.template.spec.containers must name at least one container: the first one runs the command"},
		"its pod is rejected":              {at: mk(), reject: errors.New("exceeded quota"), kstatus: failed, argo: "Degraded", message: "exceeded quota"},
		"its pod is invalid":               {at: mk().Template(nil, "c"), reject: invalid, kstatus: failed, argo: "Degraded", message: invalid.Error()},
		"an older At still has the name":   {at: mk(), older: []*corev1.Pod{testutil.MakeAtPod(older, "a-pod").Obj()}, kstatus: inProgress, argo: "Progressing", message: "pod a-pod belongs to a deleted At with the same name: this At starts when that pod is gone"},
		"a user has opened its pod":        {at: mk(), pods: []*corev1.Pod{pod().OnNode().Obj()}, kstatus: failed, argo: "Degraded", message: "the scheduling gate cnat.d2iq.com/start of pod a-pod was removed, but not by this operator; the command may have run. Exclude pods with the label app.kubernetes.io/managed-by: podset-operator from the webhook or policy that changes them, then create the At again"},
		"it missed its starting deadline":  {at: mk().StartingDeadline(1), now: time.Minute, kstatus: failed, argo: "Degraded", message: "startingDeadlineSeconds (1) exceeded: the command was due at 2030-01-30T10:02:00Z: the operator was not running at that time, or did not serve this namespace; the command did not run"},
		"its pod was created":              {at: runs(), pods: []*corev1.Pod{pod().Obj()}, kstatus: inProgress, argo: "Progressing", message: "pod a-pod was created"},
		"its pod waits":                    {at: runs(), pods: []*corev1.Pod{pod().Waiting("busybox", "ImagePullBackOff").Obj()}, kstatus: inProgress, argo: "Progressing", message: "pod a-pod is waiting: ImagePullBackOff"},
		"it runs":                          {at: runs(), pods: []*corev1.Pod{pod().Phase(corev1.PodRunning).Runs("busybox").Obj()}, kstatus: inProgress, argo: "Progressing", message: "pod a-pod was created"},
		"it waits for a retry":             {at: runs().BackoffLimit(1), pods: []*corev1.Pod{ended(corev1.PodFailed, 3).Obj()}, now: 6 * time.Second, kstatus: inProgress, argo: "Progressing", message: "attempt 1 of 2 failed: NonZeroExitCode: the command in pod a-pod ended with exit code 3; the next one is due at 2030-01-30T10:02:16Z"},
		"its retry is rejected":            {at: mk().BackoffLimit(1).RetryRecorded(1, "a-pod", 0), now: time.Minute, reject: errors.New("exceeded quota"), kstatus: failed, argo: "Degraded", message: "exceeded quota"},
		"its command succeeded":            {at: runs(), pods: []*corev1.Pod{ended(corev1.PodSucceeded, 0).Obj()}, now: time.Minute, kstatus: current, argo: "Healthy", message: "the command in pod a-pod ended with exit code 0"},
		"its command failed":               {at: runs(), pods: []*corev1.Pod{ended(corev1.PodFailed, 3).Obj()}, now: time.Minute, kstatus: failed, argo: "Degraded", message: "the command in pod a-pod ended with exit code 3"},
		"its run exceeded the deadline":    {at: runs().ActiveDeadline(1), now: time.Minute, kstatus: failed, argo: "Degraded", message: "activeDeadlineSeconds (1) exceeded; last attempt: pod a-pod disappeared before its end was recorded; the command may have run. It is not run again: to run it, create another At"},
		"its pod is lost":                  {at: runs(), now: time.Minute, kstatus: failed, argo: "Degraded", message: "pod a-pod disappeared before its end was recorded; the command may have run. It is not run again: to run it, create another At"},
		"it succeeded and its pod is gone": {at: done(runs(), ended(corev1.PodSucceeded, 0).Obj()), now: time.Hour, kstatus: current, argo: "Healthy", message: "the command in pod a-pod ended with exit code 0"},
		"it failed and its pod is gone":    {at: done(runs(), ended(corev1.PodFailed, 3).Obj()), now: time.Hour, kstatus: failed, argo: "Degraded", message: "the command in pod a-pod ended with exit code 3"},
		"it is being deleted":              {at: mk().Deleting(), kstatus: status.TerminatingStatus},
	} {
		situations[name] = situation{object: reported(s.at, s.pods, s.older, s.answer, s.reject, s.now), kstatus: s.kstatus, argo: s.argo, message: s.message}
	}
	return situations
}

// reported returns an At with the status that follows from what the API server has, now after it is due.
func reported(b *testutil.AtBuilder, pods, older []*corev1.Pod, answer at.Answer, reject error, now time.Duration) *cnatv1alpha1.At {
	var memory at.Memory
	seen := at.Seen{At: b.Obj(), Pods: pods, OfPredecessor: older}
	answers := at.Answers{DryRun: &answer, Labeled: true}
	if len(pods) == 0 {
		answers.Pods = map[string]*corev1.Pod{"a-pod": nil, "a-pod-1": nil}
	}
	pass := func() (at.View, at.Step) {
		v := memory.View(seen, answers, testutil.AtDue.Add(now), at.Defaults{})
		return v, at.Next(&v)
	}
	v, step := pass()
	if reject != nil {
		memory.Heard(&v, step, at.Result{Rejected: reject}, testutil.AtDue.Add(now))
		v, step = pass()
	}
	seen.At.Status = at.MakeReport(&v, step).Status
	return seen.At
}

// done returns an At whose status shows how a pod ended.
func done(b *testutil.AtBuilder, pod *corev1.Pod) *testutil.AtBuilder {
	return b.Status(reported(b, []*corev1.Pod{pod}, nil, at.Answer{}, nil, time.Minute).Status)
}
