// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

func copyOf(object client.Object) client.Object { return object.DeepCopyObject().(client.Object) }

// wireCopy returns an object as the API server decodes it: times lose their fractions, and empty fields disappear. CBOR is faster
// than JSON.
func wireCopy(object client.Object) (client.Object, error) {
	data, err := cbor.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", object.GetName(), err)
	}
	decoded := newObject(resourceOf(object))
	if err := cbor.Unmarshal(data, decoded); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", object.GetName(), err)
	}
	return decoded, nil
}

// Patch patches an object, or its status.
func (s *Store) Patch(resource, name string, kind types.PatchType, patch []byte, status bool) (client.Object, error) {
	current, ok := s.objects[storeKey{resource, name}]
	if !ok {
		return nil, apierrors.NewNotFound(groupResources[resource], name)
	}
	data, err := json.Marshal(current)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", name, err)
	}
	if data, err = applyPatch(kind, data, patch); err != nil {
		return nil, err
	}
	patched := newObject(resource)
	if err := json.Unmarshal(data, patched); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return s.update(patched, status)
}

func applyPatch(kind types.PatchType, data, patch []byte) ([]byte, error) {
	if kind == types.MergePatchType {
		merged, err := jsonpatch.MergePatch(data, patch)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return merged, nil
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	patched, err := decoded.Apply(data)
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(422, "patch", groupResources[pods], "", err.Error(), 0, false)
	}
	return patched, nil
}

// clearForCreate drops what a client may not set, and sets defaults.
func clearForCreate(object client.Object) {
	object.SetDeletionTimestamp(nil)
	object.SetDeletionGracePeriodSeconds(nil)
	object.SetManagedFields(nil)
	switch o := object.(type) {
	case *appv1alpha1.PodSet:
		o.Status = appv1alpha1.PodSetStatus{}
	case *cnatv1alpha1.At:
		o.Status = cnatv1alpha1.AtStatus{}
	case *corev1.Pod:
		o.Status = corev1.PodStatus{Phase: corev1.PodPending}
	}
	setDefaults(object)
}

// setDefaults sets the defaults that the operator or the invariants read.
func setDefaults(object client.Object) {
	switch o := object.(type) {
	case *appv1alpha1.PodSet:
		o.Spec.Replicas = ptr.To(ptr.Deref(o.Spec.Replicas, 1))
	case *cnatv1alpha1.At:
		o.Spec.Suspend = ptr.To(ptr.Deref(o.Spec.Suspend, false))
		o.Spec.BackoffLimit = ptr.To(ptr.Deref(o.Spec.BackoffLimit, 0))
	case *corev1.Pod:
		if o.Spec.RestartPolicy == "" {
			o.Spec.RestartPolicy = corev1.RestartPolicyAlways
		}
		o.Spec.TerminationGracePeriodSeconds = ptr.To(ptr.Deref(o.Spec.TerminationGracePeriodSeconds, defaultGrace))
	}
}

// keepRest returns the object that an update stores: a write of the status changes nothing else, and other writes keep the status.
func keepRest(current, updated client.Object, status bool) client.Object {
	if status {
		updated = withStatus(copyOf(current), updated)
		return updated
	}
	next := withStatus(updated, current)
	next.SetUID(current.GetUID())
	next.SetCreationTimestamp(current.GetCreationTimestamp())
	next.SetDeletionTimestamp(current.GetDeletionTimestamp())
	next.SetDeletionGracePeriodSeconds(current.GetDeletionGracePeriodSeconds())
	next.SetGeneration(current.GetGeneration())
	next.SetResourceVersion(current.GetResourceVersion())
	next.SetManagedFields(nil)
	setDefaults(next)
	return next
}

// withStatus gives an object the status of another.
func withStatus(object, other client.Object) client.Object {
	switch o := object.(type) {
	case *appv1alpha1.PodSet:
		o.Status = other.(*appv1alpha1.PodSet).Status
	case *cnatv1alpha1.At:
		o.Status = other.(*cnatv1alpha1.At).Status
	case *corev1.Pod:
		o.Status = other.(*corev1.Pod).Status
	}
	return object
}

func specChanged(before, after client.Object) bool {
	switch o := after.(type) {
	case *appv1alpha1.PodSet:
		return !equality.Semantic.DeepEqual(before.(*appv1alpha1.PodSet).Spec, o.Spec)
	case *cnatv1alpha1.At:
		return !equality.Semantic.DeepEqual(before.(*cnatv1alpha1.At).Spec, o.Spec)
	case *corev1.Pod:
		return !equality.Semantic.DeepEqual(before.(*corev1.Pod).Spec, o.Spec)
	}
	return false
}

// admit applies the rules of the CRDs that scenarios can break: the bounds of replicas, and the fields of an At that must not
// change once it has started.
func admit(before, after client.Object) error {
	switch o := after.(type) {
	case *appv1alpha1.PodSet:
		if n := *o.Spec.Replicas; n < 1 || n > 10 {
			return invalid(podSets, o.Name, "spec.replicas", n)
		}
	case *cnatv1alpha1.At:
		old, ok := before.(*cnatv1alpha1.At)
		if !ok || old.Status.Phase == "" || old.Status.Phase == cnatv1alpha1.PhasePending {
			return nil
		}
		switch {
		case old.Spec.Schedule != o.Spec.Schedule:
			return invalid(ats, o.Name, "spec.schedule", o.Spec.Schedule)
		case old.Spec.Command != o.Spec.Command:
			return invalid(ats, o.Name, "spec.command", o.Spec.Command)
		case !equality.Semantic.DeepEqual(old.Spec.Template, o.Spec.Template):
			return invalid(ats, o.Name, "spec.template", nil)
		}
	}
	return nil
}

func invalid(resource, name, path string, value any) error {
	return apierrors.NewInvalid(groupKinds[resource], name, field.ErrorList{field.Invalid(field.NewPath(path), value, "rejected by the schema")})
}
