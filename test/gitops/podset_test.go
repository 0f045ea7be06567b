// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/podset"
	"github.com/redhat/podset-operator/internal/testutil"
)

// podSets returns the situations of a PodSet of three pods.
func podSets() map[string]situation {
	const current, inProgress, failed = status.CurrentStatus, status.InProgressStatus, status.FailedStatus
	mk := func() *testutil.PodSetBuilder { return testutil.MakePodSet("a").Replicas(3).Image("v1") }
	edited := func() *testutil.PodSetBuilder { return testutil.MakePodSet("a").Replicas(3).Image("v2") }
	hourAgo := testutil.Created.Add(-time.Hour)
	stuck := func(b *testutil.PodSetBuilder) *testutil.PodSetBuilder {
		return b.ProgressDeadlineSeconds(60).Status(appv1alpha1.PodSetStatus{Conditions: []metav1.Condition{
			{Type: appv1alpha1.ConditionProgressing, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(hourAgo)},
		}})
	}
	old := podset.HashTemplate(mk().Obj().Spec.Template)
	pod := func(n int) *testutil.PodBuilder {
		return testutil.MakePod(fmt.Sprintf("a-pod%d", n)).OwnedBy(mk().Obj()).Slot(n).Hash(old)
	}
	ready := func(n int) (pods []*corev1.Pod) {
		for i := range n {
			pods = append(pods, pod(i).Running().Obj())
		}
		return pods
	}
	quota := errors.New("creating Pod a-pod2: exceeded quota")
	paused := "the annotation app.example.com/paused pauses the PodSet: remove it to continue"
	situations := map[string]situation{}
	for name, s := range map[string]struct {
		set      *testutil.PodSetBuilder
		pods     []*corev1.Pod
		rejected *expectations.Rejection
		outcome  podset.Outcome
		kstatus  status.Status
		argo     string
		message  string
	}{
		"no pod exists yet":                      {set: mk(), kstatus: inProgress, argo: "Progressing", message: "0 of 3 pods exist"},
		"pods are being created":                 {set: mk(), outcome: podset.Outcome{Created: []*corev1.Pod{pod(0).Obj()}}, kstatus: inProgress, argo: "Progressing", message: "1 of 3 pods exist"},
		"there are too many pods":                {set: mk(), pods: ready(4), kstatus: inProgress, argo: "Progressing", message: "4 of 3 pods exist"},
		"a pod is not ready yet":                 {set: mk(), pods: append(ready(2), pod(2).Running().Unready().Obj()), kstatus: inProgress, argo: "Progressing", message: "2 of 3 pods are ready"},
		"an image cannot be pulled":              {set: mk(), pods: append(ready(2), pod(2).Waiting("ErrImagePull").Obj()), kstatus: inProgress, argo: "Progressing", message: "1 of 3 pods: ImagePullBackOff"},
		"no node takes a pod":                    {set: mk(), pods: append(ready(2), pod(2).Condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable").Obj()), kstatus: inProgress, argo: "Progressing", message: "1 of 3 pods: Unschedulable"},
		"the template is being rolled out":       {set: edited(), pods: ready(3), kstatus: inProgress, argo: "Progressing", message: "0 of 3 pods use the current template"},
		"old pods remain under OnDelete":         {set: edited().OnDelete(), pods: ready(3), kstatus: current, argo: "Healthy", message: "3 of 3 pods use an older template and stay until you delete them"},
		"all pods are ready and updated":         {set: mk(), pods: ready(3), kstatus: current, argo: "Healthy", message: "the pods match the spec"},
		"a deleted pod has a replacement":        {set: mk(), pods: append(ready(3), pod(3).Running().Terminating().Obj()), kstatus: current, argo: "Healthy", message: "the pods match the spec"},
		"a finished pod has a replacement":       {set: mk(), pods: append(ready(3), pod(3).Finished(corev1.PodFailed, "Evicted").Obj()), kstatus: current, argo: "Healthy", message: "the pods match the spec"},
		"a finished pod has no replacement yet":  {set: mk(), pods: append(ready(2), pod(3).Finished(corev1.PodFailed, "Evicted").Obj()), kstatus: inProgress, argo: "Progressing", message: "1 of 1 pods: Evicted"},
		"a create was rejected":                  {set: mk(), pods: ready(2), outcome: podset.Outcome{Rejected: quota}, kstatus: failed, argo: "Degraded", message: quota.Error()},
		"a rejected create waits for its retry":  {set: mk(), pods: ready(2), rejected: &expectations.Rejection{Message: quota.Error()}, kstatus: failed, argo: "Degraded", message: quota.Error()},
		"a rejection while a pod is terminating": {set: mk(), pods: append(ready(2), pod(3).Running().Terminating().Obj()), rejected: &expectations.Rejection{Message: quota.Error()}, kstatus: inProgress, argo: "Progressing", message: quota.Error()},
		"a rejection that is over":               {set: mk(), pods: ready(3), rejected: &expectations.Rejection{Message: quota.Error()}, kstatus: current, argo: "Healthy", message: "the pods match the spec"},
		"the API server did not answer a create": {set: mk(), pods: ready(2), outcome: podset.Outcome{CreateError: errors.New("timeout")}, kstatus: inProgress, argo: "Progressing", message: "timeout"},
		"a delete failed":                        {set: mk(), pods: ready(4), outcome: podset.Outcome{DeleteError: errors.New("forbidden")}, kstatus: inProgress, argo: "Progressing", message: "forbidden"},
		"nothing has changed until the deadline": {set: stuck(mk().Replicas(1)), pods: []*corev1.Pod{pod(0).Running().Unready().Created(hourAgo).Obj()}, kstatus: failed, argo: "Degraded", message: "no progress for 60 seconds: 0 of 1 pods are ready; pod a-pod0: Running, not Ready"},
		"it is paused with all pods":             {set: mk().Annotation(appv1alpha1.AnnotationPaused, "true"), pods: ready(3), kstatus: current, argo: "Suspended", message: paused},
		"it is paused without all pods":          {set: mk().Annotation(appv1alpha1.AnnotationPaused, "true"), pods: ready(2), kstatus: inProgress, argo: "Suspended", message: paused},
		"it is being deleted":                    {set: mk().Deleting(), pods: ready(3), kstatus: status.TerminatingStatus},
	} {
		o := podset.Observation{Set: s.set.Obj(), Pods: s.pods, Now: testutil.Created, Rejection: s.rejected}
		o.Set.Status = podset.MakeReport(o, podset.Plan{}, s.outcome).Status
		situations[name] = situation{object: o.Set, kstatus: s.kstatus, argo: s.argo, message: s.message}
	}
	return situations
}
