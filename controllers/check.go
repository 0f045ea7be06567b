// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/kube/write"
)

// maxChecks bounds how many pods of Ats that wait are checked at the same time. An admission webhook can take 10 s.
const maxChecks = 4

// check asks the API server whether it accepts the pod of the plan.
func (r *AtReconciler) check(ctx context.Context, d *decided) (outcome at.Outcome) {
	if d.plan.Check == nil {
		return at.Outcome{Answer: d.plan.Answer}
	}
	if !d.plan.Start {
		defer r.checks.Add(-1)
		if r.checks.Add(1) > maxChecks {
			return outcome
		}
	}
	pod := d.plan.Check.DeepCopy()
	err := r.Client.Create(ctx, pod, client.DryRunAll)
	outcome.Answer = answerOf(d.plan.Check, pod, err)
	if d.plan.Start && outcome.Answer.Rejection != nil {
		log.FromContext(ctx).V(1).Info("The API server would reject the pod", "reason", err.Error())
		outcome.Rejected = fmt.Errorf("creating Pod %s: %w", pod.Name, err)
		rejectedCreates.WithLabelValues(atKind.Kind).Inc()
	}
	return outcome
}

// answerOf returns what the result of a dry run says about a pod. An error of the API server itself, and its answer that a webhook does not
// support dry runs, say nothing about it.
func answerOf(requested, got *corev1.Pod, err error) *at.Answer {
	switch {
	case err == nil:
		return &at.Answer{Changed: atrun.Changed(requested, got)}
	case apierrors.IsAlreadyExists(err) && write.TakenName(err, requested.Name) != requested.Name:
		return &at.Answer{Changed: nameChange(requested, write.TakenName(err, requested.Name))}
	case write.IsRejected(err) && apierrors.ReasonForError(err) != metav1.StatusReasonBadRequest:
		return &at.Answer{Rejection: expectations.NewRejection(err)}
	}
	return &at.Answer{Unknown: err.Error()}
}

// nameChange describes the change of the name of a pod.
func nameChange(requested *corev1.Pod, name string) string {
	return fmt.Sprintf("the name of pod %s to %s", requested.Name, name)
}
