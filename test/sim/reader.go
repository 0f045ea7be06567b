// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

// apiReader reads from the Store.
type apiReader struct {
	client.Reader // nil, because the operator does not use the rest
	process       *process
}

// List returns the pods with a label.
func (r apiReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	selector := (&client.ListOptions{}).ApplyOptions(options).LabelSelector
	_, err := r.process.do(ctx, invariants.Call{Verb: "list", Resource: pods, Namespace: Namespace}, func() (client.Object, error) {
		for _, object := range r.process.env.store.List(pods) {
			if pod := object.(*corev1.Pod); selector.Matches(labels.Set(pod.Labels)) && !r.process.env.hides(pod) {
				list.(*corev1.PodList).Items = append(list.(*corev1.PodList).Items, *pod)
			}
		}
		return nil, nil
	})
	return err
}

func (r apiReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if budget, ok := object.(*policyv1.PodDisruptionBudget); ok {
		return r.getBudget(ctx, key.Name, budget)
	}
	resource := ResourceOf(object)
	found, err := r.process.do(ctx, invariants.Call{Verb: "get", Resource: resource, Namespace: key.Namespace, Name: key.Name}, func() (client.Object, error) {
		found, err := r.process.env.store.Get(resource, key.Name)
		if pod, ok := found.(*corev1.Pod); ok && r.process.env.hides(pod) {
			return nil, apierrors.NewNotFound(groupResources[pods], key.Name)
		}
		return found, err
	})
	if err != nil {
		return err
	}
	switch o := object.(type) {
	case *corev1.Pod:
		found.(*corev1.Pod).DeepCopyInto(o)
	case *cnatv1alpha1.At:
		found.(*cnatv1alpha1.At).DeepCopyInto(o)
	default:
		return fmt.Errorf("reading a %T is not simulated", object)
	}
	return nil
}
