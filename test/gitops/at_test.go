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

	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/atspec"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/testutil"
)

// ats returns the situations of an At: one or more for each row of the table in internal/at/doc.go.
func ats() map[string]situation {
	const current, inProgress, failed = status.CurrentStatus, status.InProgressStatus, status.FailedStatus
	mk := func() *testutil.AtBuilder { return testutil.MakeAt("a") }
	runs := func() *testutil.AtBuilder { return mk().Recorded(1, "a-pod", "a-pod-uid") }
	pod := func() *testutil.AtPodBuilder { return testutil.MakeAtPod(mk().Obj(), "a-pod") }
	ended := func(phase corev1.PodPhase, code int32) *testutil.AtPodBuilder {
		reason := map[bool]string{true: "Completed", false: "Error"}[code == 0]
		return pod().Phase(phase).Exited("busybox", code, reason, "", testutil.AtDue.Add(5*time.Second))
	}
	withPolicy := func(template *corev1.PodTemplateSpec) { template.Spec.RestartPolicy = corev1.RestartPolicyAlways }
	foreign := testutil.MakeAtPod(mk().Obj(), "a-pod").Unowned().Obj()
	older := testutil.MakeAt("a").Obj()
	older.UID = "older"
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a-pod", field.ErrorList{field.Required(field.NewPath("spec", "containers"), "")})
	situations := map[string]situation{}
	for name, s := range map[string]struct {
		at      *testutil.AtBuilder
		pods    []*corev1.Pod
		now     time.Duration // after it is due
		outcome at.Outcome
		kstatus status.Status
		argo    string
		message string
	}{
		"it waits for its time":            {at: mk(), now: -time.Minute, outcome: at.Outcome{Answer: &at.Answer{}}, kstatus: current, argo: "Healthy", message: "runs at 2030-01-30T10:02:00Z"},
		"its pod would be rejected":        {at: mk(), now: -time.Minute, outcome: at.Outcome{Answer: &at.Answer{Rejection: &expectations.Rejection{Message: "exceeded quota"}}}, kstatus: failed, argo: "Degraded", message: "the API server would reject the pod now: exceeded quota"},
		"it is suspended":                  {at: mk().Suspend(), outcome: at.Outcome{Answer: &at.Answer{}}, kstatus: current, argo: "Suspended", message: "spec.suspend is true: set it to false to continue"},
		"its schedule is invalid":          {at: mk().Schedule("x"), kstatus: failed, argo: "Degraded", message: atspec.ScheduleMessage},
		"its command is invalid":           {at: mk().Command(" "), kstatus: failed, argo: "Degraded", message: "spec.command: the first word is missing or empty: begin with the program to run"},
		"its template is invalid":          {at: mk().Template(withPolicy, "main"), kstatus: failed, argo: "Degraded", message: "spec.template.spec.restartPolicy must be Never, or absent: an At runs its command once"},
		"its pod is rejected":              {at: mk(), outcome: at.Outcome{Rejected: errors.New("exceeded quota")}, kstatus: failed, argo: "Degraded", message: "exceeded quota"},
		"its pod is invalid":               {at: mk().Template(nil, "c"), outcome: at.Outcome{Rejected: invalid}, kstatus: failed, argo: "Degraded", message: invalid.Error()},
		"an older At still has the name":   {at: mk().Begun(1), outcome: at.Outcome{Conflicting: testutil.MakeAtPod(older, "a-pod").Obj()}, kstatus: inProgress, argo: "Progressing", message: "pod a-pod belongs to a deleted At with the same name: this At starts when that pod is gone"},
		"another pod has the name":         {at: mk().Begun(1), outcome: at.Outcome{Conflicting: foreign}, kstatus: failed, argo: "Degraded", message: "pod a-pod already exists and does not belong to this At: delete the pod or choose another name, then create the At again"},
		"it missed its starting deadline":  {at: mk().StartingDeadline(1), now: time.Minute, kstatus: failed, argo: "Degraded", message: "startingDeadlineSeconds (1) exceeded: the command was due at 2030-01-30T10:02:00Z and was not run: the operator was not running at that time, or did not serve this namespace"},
		"its pod was created":              {at: runs(), pods: []*corev1.Pod{pod().Obj()}, kstatus: inProgress, argo: "Progressing", message: "pod a-pod was created"},
		"its pod waits":                    {at: runs(), pods: []*corev1.Pod{pod().Waiting("busybox", "ImagePullBackOff").Obj()}, kstatus: inProgress, argo: "Progressing", message: "pod a-pod is waiting: ImagePullBackOff"},
		"it runs":                          {at: runs(), pods: []*corev1.Pod{pod().Phase(corev1.PodRunning).Runs("busybox").Obj()}, kstatus: inProgress, argo: "Progressing", message: "pod a-pod was created"},
		"it waits for a retry":             {at: runs().BackoffLimit(1), pods: []*corev1.Pod{ended(corev1.PodFailed, 3).Obj()}, now: 6 * time.Second, kstatus: inProgress, argo: "Progressing", message: "attempt 1 of 2 failed: NonZeroExitCode: the command in pod a-pod ended with exit code 3; the next one is due at 2030-01-30T10:02:16Z"},
		"its retry is rejected":            {at: mk().BackoffLimit(1).RetryRecorded(1, "a-pod", 0), now: time.Minute, outcome: at.Outcome{Rejected: errors.New("exceeded quota")}, kstatus: failed, argo: "Degraded", message: "exceeded quota"},
		"its command succeeded":            {at: runs(), pods: []*corev1.Pod{ended(corev1.PodSucceeded, 0).Obj()}, now: time.Minute, kstatus: current, argo: "Healthy", message: "the command in pod a-pod ended with exit code 0"},
		"its command failed":               {at: runs(), pods: []*corev1.Pod{ended(corev1.PodFailed, 3).Obj()}, now: time.Minute, kstatus: failed, argo: "Degraded", message: "the command in pod a-pod ended with exit code 3"},
		"its run exceeded the deadline":    {at: runs().ActiveDeadline(1), now: time.Minute, kstatus: failed, argo: "Degraded", message: "activeDeadlineSeconds (1) exceeded; last attempt: its pod is gone, and it is unknown how the command ended"},
		"its pod is lost":                  {at: runs(), now: time.Minute, kstatus: failed, argo: "Degraded", message: "pod a-pod disappeared before its end was recorded; the command may have run, so it is not run again. To run it, create another At"},
		"it succeeded and its pod is gone": {at: done(runs(), ended(corev1.PodSucceeded, 0).Obj()), now: time.Hour, kstatus: current, argo: "Healthy", message: "the command in pod a-pod ended with exit code 0"},
		"it failed and its pod is gone":    {at: done(runs(), ended(corev1.PodFailed, 3).Obj()), now: time.Hour, kstatus: failed, argo: "Degraded", message: "the command in pod a-pod ended with exit code 3"},
		"it is being deleted":              {at: mk().Deleting(), kstatus: status.TerminatingStatus},
	} {
		absent := map[string]*corev1.Pod{"a-pod": nil, "a-pod-1": nil}
		o := new(at.State).Observe(at.Seen{At: s.at.Obj(), Pods: s.pods, LookedUp: absent}, testutil.AtDue.Add(s.now), at.Defaults{})
		o.At.Status = at.MakeReport(o, at.MakePlan(o), s.outcome).Status
		situations[name] = situation{object: o.At, kstatus: s.kstatus, argo: s.argo, message: s.message}
	}
	return situations
}

// done returns an At whose status shows how a pod ended.
func done(b *testutil.AtBuilder, pod *corev1.Pod) *testutil.AtBuilder {
	o := new(at.State).Observe(at.Seen{At: b.Obj(), Pods: []*corev1.Pod{pod}}, testutil.AtDue.Add(time.Minute), at.Defaults{})
	return b.Status(at.MakeReport(o, at.MakePlan(o), at.Outcome{}).Status)
}
