// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// testCase tests a fault in an environment whose operator does not run yet.
type testCase func(*faults.Env)

// runCases runs the test cases of a fault with this operator.
func runCases(t *testing.T, fault string, testCases map[string]testCase) {
	t.Parallel()
	for name, run := range testCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(faults.NewEnv(t, cluster, fault))
		})
	}
}

func podSet(name string, replicas int32) *appv1alpha1.PodSet {
	return &appv1alpha1.PodSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appv1alpha1.PodSetSpec{Replicas: ptr.To(replicas)},
	}
}

func template(image string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers:                    []corev1.Container{{Name: "main", Image: image}},
		TerminationGracePeriodSeconds: ptr.To[int64](1),
	}}
}

func at(name, schedule, command string) *cnatv1alpha1.At {
	return &cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       cnatv1alpha1.AtSpec{Schedule: schedule, Command: command},
	}
}

// foreignPod is a pod that a user created.
func foreignPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: template("one").Spec}
}

func scale(e *faults.Env, name string, replicas int32) {
	e.Helper()
	set := podSet(name, 0)
	set.Namespace = e.Namespace
	faults.Edit(e, set, func(s *appv1alpha1.PodSet) { s.Spec.Replicas = &replicas })
}

func done(reason string) func(*cnatv1alpha1.At) bool {
	return func(a *cnatv1alpha1.At) bool {
		return a.Status.Phase == cnatv1alpha1.PhaseDone && a.Status.Reason == reason
	}
}
