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
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at"
	"github.com/redhat/podset-operator/internal/at/proof"
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

// podPatch is a change of a pod, and whether a pod has it.
type podPatch struct {
	operations []operation
	applied    func(*corev1.Pod) bool
}

// openPatch removes the gate of the operator from exactly this pod, and no other gate, unless the pod is being deleted:
// a pod that keeps its gate provably did not run. It requires the images with which the pod was created, because
// whoever may change pods can change them.
func openPatch(pod *corev1.Pod) podPatch {
	i := slices.IndexFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == cnatv1alpha1.StartGate })
	path := "/spec/schedulingGates/" + strconv.Itoa(i)
	patch := append(samePod(pod), operation{"test", "/metadata/deletionTimestamp", json.RawMessage("null")})
	patch = append(append(patch, sameImages("initContainers", pod.Spec.InitContainers)...), sameImages("containers", pod.Spec.Containers)...)
	patch = append(patch, operation{"test", path + "/name", cnatv1alpha1.StartGate}, operation{"remove", path, nil})
	return podPatch{patch, func(pod *corev1.Pod) bool { return !proof.IsGated(pod) }}
}

// stopPatch makes the kubelet end exactly this pod, and keep it with its log.
func stopPatch(pod *corev1.Pod) podPatch {
	lowered := func(pod *corev1.Pod) bool { return ptr.Deref(pod.Spec.ActiveDeadlineSeconds, 0) == at.StopNow }
	return podPatch{append(samePod(pod), operation{"add", "/spec/activeDeadlineSeconds", at.StopNow}), lowered}
}

// samePod makes the API server reject the patch if the pod was replaced, or if its owner was removed.
func samePod(pod *corev1.Pod) []operation {
	return []operation{{"test", "/metadata/uid", pod.UID}, {"test", "/metadata/ownerReferences", pod.OwnerReferences}}
}

// ask answers a question. It returns false if the At is gone.
func (r *AtReconciler) ask(ctx context.Context, question at.Ask, seen *cnatv1alpha1.At, answers *at.Answers) (exists bool, err error) {
	key := client.ObjectKeyFromObject(seen)
	switch {
	case question.At:
		fresh := &cnatv1alpha1.At{}
		if err := r.APIReader.Get(ctx, key, fresh); err != nil {
			return false, client.IgnoreNotFound(fmt.Errorf("reading At %s: %w", key.Name, err))
		}
		answers.At = fresh
		return fresh.UID == seen.UID, nil
	case question.DryRun != nil:
		r.dryRun(ctx, seen, question, answers)
		return true, nil
	}
	if answers.Pods == nil {
		answers.Pods = map[string]*corev1.Pod{}
	}
	if answers.Pods[question.Pod], err = ownedPods.Read(ctx, r.APIReader, key.Namespace, question.Pod); err != nil || !question.Labeled {
		return true, err
	}
	labeled := &corev1.PodList{}
	err = r.APIReader.List(ctx, labeled, client.InNamespace(key.Namespace), client.MatchingLabels{cnatv1alpha1.LabelUID: string(seen.UID)})
	for i := range labeled.Items {
		answers.Pods[labeled.Items[i].Name] = ownedPods.Trim(&labeled.Items[i])
	}
	answers.Labeled = err == nil
	return true, err
}

// sameImages makes the API server reject the patch if the image of a container was changed.
func sameImages(list string, containers []corev1.Container) (tests []operation) {
	for i, c := range containers {
		tests = append(tests, operation{"test", fmt.Sprintf("/spec/%s/%d/image", list, i), c.Image})
	}
	return tests
}

// create creates the pod of an attempt.
func (r *AtReconciler) create(ctx context.Context, owner *cnatv1alpha1.At, requested *corev1.Pod) at.Result {
	pod := requested.DeepCopy()
	holder, err := write.CreatePod(ctx, r.Client, r.APIReader, pod)
	switch {
	case err != nil:
		return classified(err)
	case holder == nil:
		return at.Result{Pod: ownedPods.Trim(pod), Modified: proof.Modified(requested, pod)}
	}
	nameCollisions.WithLabelValues(atKind.Kind).Inc()
	switch {
	case proof.IsOwn(owner, holder) && holder.DeletionTimestamp == nil: // An earlier create was not answered.
		return at.Result{Failed: errCacheBehind}
	case holder.Name != requested.Name:
		return at.Result{Modified: nameChange(requested, holder.Name)}
	case proof.LostOwner(owner, holder): // An earlier create was not answered.
		return at.Result{Pod: ownedPods.Trim(holder), Modified: "the controller reference of pod " + holder.Name}
	case proof.MayBeRun(holder):
		return at.Result{Modified: fmt.Sprintf("the labels and the controller reference of pod %s, which may be the pod of this At", holder.Name)}
	}
	taken := apierrors.NewAlreadyExists(corev1.Resource("pods"), holder.Name)
	return at.Result{Rejected: fmt.Errorf("creating Pod %s: %w. %s", requested.Name, taken, describeHolder(owner, holder))}
}

// describeHolder describes the pod that has the name of the pod of an At, and what to do.
func describeHolder(owner *cnatv1alpha1.At, pod *corev1.Pod) string {
	switch {
	case proof.IsOwn(owner, pod):
		return "It is being deleted: this At can start when that pod is gone"
	case proof.IsOfPredecessor(owner, pod):
		return "It belongs to a deleted At with the same name: this At can start when that pod is gone"
	}
	return "It does not belong to this At, which can start when the name is free: delete the pod, or choose another name for the At"
}

// nameChange describes the change of the name of a pod.
func nameChange(requested *corev1.Pod, name string) string {
	return fmt.Sprintf("the name of pod %s to %s", requested.Name, name)
}

// patch changes a pod. Admission can undo the change, which is a rejection.
func (r *AtReconciler) patch(ctx context.Context, pod *corev1.Pod, change podPatch) at.Result {
	body, err := json.Marshal(change.operations)
	if err != nil {
		return at.Result{Failed: fmt.Errorf("encoding a patch: %w", err)}
	}
	patched := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	switch err := r.Client.Patch(ctx, patched, client.RawPatch(types.JSONPatchType, body)); {
	case err == nil && !change.applied(patched):
		return at.Result{Rejected: fmt.Errorf("patching Pod %s: a webhook or policy undid the change", pod.Name)}
	case err == nil:
		return at.Result{Pod: ownedPods.Trim(patched)}
	case apierrors.IsNotFound(err):
		return at.Result{Failed: errCacheBehind}
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

// deletePod deletes a pod. One that no node has, and that of the run, are deleted only in the state that the decision
// was about: the node may have begun to run it since then.
func (r *AtReconciler) deletePod(ctx context.Context, pod *corev1.Pod, ofRun bool) at.Result {
	same := client.Preconditions{UID: &pod.UID}
	if ofRun || pod.Spec.NodeName == "" {
		same.ResourceVersion = &pod.ResourceVersion
	}
	err := r.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, same)
	switch {
	case err == nil:
		return at.Result{}
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return at.Result{Failed: errCacheBehind}
	}
	return classified(fmt.Errorf("deleting Pod %s: %w", pod.Name, err))
}

// dryRun asks the API server whether it accepts the pod of an At that waits, and its budget.
func (r *AtReconciler) dryRun(ctx context.Context, owner *cnatv1alpha1.At, question at.Ask, answers *at.Answers) {
	if answers.DryRunLater = r.slots.enter(owner.Namespace, beforehand, r.Clock.Now()); answers.DryRunLater > 0 {
		return
	}
	defer r.slots.leave(owner.Namespace, beforehand)
	ctx, warned := warnings.Collect(ctx)
	pod := question.DryRun.DeepCopy()
	err := r.Client.Create(ctx, pod, client.DryRunAll)
	if name := write.TakenName(err, pod.Name); apierrors.IsAlreadyExists(err) && name == pod.Name {
		answers.DryRun = r.answerOfHolder(ctx, owner, name)
		return
	}
	answers.DryRun = answerOf(question.DryRun, pod, err)
	if err == nil && question.Budget != nil {
		result := r.protect(ctx, question.Budget, client.DryRunAll)
		answers.DryRun.Budget, answers.DryRun.Unknown = message(result.Rejected), message(result.Failed)
	}
	if text := warned.Text(); text != "" {
		answers.DryRun.Warnings = append(answers.DryRun.Warnings, text)
	}
}

// answerOfHolder returns the answer to a dry run after another pod had the name. A pod of the At or of a deleted At of
// this name is gone before the start.
func (r *AtReconciler) answerOfHolder(ctx context.Context, owner *cnatv1alpha1.At, name string) *at.Answer {
	switch holder, err := ownedPods.Read(ctx, r.APIReader, owner.Namespace, name); {
	case err != nil:
		return &at.Answer{Unknown: err.Error()}
	case holder == nil, proof.IsOwn(owner, holder), proof.IsOfPredecessor(owner, holder):
		return &at.Answer{}
	default:
		return &at.Answer{Rejection: &expectations.Rejection{Exists: true, Message: fmt.Sprintf("pod %s already exists. %s", name, describeHolder(owner, holder))}}
	}
}

// answerOf returns what the result of a dry run says about a pod. An error of the API server itself, and its answer
// that a webhook does not support dry runs, say nothing about it.
func answerOf(requested, got *corev1.Pod, err error) *at.Answer {
	switch name := write.TakenName(err, requested.Name); {
	case err == nil:
		return &at.Answer{
			Modified: proof.Modified(requested, got), Ungated: !proof.IsGated(got), Warnings: slices.Concat(shorterDeadline(requested, got), strippedSidecars(requested, got)),
		}
	case apierrors.IsAlreadyExists(err):
		return &at.Answer{Modified: nameChange(requested, name)}
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

// strippedSidecars returns a warning for each sidecar whose restartPolicy admission removes: the pod would wait for its
// end.
func strippedSidecars(requested, got *corev1.Pod) []string {
	var warned []string
	for i := range requested.Spec.InitContainers {
		name := requested.Spec.InitContainers[i].Name
		stripped := slices.ContainsFunc(got.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == name && !pods.IsSidecar(&c) })
		if pods.IsSidecar(&requested.Spec.InitContainers[i]) && stripped {
			warned = append(warned, fmt.Sprintf("admission removes the restartPolicy of init container %s, which is a sidecar: the command starts only after it ends", name))
		}
	}
	return warned
}
