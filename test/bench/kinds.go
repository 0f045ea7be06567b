// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// newScheme knows the kinds of Kubernetes and of the operator.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(appv1alpha1.AddToScheme(scheme))
	utilruntime.Must(cnatv1alpha1.AddToScheme(scheme))
	return scheme
}

// kind is a kind of object, without its fields.
type kind struct{ schema.GroupVersionKind }

var (
	podSets     = kind{appv1alpha1.GroupVersion.WithKind("PodSet")}
	ats         = kind{cnatv1alpha1.GroupVersion.WithKind("At")}
	replicaSets = kind{appsv1.SchemeGroupVersion.WithKind("ReplicaSet")}
	cronJobs    = kind{batchv1.SchemeGroupVersion.WithKind("CronJob")}
	jobs        = kind{batchv1.SchemeGroupVersion.WithKind("Job")}
	pods        = kind{corev1.SchemeGroupVersion.WithKind("Pod")}
	eventsKind  = kind{eventsv1.SchemeGroupVersion.WithKind("Event")}
)

// object names an object.
func (k kind) object(namespace, name string) *metav1.PartialObjectMetadata {
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	obj.SetGroupVersionKind(k.GroupVersionKind)
	return obj
}

// podList is a list of pods, without their fields.
func podList() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(pods.GroupVersion().WithKind("PodList"))
	return list
}

// template is the pod of every arm: that of a PodSet without a template.
func template(name string, policy corev1.RestartPolicy, command ...string) corev1.PodTemplateSpec {
	no, yes, grace, user := false, true, int64(1), int64(65534)
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name, "version": "v0.1"}},
		Spec: corev1.PodSpec{
			RestartPolicy:                 policy,
			TerminationGracePeriodSeconds: &grace,
			AutomountServiceAccountToken:  &no,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &yes, RunAsUser: &user, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "busybox", Image: "busybox", Command: command,
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{"cpu": resource.MustParse("10m"), "memory": resource.MustParse("16Mi")},
					Limits:   corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("64Mi")},
				},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// makeSet makes a PodSet or a ReplicaSet.
func makeSet(k kind, namespace, name string, replicas int32) client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	pod := template(name, corev1.RestartPolicyAlways, "sleep", "3600")
	if k == podSets {
		return &appv1alpha1.PodSet{ObjectMeta: meta, Spec: appv1alpha1.PodSetSpec{Replicas: &replicas, Template: &pod}}
	}
	return &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{
		Replicas: &replicas, Template: pod, Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
	}}
}

// makeAt makes an At with the template of all arms.
func makeAt(namespace, name string, due time.Time) *cnatv1alpha1.At {
	pod := template(name, corev1.RestartPolicyNever)
	return &cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: cnatv1alpha1.AtSpec{
		Schedule: due.UTC().Format(time.RFC3339Nano), Command: "true", Template: &pod,
	}}
}

// makeTimer makes an At, or a CronJob that runs once a day, at a full minute.
func makeTimer(k kind, namespace, name string, due time.Time) client.Object {
	if k == ats {
		return makeAt(namespace, name, due)
	}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	due = due.UTC()
	zone, never := "Etc/UTC", int32(0)
	return &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{
		Schedule: fmt.Sprintf("%d %d * * *", due.Minute(), due.Hour()), TimeZone: &zone,
		JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
			BackoffLimit: &never, Template: template(name, corev1.RestartPolicyNever, "true"),
		}},
	}}
}
