// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

type ats struct {
	client client.Client
	clock  clock.Clock
}

func (r *ats) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&cnatv1alpha1.At{}).Owns(&corev1.Pod{}).Named("naive-at").Complete(r)
}

// Reconcile moves an At from the phase that is stored to the next one.
func (r *ats) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	at := &cnatv1alpha1.At{}
	if err := r.client.Get(ctx, req.NamespacedName, at); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if at.Status.Phase == "" {
		at.Status.Phase = cnatv1alpha1.PhasePending
	}
	// Defect: the stored phase decides, whoever wrote it.
	switch at.Status.Phase {
	case cnatv1alpha1.PhasePending:
		// Defect: it parses one layout and retries all others forever.
		due, err := time.Parse("2006-01-02T15:04:05Z", at.Spec.Schedule)
		if err != nil {
			return ctrl.Result{}, err
		}
		if wait := due.Sub(r.clock.Now()); wait > 0 {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
		at.Status.Phase = cnatv1alpha1.PhaseRunning
	case cnatv1alpha1.PhaseRunning:
		pod := &corev1.Pod{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: at.Namespace, Name: at.Name + "-pod"}, pod)
		switch {
		case apierrors.IsNotFound(err):
			// Defect: it treats a deleted pod as a pod that was never created.
			return ctrl.Result{}, r.create(ctx, at)
		case err != nil:
			return ctrl.Result{}, err
		// Defect: it treats any pod of that name as its own.
		case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
			at.Status.Phase = cnatv1alpha1.PhaseDone
		default:
			return ctrl.Result{}, nil
		}
	case cnatv1alpha1.PhaseDone:
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.client.Status().Update(ctx, at)
}

func (r *ats) create(ctx context.Context, at *cnatv1alpha1.At) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: at.Name + "-pod", Namespace: at.Namespace, Labels: map[string]string{"app": at.Name}},
		Spec: corev1.PodSpec{
			// Defect: it ignores quotes.
			Containers: []corev1.Container{{Name: "busybox", Image: "busybox", Command: strings.Split(at.Spec.Command, " ")}},
			// Defect: a command that fails runs again.
			RestartPolicy: corev1.RestartPolicyOnFailure,
		},
	}
	if err := controllerutil.SetControllerReference(at, pod, r.client.Scheme()); err != nil {
		return err
	}
	return client.IgnoreAlreadyExists(r.client.Create(ctx, pod))
}
