// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/apiserver"
)

// scheme has the kinds of Kubernetes and of the operator.
var scheme = apiserver.Scheme()

// The kinds of objects that a run creates.
var (
	podSet     = &appv1alpha1.PodSet{}
	at         = &cnatv1alpha1.At{}
	replicaSet = &appsv1.ReplicaSet{}
	cronJob    = &batchv1.CronJob{}
	job        = &batchv1.Job{}
	pod        = &corev1.Pod{}
	event      = &eventsv1.Event{}
)

// newTemplate makes the pod of every arm. It is that of a PodSet without a template.
func newTemplate(name string, policy corev1.RestartPolicy, command ...string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name, "version": "v0.1"}},
		Spec: corev1.PodSpec{
			RestartPolicy: policy, TerminationGracePeriodSeconds: ptr.To[int64](1), AutomountServiceAccountToken: ptr.To(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65534),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "busybox", Image: "busybox", Command: command,
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{"cpu": resource.MustParse("50m"), "memory": resource.MustParse("32Mi")},
					Limits:   corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("64Mi")},
				},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

func newPodSet(meta metav1.ObjectMeta, replicas int32) client.Object {
	template := newTemplate(meta.Name, corev1.RestartPolicyAlways, "sleep", "3600")
	return &appv1alpha1.PodSet{ObjectMeta: meta, Spec: appv1alpha1.PodSetSpec{Replicas: &replicas, Template: &template}}
}

func newReplicaSet(meta metav1.ObjectMeta, replicas int32) client.Object {
	template := newTemplate(meta.Name, corev1.RestartPolicyAlways, "sleep", "3600")
	return &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{
		Replicas: &replicas, Template: template, Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
	}}
}

func newAt(meta metav1.ObjectMeta, due time.Time) client.Object {
	template := newTemplate(meta.Name, corev1.RestartPolicyNever)
	return &cnatv1alpha1.At{ObjectMeta: meta, Spec: cnatv1alpha1.AtSpec{
		Schedule: due.UTC().Format(time.RFC3339Nano), Command: "true", Template: &template,
	}}
}

// newCronJob makes a CronJob that runs once a day, at a full minute.
func newCronJob(meta metav1.ObjectMeta, due time.Time) client.Object {
	due = due.UTC()
	return &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{
		Schedule: fmt.Sprintf("%d %d * * *", due.Minute(), due.Hour()), TimeZone: ptr.To("Etc/UTC"),
		JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To[int32](0), Template: newTemplate(meta.Name, corev1.RestartPolicyNever, "true"),
		}},
	}}
}

// newPod makes a pod that has a controller, which does not exist.
func newPod(namespace, name string) *corev1.Pod {
	template := newTemplate("pod", corev1.RestartPolicyAlways, "sleep", "3600")
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: template.Labels, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "example.com/v1", Kind: "Owner", Name: "owner", UID: "owner", Controller: ptr.To(true),
		}},
	}, Spec: template.Spec}
}
