// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

var budgetResource = schema.GroupResource{Group: policyv1.GroupName, Resource: budgets}

// checkBudget returns the error of the create of a budget.
func (e *env) checkBudget(budget *policyv1.PodDisruptionBudget) error {
	switch _, exists := e.budgets[budget.Name]; {
	case e.webhook.budgets != nil:
		return e.webhook.budgets
	case exists:
		return apierrors.NewAlreadyExists(budgetResource, budget.Name)
	}
	return nil
}

// createBudget creates a budget. A dry run is a read: it says nothing about the pod of the At.
func (c operatorClient) createBudget(ctx context.Context, budget *policyv1.PodDisruptionBudget, dryRun bool) error {
	e, sent := c.process.env, budget.DeepCopy()
	if dryRun {
		_, err := c.process.do(ctx, invariants.Call{Verb: "get", Resource: budgets, Namespace: Namespace, Name: budget.Name}, func() (client.Object, error) {
			return sent, e.checkBudget(sent)
		})
		return err
	}
	if change := e.operator.Defect.Budget; change != nil {
		change(sent)
	}
	return c.process.write(ctx, budget, "create", "", "", func() (client.Object, error) {
		if err := e.checkBudget(sent); err != nil {
			return nil, err
		}
		e.store.uids++
		sent.UID, sent.CreationTimestamp = types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000001", e.store.uids)), metav1.NewTime(e.store.now().Truncate(time.Second))
		e.budgets[sent.Name] = sent
		return sent.DeepCopy(), nil
	})
}

func (c operatorClient) deleteBudget(ctx context.Context, budget *policyv1.PodDisruptionBudget, precondition types.UID) error {
	e := c.process.env
	return c.process.write(ctx, budget.DeepCopy(), "delete", "", precondition, func() (client.Object, error) {
		switch current := e.budgets[budget.Name]; {
		case current == nil:
			return nil, apierrors.NewNotFound(budgetResource, budget.Name)
		case precondition != "" && current.UID != precondition:
			return nil, conflict(budgets, budget.Name, "another UID")
		default:
			delete(e.budgets, budget.Name)
			return current.DeepCopy(), nil
		}
	})
}

func (r apiReader) getBudget(ctx context.Context, name string, budget *policyv1.PodDisruptionBudget) error {
	found, err := r.process.do(ctx, invariants.Call{Verb: "get", Resource: budgets, Namespace: Namespace, Name: name}, func() (client.Object, error) {
		if current := r.process.env.budgets[name]; current != nil {
			return current.DeepCopy(), nil
		}
		return nil, apierrors.NewNotFound(budgetResource, name)
	})
	if err == nil {
		found.(*policyv1.PodDisruptionBudget).DeepCopyInto(budget)
	}
	return err
}

// isProtected checks A26 when a pod is opened: an At that must not be interrupted has a budget that includes the pod, and no pod of another owner.
func (e *env) isProtected(pod *corev1.Pod) {
	at, ok := e.store.objects[storeKey{ats, ptr.Deref(metav1.GetControllerOfNoCopy(pod), metav1.OwnerReference{}).Name}].(*cnatv1alpha1.At)
	if !ok || at.UID != invariants.ControllerOf(pod) || !ptr.Deref(at.Spec.Uninterrupted, false) || e.webhook.labels || len(pod.Labels) == 0 {
		return
	}
	for _, budget := range e.budgets {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil || !selector.Matches(labels.Set(pod.Labels)) || budget.Spec.MinAvailable == nil {
			continue
		}
		if !slices.Contains(slices.Collect(maps.Values(budget.Spec.Selector.MatchLabels)), string(at.UID)) {
			e.violate("A26", "the budget of At %s selects pods of other owners, too: %v", at.Name, budget.Spec.Selector.MatchLabels)
		}
		return
	}
	e.violate("A26", "pod %s was opened without a budget that includes it, but At %s must not be interrupted", pod.Name, at.Name)
}
