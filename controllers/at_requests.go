// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/atrun"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/kube/warnings"
	"github.com/redhat/podset-operator/internal/kube/write"
	"github.com/redhat/podset-operator/internal/pods"
)

// operation is one operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// openPatch removes the gate of the operator from exactly this pod, and no other gate, unless the pod is being deleted: a pod that keeps its gate
// provably did not run.
func openPatch(pod *corev1.Pod) []operation {
	i := slices.IndexFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == cnatv1alpha1.StartGate })
	path := "/spec/schedulingGates/" + strconv.Itoa(i)
	exists := operation{"test", "/metadata/deletionTimestamp", json.RawMessage("null")}
	return append(samePod(pod), exists, operation{"test", path + "/name", cnatv1alpha1.StartGate}, operation{"remove", path, nil})
}

// stopPatch makes the kubelet end exactly this pod, and keep it with its log.
func stopPatch(pod *corev1.Pod) []operation {
	return append(samePod(pod), operation{"add", "/spec/activeDeadlineSeconds", 1})
}

// samePod tests that it is this pod, and that it still has the owners that the operator has seen.
func samePod(pod *corev1.Pod) []operation {
	return []operation{{"test", "/metadata/uid", pod.UID}, {"test", "/metadata/ownerReferences", pod.OwnerReferences}}
}

// create creates the pod of an attempt. If the create is not answered, a pod with the ID of this request is the answer, unless its identity has
// changed: it is not known who changed it.
func (r *AtReconciler) create(ctx context.Context, requested *corev1.Pod) at.Result {
	id := string(uuid.NewUUID())
	pod := requested.DeepCopy()
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, cnatv1alpha1.AnnotationRequest, id)
	err := r.Client.Create(ctx, pod)
	name := write.TakenName(err, requested.Name)
	switch {
	case err == nil:
		return at.Result{Pod: podOwners.Trim(pod), Modified: atrun.Modified(requested, pod)}
	case apierrors.IsAlreadyExists(err) && name != requested.Name:
		return r.renamed(ctx, requested, name)
	case apierrors.IsAlreadyExists(err):
		nameCollisions.WithLabelValues(atKind.Kind).Inc()
		return at.Result{Taken: true}
	}
	answer, created := classified(fmt.Errorf("creating Pod %s: %w", requested.Name, err)), &corev1.Pod{}
	if answer.Failed == nil || r.APIReader.Get(ctx, client.ObjectKeyFromObject(requested), created) != nil ||
		created.Annotations[cnatv1alpha1.AnnotationRequest] != id || atrun.Modified(requested, created) != "" {
		return answer
	}
	return at.Result{Pod: podOwners.Trim(created)}
}

// renamed returns the result of a create in which admission chose a name that exists. It may be the pod of a create that was not answered.
func (r *AtReconciler) renamed(ctx context.Context, requested *corev1.Pod, name string) at.Result {
	existing, err := podOwners.Read(ctx, r.APIReader, requested.Namespace, name)
	if err != nil {
		return at.Result{Failed: err}
	}
	if existing != nil && pods.OwnerUID(existing) != pods.OwnerUID(requested) {
		existing = nil
	}
	return at.Result{Pod: existing, Modified: nameChange(requested, name)}
}

// nameChange describes the change of the name of a pod.
func nameChange(requested *corev1.Pod, name string) string {
	return fmt.Sprintf("the name of pod %s to %s", requested.Name, name)
}

// patch changes a pod.
func (r *AtReconciler) patch(ctx context.Context, pod *corev1.Pod, operations []operation) at.Result {
	body, err := json.Marshal(operations)
	if err != nil {
		return at.Result{Failed: fmt.Errorf("encoding a patch: %w", err)}
	}
	patched := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	switch err := r.Client.Patch(ctx, patched, client.RawPatch(types.JSONPatchType, body)); {
	case err == nil:
		return at.Result{Pod: podOwners.Trim(patched)}
	case apierrors.IsNotFound(err): // The cache is behind. Repeat with back-off until it shows that the pod is gone.
		return at.Result{Failed: fmt.Errorf("patching Pod %s: %w", pod.Name, err)}
	default:
		return classified(fmt.Errorf("patching Pod %s: %w", pod.Name, err))
	}
}

// classified returns the result of a request that was rejected, or that failed in another way.
func classified(err error) at.Result {
	if write.IsRejected(err) {
		return at.Result{Rejected: err}
	}
	return at.Result{Failed: err}
}

// deletePod deletes a pod. One that no node has, and that of the run, are deleted only in the state that the decision was about: the node may
// have begun to run it since then.
func (r *AtReconciler) deletePod(ctx context.Context, pod *corev1.Pod, ofRun bool) (at.Result, error) {
	same, inState := client.Preconditions{UID: &pod.UID}, ofRun || pod.Spec.NodeName == ""
	if inState {
		same.ResourceVersion = &pod.ResourceVersion
	}
	err := r.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, same)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) && !inState { // Another pod may have the name.
		return at.Result{Missing: true}, nil
	}
	if err != nil {
		return at.Result{}, fmt.Errorf("deleting Pod %s: %w", pod.Name, err)
	}
	return at.Result{}, nil
}

// dryRun asks the API server whether it accepts the pod of an At that waits, and its budget.
func (r *AtReconciler) dryRun(ctx context.Context, key client.ObjectKey, question at.Ask, answers *at.Answers) {
	if answers.DryRunLater = !r.slots.enter(key, forDryRun); answers.DryRunLater {
		return
	}
	ctx, warned := warnings.Collect(ctx)
	pod := question.DryRun.DeepCopy()
	err := r.Client.Create(ctx, pod, client.DryRunAll)
	answers.DryRun = answerOf(question.DryRun, pod, err)
	if err == nil && question.Budget != nil {
		result := r.protect(ctx, question.Budget, client.DryRunAll)
		answers.DryRun.Budget, answers.DryRun.Unknown = message(result.Rejected), message(result.Failed)
	}
	if text := warned.Text(); text != "" {
		answers.DryRun.Warnings = append(answers.DryRun.Warnings, text)
	}
}

// answerOf returns what the result of a dry run says about a pod. An error of the API server itself, and its answer that a webhook does not
// support dry runs, say nothing about it.
func answerOf(requested, got *corev1.Pod, err error) *at.Answer {
	switch name := write.TakenName(err, requested.Name); {
	case err == nil:
		return &at.Answer{Modified: atrun.Modified(requested, got), Warnings: shorterDeadline(requested, got)}
	case apierrors.IsAlreadyExists(err) && name != requested.Name:
		return &at.Answer{Modified: nameChange(requested, name)}
	case apierrors.IsAlreadyExists(err):
		return &at.Answer{Taken: true}
	case write.IsRejected(err) && apierrors.ReasonForError(err) != metav1.StatusReasonBadRequest:
		return &at.Answer{Rejection: expectations.NewRejection(err)}
	}
	return &at.Answer{Unknown: err.Error()}
}

// shorterDeadline returns a warning if admission shortens the activeDeadlineSeconds of a pod.
func shorterDeadline(requested, got *corev1.Pod) []string {
	before, after := requested.Spec.ActiveDeadlineSeconds, got.Spec.ActiveDeadlineSeconds
	if after == nil || before != nil && *after >= *before {
		return nil
	}
	was := "none"
	if before != nil {
		was = strconv.FormatInt(*before, 10)
	}
	return []string{fmt.Sprintf("admission changes activeDeadlineSeconds of the pod from %s to %d: the command is stopped after that time", was, *after)}
}
