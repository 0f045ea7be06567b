// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/redhat/podset-operator/test/sim"
)

// side is a server and what it has answered.
type side struct {
	server
	// seen are the objects in its responses, in order.
	seen []client.Object
	// uids replaces UIDs with numbers, in the order of their appearance.
	uids *strings.Replacer
	all  []string
}

func (s *side) note(object client.Object) {
	if uid := string(object.GetUID()); !slices.Contains(s.all, uid) {
		s.all = append(s.all, uid)
		var pairs []string
		for i, uid := range s.all {
			pairs = append(pairs, uid, fmt.Sprintf("uid-%d", i))
		}
		s.uids = strings.NewReplacer(pairs...)
	}
	s.seen = append(s.seen, sim.CopyOf(object))
}

// normal returns an object as JSON, without what differs between any two API servers: UIDs are numbered, times are only present or absent,
// and versions, whose order is checked elsewhere, are compared separately.
func (s *side) normal(object client.Object) string {
	object = sim.CopyOf(object)
	object.GetObjectKind().SetGroupVersionKind(metav1.Unversioned.WithKind(""))
	object.SetNamespace("")
	object.SetResourceVersion("")
	object.SetManagedFields(nil)
	object.SetCreationTimestamp(present(object.GetCreationTimestamp()))
	if at := object.GetDeletionTimestamp(); at != nil {
		object.SetDeletionTimestamp(ptr.To(present(*at)))
	}
	if pod, ok := object.(*corev1.Pod); ok {
		normalPod(pod)
	}
	data, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	if s.uids == nil {
		return string(data)
	}
	return s.uids.Replace(string(data))
}

func present(t metav1.Time) metav1.Time {
	if t.IsZero() {
		return t
	}
	return metav1.Unix(1, 0)
}

// normalPod sets the pod defaults of the API server that are not used in the simulation.
func normalPod(pod *corev1.Pod) {
	spec := &pod.Spec
	set(&spec.DNSPolicy, corev1.DNSClusterFirst)
	set(&spec.SchedulerName, corev1.DefaultSchedulerName)
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	spec.EnableServiceLinks = ptr.To(ptr.Deref(spec.EnableServiceLinks, true))
	spec.Priority = ptr.To(ptr.Deref(spec.Priority, 0))
	spec.PreemptionPolicy = ptr.To(ptr.Deref(spec.PreemptionPolicy, corev1.PreemptLowerPriority))
	if len(spec.Tolerations) == 0 {
		for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
			spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
				Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300),
			})
		}
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		set(&c.ImagePullPolicy, corev1.PullAlways)
		set(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
		set(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	}
	set(&pod.Status.QOSClass, corev1.PodQOSBestEffort)
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		c.LastTransitionTime = present(c.LastTransitionTime)
	}
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// normalError returns the parts of an error on which a client can decide: the code, the reason, and the object. The message and the causes
// are for people.
func normalError(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "no status: " + err.Error()
	}
	text := fmt.Sprintf("%d %s", status.Status().Code, status.Status().Reason)
	if d := status.Status().Details; d != nil {
		text += fmt.Sprintf(" %s/%s %s", d.Group, d.Kind, d.Name)
	}
	return text
}
