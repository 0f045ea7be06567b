// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
	"github.com/redhat/podset-operator/test/sim"
)

// choices are the random choices of one sequence.
type choices struct{ *rand.Rand }

func pick[T any](c choices, from ...T) T { return from[c.IntN(len(from))] }

// one reports whether the one case in n happens.
func (c choices) one(n int) bool { return c.IntN(n) == 0 }

// minimal returns an object that the API server accepts.
func minimal(resource, name string) client.Object {
	object := sim.NewObject(resource)
	object.SetName(name)
	switch o := object.(type) {
	case *cnatv1alpha1.At:
		o.Spec = cnatv1alpha1.AtSpec{Schedule: "now", Command: "true"}
	case *corev1.Pod:
		o.Spec.Containers = []corev1.Container{{Name: "main", Image: "v1"}}
	}
	return object
}

// name returns one of a few names, so that requests use the same objects.
func (c choices) name(resource string) string {
	return map[string]string{podSets: "set-", ats: "at-", pods: "pod-"}[resource] + pick(c, "a", "a", "b")
}

// object returns an object to create, which may be invalid.
func (c choices) object(resource string) client.Object {
	object := minimal(resource, c.name(resource))
	if c.one(3) {
		object.SetLabels(map[string]string{"app": pick(c, "a", "b")})
	}
	if c.one(5) {
		object.SetFinalizers([]string{pick(c, "example.com/a", metav1.FinalizerDeleteDependents)})
	}
	if c.one(12) {
		object.SetName(pick(c, "UPPER", "a_b", "-a", "a.b", "0"))
	}
	c.forbidden(object)
	c.fill(object)
	return object
}

// fill sets random fields of the kind of an object.
func (c choices) fill(object client.Object) {
	switch o := object.(type) {
	case *appv1alpha1.PodSet:
		c.podSet(o)
	case *cnatv1alpha1.At:
		c.at(o)
	case *corev1.Pod:
		c.pod(o)
	}
}

// forbidden occasionally sets fields that clients must not set.
func (c choices) forbidden(object client.Object) {
	if c.one(20) {
		object.SetResourceVersion("1")
	}
	if c.one(20) {
		object.SetUID("00000000-0000-4000-8000-00000000dead")
	}
	if c.one(20) {
		object.SetGeneration(7)
	}
	if c.one(20) {
		object.SetDeletionTimestamp(ptr.To(metav1.Unix(2e9, 0)))
		object.SetDeletionGracePeriodSeconds(ptr.To[int64](5))
	}
	if c.one(10) {
		c.status(object)
	}
}

func (c choices) podSet(set *appv1alpha1.PodSet) {
	if !c.one(4) {
		set.Spec.Replicas = ptr.To(pick[int32](c, 1, 2, 3, 10, 0, 11, -1))
	}
	if c.one(3) {
		set.Spec.Template = c.template(corev1.RestartPolicyAlways, corev1.RestartPolicyNever)
	}
	if c.one(3) {
		set.Spec.UpdateStrategy.Type = pick(c, appv1alpha1.OnDelete, appv1alpha1.RollingUpdate, "Other")
	}
	if c.one(4) {
		set.Spec.UpdateStrategy.RollingUpdate = &appv1alpha1.RollingUpdateStrategy{}
		if !c.one(3) {
			set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = ptr.To(pick(c, intstr.FromInt32(2), intstr.FromInt32(0), intstr.FromString("50%"), intstr.FromString("0%")))
		}
	}
}

func (c choices) template(right, wrong corev1.RestartPolicy) *corev1.PodTemplateSpec {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: pick(c, "v1", "v2")}}}}
	switch c.IntN(6) {
	case 0:
		template.Spec.RestartPolicy = right
	case 1:
		template.Spec.RestartPolicy = wrong
	case 2:
		template.Spec.Containers = nil
	}
	return template
}

// gates are the operator's gate and that of another controller.
var gates = []corev1.PodSchedulingGate{{Name: invariants.Gate}, {Name: "example.com/queue"}}

var schedules = []string{
	"now", "now + 10 seconds", "now + 1 minute", "now+1 weeks", "1999-01-01T00:00:00Z", "2030-02-28T23:59:59.5+14:00",
	"", "tomorrow", "now + 1 month", "2030-02-30T00:00:00Z", "now + 1000000000 seconds",
}

var commands = []string{"echo YAY", "true", `sh -c 'exit "$CODE"'`, "", `"`, `a\`, " ", `''`}

func (c choices) at(at *cnatv1alpha1.At) {
	// The last ones are invalid.
	if at.Spec.Schedule = pick(c, schedules[:6]...); c.one(8) {
		at.Spec.Schedule = pick(c, schedules...)
	}
	if at.Spec.Command = pick(c, commands[:3]...); c.one(8) {
		at.Spec.Command = pick(c, commands...)
	}
	if c.one(4) {
		at.Spec.BackoffLimit = ptr.To(pick[int32](c, 0, 2, 10, 11, -1))
	}
	if c.one(5) {
		at.Spec.ActiveDeadlineSeconds = ptr.To(pick[int64](c, 1, 60, 0))
	}
	if c.one(5) {
		at.Spec.StartingDeadlineSeconds = ptr.To(pick[int64](c, 0, 60, -1, 9_000_000_001))
	}
	if c.one(5) {
		at.Spec.TTLSecondsAfterFinished = ptr.To(pick[int32](c, 0, 60, -1))
	}
	if c.one(4) {
		at.Spec.Suspend = ptr.To(c.one(2))
	}
	if c.one(4) {
		at.Spec.Template = c.template(corev1.RestartPolicyNever, corev1.RestartPolicyAlways)
	}
}

func (c choices) pod(pod *corev1.Pod) {
	if c.one(2) {
		pod.Spec.RestartPolicy = pick(c, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure, corev1.RestartPolicyAlways)
	}
	if c.one(2) {
		pod.Spec.TerminationGracePeriodSeconds = ptr.To(pick[int64](c, 0, 1, 20))
	}
	if c.one(4) {
		pod.Spec.ActiveDeadlineSeconds = ptr.To(pick[int64](c, 1, 60))
	}
	if c.one(4) {
		pod.Spec.Containers[0].Command = []string{"true"}
	}
	if c.one(3) {
		pod.Spec.NodeName = "node"
	}
	if c.one(3) {
		pod.Spec.SchedulingGates = pick(c, nil, gates[:1], gates[1:], gates)
	}
	if c.one(2) {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: appv1alpha1.GroupVersion.String(), Kind: "PodSet", Name: "set-a", UID: types.UID(pick(c, "1", "2")), Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
		}}
	}
}

// status sets a status, which may be invalid.
func (c choices) status(object client.Object) {
	switch o := object.(type) {
	case *appv1alpha1.PodSet:
		o.Status = appv1alpha1.PodSetStatus{PodNames: []string{"pod-a"}, Replicas: pick[int32](c, 0, 3, -1), ObservedGeneration: pick[int64](c, 0, 1), Conditions: c.conditions()}
	case *cnatv1alpha1.At:
		o.Status = cnatv1alpha1.AtStatus{Phase: pick(c, cnatv1alpha1.PhasePending, cnatv1alpha1.PhaseRunning, cnatv1alpha1.PhaseDone, "", "OTHER"), ObservedGeneration: 1, Attempts: pick[int32](c, 0, 1, 12), Conditions: c.conditions()}
		if c.one(3) {
			o.Status.Result = pick(c, cnatv1alpha1.ResultFailed, "Other")
		}
	case *corev1.Pod:
		o.Status.Phase = pick(c, corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed)
		o.Status.Reason = pick(c, "", "Evicted")
		o.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: pick(c, corev1.ConditionTrue, corev1.ConditionFalse)}}
	}
}

func (c choices) conditions() []metav1.Condition {
	if c.one(2) {
		return nil
	}
	at := metav1.Unix(1e9, 0)
	return []metav1.Condition{{Type: pick(c, "Ready", ""), Status: metav1.ConditionTrue, Reason: "Stable", LastTransitionTime: at}}
}
