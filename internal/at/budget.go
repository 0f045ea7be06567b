// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/spec"
)

// The annotations with which Karpenter and the cluster autoscaler leave a pod on its node. They plan without an
// eviction, so a budget alone would let them start.
const (
	annotationDoNotDisrupt = "karpenter.sh/do-not-disrupt"
	annotationSafeToEvict  = "cluster-autoscaler.kubernetes.io/safe-to-evict"
)

// newBudget returns the PodDisruptionBudget of an uninterrupted At: the API server evicts none of its pods that run.
// The label with the UID, as in a Job, excludes other pods. minAvailable is a number, because a percentage or
// maxUnavailable requires an owner with the subresource scale.
func newBudget(at *cnatv1alpha1.At) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{
			Name: spec.PodName(at, 0), Namespace: at.Namespace, Labels: spec.SelectorLabels(at),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(at, atKind())},
		},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)),
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{cnatv1alpha1.LabelUID: string(at.UID)}},
		},
	}
}

func (v *View) isUninterrupted() bool { return ptr.Deref(v.At.Spec.Uninterrupted, false) }
