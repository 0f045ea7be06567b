// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

type podSets struct{ client client.Client }

func (r *podSets) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&appv1alpha1.PodSet{}).Owns(&corev1.Pod{}).Named("naive-podset").Complete(r)
}

// Reconcile creates or deletes one pod and requeues at once.
func (r *podSets) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	set := &appv1alpha1.PodSet{}
	if err := r.client.Get(ctx, req.NamespacedName, set); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	// Defect: it creates pods for a PodSet that is being deleted.
	// Defect: it selects its pods by labels.
	labels := client.MatchingLabels{"app": set.Name, "version": "v0.1"}
	list := &corev1.PodList{}
	if err := r.client.List(ctx, list, client.InNamespace(set.Namespace), labels); err != nil {
		return ctrl.Result{}, err
	}
	var available []corev1.Pod
	var names []string
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil && (pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodPending) {
			available = append(available, pod)
			names = append(names, pod.Name)
		}
	}
	// Defect: the names are not sorted.
	if !slices.Equal(names, set.Status.PodNames) {
		set.Status.PodNames = names
		if err := r.client.Status().Update(ctx, set); err != nil {
			return ctrl.Result{}, err
		}
	}
	wanted := int(ptr.Deref(set.Spec.Replicas, 1))
	switch {
	case len(available) > wanted:
		// Defect: it deletes the first pod of an unordered list, by name.
		return ctrl.Result{RequeueAfter: 1}, r.client.Delete(ctx, &available[0])
	case len(available) < wanted:
		pod := &corev1.Pod{
			// Defect: every retry creates another pod.
			ObjectMeta: metav1.ObjectMeta{GenerateName: set.Name + "-pod", Namespace: set.Namespace, Labels: labels},
			Spec: corev1.PodSpec{
				Containers:                    []corev1.Container{{Name: "busybox", Image: "busybox", Command: []string{"sleep", "3600"}}},
				TerminationGracePeriodSeconds: ptr.To[int64](1),
			},
		}
		if err := controllerutil.SetControllerReference(set, pod, r.client.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		// Defect: the next reconcile counts pods in a cache that may not show this one.
		if err := r.client.Create(ctx, pod); err != nil {
			return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, nil //nolint:nilerr // Defect: it retries without back-off.
		}
		return ctrl.Result{RequeueAfter: 1}, nil
	}
	return ctrl.Result{}, nil
}
