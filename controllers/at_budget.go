// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/redhat/podset-operator/internal/at"
)

// errForeignBudget is the error of a budget whose name is that of an object which does not protect the At.
var errForeignBudget = errors.New("it already exists and does not belong to this At, or is being deleted: delete it, or choose another name for the At")

// protect creates the budget of an At, or confirms that the At has it already. A dry run also confirms what exists.
func (r *AtReconciler) protect(ctx context.Context, budget *policyv1.PodDisruptionBudget, options ...client.CreateOption) at.Result {
	err := r.Client.Create(ctx, budget.DeepCopy(), options...)
	if apierrors.IsAlreadyExists(err) {
		_, err = r.ownBudget(ctx, budget)
	}
	switch {
	case err == nil:
		return at.Result{}
	case errors.Is(err, errForeignBudget):
		return at.Result{Rejected: fmt.Errorf("creating PodDisruptionBudget %s: %w", budget.Name, err)}
	}
	return classified(fmt.Errorf("creating PodDisruptionBudget %s: %w", budget.Name, err))
}

// ownBudget reads the budget of an At. The cache has no budgets, so the operator needs no permission to list them.
func (r *AtReconciler) ownBudget(ctx context.Context, budget *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error) {
	existing := &policyv1.PodDisruptionBudget{}
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(budget), existing); err != nil {
		return nil, err
	}
	if owner := metav1.GetControllerOfNoCopy(existing); owner == nil || owner.UID != budget.OwnerReferences[0].UID || existing.DeletionTimestamp != nil {
		return nil, errForeignBudget
	}
	return existing, nil
}

// unprotect deletes the budget of an At whose run is over. It is tried once: a budget that stays allows the eviction of
// pods that have ended, and is deleted with the At.
func (r *AtReconciler) unprotect(ctx context.Context, budget *policyv1.PodDisruptionBudget) {
	existing, err := r.ownBudget(ctx, budget)
	if err == nil {
		err = r.Client.Delete(ctx, existing, client.Preconditions{UID: &existing.UID})
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !errors.Is(err, errForeignBudget) {
		log.FromContext(ctx).Info("The PodDisruptionBudget of the At stays until the At is deleted", "budget", budget.Name, "error", err.Error())
	}
}

// message returns the message of an error, or "" if there is none.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
