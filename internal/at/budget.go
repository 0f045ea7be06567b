// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package at

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/atrun"
)

// The annotations with which Karpenter and the cluster autoscaler leave a pod on its node. They plan without an eviction, so a budget alone
// would let them start.
const (
	annotationDoNotDisrupt = "karpenter.sh/do-not-disrupt"
	annotationSafeToEvict  = "cluster-autoscaler.kubernetes.io/safe-to-evict"
)

// newBudget returns the PodDisruptionBudget of an uninterrupted At: the API server evicts none of its pods that run. minAvailable is a number,
// because a percentage or maxUnavailable requires an owner with the subresource scale.
func newBudget(at *cnatv1alpha1.At) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{
			Name: atrun.PodName(at, 0), Namespace: at.Namespace, Labels: atrun.SelectorLabels(at),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(at, atKind())},
		},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)),
			Selector:     &metav1.LabelSelector{MatchLabels: atrun.SelectorLabels(at)},
		},
	}
}

func (v *View) isUninterrupted() bool { return ptr.Deref(v.At.Spec.Uninterrupted, false) }

// start adds the request that removes the gate of the recorded pod, or first the one for the budget: a process starts an uninterrupted attempt
// only after it has confirmed the budget itself.
func (v *View) start(s Step, pod *corev1.Pod) Step {
	if v.isUninterrupted() && v.protected != pod.UID {
		s.Protect = newBudget(v.At)
	} else {
		s.Open = pod
	}
	return s
}

// unprotect adds the request that deletes the budget of a run that is over. If the process ends before the request, the budget stays until the
// At is deleted. That does no harm, because the API server always allows the eviction of a pod that has ended.
func (v *View) unprotect(s Step) Step {
	if v.hasStarted() && v.isUninterrupted() {
		s.Unprotect = newBudget(v.At)
	}
	return s
}
