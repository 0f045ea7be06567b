// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/expectations"
	"github.com/redhat/podset-operator/internal/pods"
)

// Outcome is the result of carrying out a plan.
type Outcome struct {
	// Created are the pods that exist now, as the API server returned them.
	Created []*corev1.Pod
	// Deleted are the pods that were deleted.
	Deleted []*corev1.Pod
	// CleanedUp are the finished pods that were deleted.
	CleanedUp []*corev1.Pod
	// Modified are the pods that were created and whose name or controller was changed by admission. Those that are not
	// in Deleted still exist.
	Modified []*corev1.Pod
	// Rejected is the error if the API server rejected a create, so that an immediate retry would be useless; otherwise
	// nil.
	Rejected error
	// Conflicting is a pod that has the name of a pod that was not created, or nil if there is none. This is not an
	// error: the next reconcile uses the next name.
	Conflicting *corev1.Pod
	// CreateError is the first error of a create that was not rejected, or nil if there is none.
	CreateError error
	// Warnings are the warnings of the API server about the creates, or "" if there are none.
	Warnings string
	// DeleteError joins the first error of the deletions and that of the cleanup, or is nil if there is none.
	DeleteError error
	// StatusError is the error of the write of the status, or nil if there is none.
	StatusError error
	// Reported is true if the status was written, or did not differ from the stored one.
	Reported bool
	// Written is the PodSet with the status that was written and the resource version that the API server returned, or
	// nil if no status was written.
	Written *appv1alpha1.PodSet
}

// Succeeded reports whether pods were created or deleted and every write succeeded, so that the status can wait a
// moment for the changes that follow.
func (o Outcome) Succeeded() bool {
	return len(o.Created)+len(o.Deleted)+len(o.CleanedUp) > 0 && o.Rejected == nil && o.CreateError == nil && o.DeleteError == nil && o.Conflicting == nil
}

// createProblem returns why a pod was not created, or nil if there was no problem.
func (o Outcome) createProblem() error { return cmp.Or(o.Rejected, o.CreateError) }

// FailedWebhook returns the admission webhook that prevented a write without a rejection, or "" if no answer of the API
// server proves one.
func (o Outcome) FailedWebhook() string {
	return cmp.Or(expectations.Webhook(o.CreateError), expectations.Webhook(o.DeleteError), expectations.Webhook(o.StatusError))
}

// Unexplained joins the errors that the operator or the API server may have caused.
func (o Outcome) Unexplained() error {
	return errors.Join(slices.DeleteFunc([]error{o.CreateError, o.DeleteError, o.StatusError}, func(err error) bool { return expectations.Webhook(err) != "" })...)
}

// ModifiedError returns how admission changed the identity of a pod that was to be created with a name for set, or nil
// if it did not (rule 13). pod is the created one, or the one that already has the changed name.
func ModifiedError(set *appv1alpha1.PodSet, name string, pod *corev1.Pod) error {
	var change string
	switch owner := metav1.GetControllerOfNoCopy(pod); {
	case pod.Name != name:
		change = fmt.Sprintf("changed the name of pod %s to %s", name, pod.Name)
	case owner == nil:
		change = "removed the owner reference to PodSet " + set.Name
	case owner.UID != set.UID:
		change = fmt.Sprintf("replaced the owner reference to PodSet %s with one to %s %s", set.Name, owner.Kind, owner.Name)
	default:
		return nil
	}
	return fmt.Errorf("admission %s, so the pod cannot be used: exclude pods with the label %s: %s from the webhook or policy that changes them",
		change, pods.LabelManagedBy, pods.ManagedBy)
}
