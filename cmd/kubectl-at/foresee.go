// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/atspec"
)

// answerTime is how long a new At waits for what the operator says about its pod. The operator usually answers within a tenth of it.
var answerTime = time.Second

// warnOfPod warns if the API server would reject the pod of a new At. The operator says so in the condition Ready. It says nothing about an At
// that was not created, so the pod of a template is then checked as the user: a policy may treat the operator in another way.
func (r *request) warnOfPod(at *cnatv1alpha1.At) {
	switch {
	case r.dryRun == dryRunServer && at.Spec.Template != nil:
		if err := r.Create(r.ctx(), podOf(at), client.DryRunAll); err != nil {
			r.warn("the API server would reject the pod of this At now, if you created it: " + err.Error())
		}
	case r.dryRun == dryRunNone:
		if problem := r.problemOf(at, answerTime); problem != "" {
			r.warn(problem)
		}
	}
}

// problemOf returns what keeps an At from its time, or "" if there is nothing, or if the operator does not say it within a limit.
func (r *request) problemOf(at *cnatv1alpha1.At, limit time.Duration) (problem string) {
	current := &cnatv1alpha1.At{}
	_ = wait.PollUntilContextTimeout(r.ctx(), 50*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		if err := r.Get(ctx, client.ObjectKeyFromObject(at), current); err != nil {
			return true, nil //nolint:nilerr // The At was created, and this is only a warning about it.
		}
		problem = stalled(current)
		ready := meta.FindStatusCondition(current.Status.Conditions, cnatv1alpha1.ConditionReady)
		return ready != nil && ready.ObservedGeneration == current.Generation, nil
	})
	return problem
}

// stalled returns why an At that has not ended cannot go on without a change, or "".
func stalled(at *cnatv1alpha1.At) string {
	c := meta.FindStatusCondition(at.Status.Conditions, cnatv1alpha1.ConditionStalled)
	if c == nil || c.Status != metav1.ConditionTrue || atrun.IsDone(&at.Status) {
		return ""
	}
	return c.Reason + ": " + c.Message
}

// podOf returns the pod of the template of an At as far as the API server can reject it.
func podOf(at *cnatv1alpha1.At) *corev1.Pod {
	template := at.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.Namespace = atrun.PodName(at, 0), at.Namespace
	if at.Name == "" {
		pod.Name, pod.GenerateName = "", at.GenerateName
	}
	for key, value := range atrun.SelectorLabels(at) {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, key, value)
	}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	if words, err := atspec.SplitCommand(at.Spec.Command); err == nil && len(pod.Spec.Containers) > 0 {
		pod.Spec.Containers[0].Command = atspec.ContainerCommand(words)
	}
	return pod
}
