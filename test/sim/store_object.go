// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/json"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// CopyOf returns a deep copy of an object.
func CopyOf(object client.Object) client.Object { return object.DeepCopyObject().(client.Object) }

// received returns an object as the API server receives it: times lose their fractions, and empty fields disappear. A pod is sent in its
// binary form, and a custom resource as JSON.
func received(object client.Object) (client.Object, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		content, err := contentOf(object)
		return &unstructured.Unstructured{Object: content}, err
	}
	data, err := pod.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", pod.Name, err)
	}
	sent := &corev1.Pod{}
	return sent, sent.Unmarshal(data)
}

func contentOf(object client.Object) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", object.GetName(), err)
	}
	return content, nil
}

func objectOf(resource string, content map[string]any) (client.Object, error) {
	object := NewObject(resource)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, object); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return object, nil
}

// Patch patches an object, or its status.
func (s *Store) Patch(resource, name string, kind types.PatchType, patch []byte, status bool) (client.Object, error) {
	if !json.Valid(patch) {
		return nil, apierrors.NewBadRequest("the patch is not JSON")
	}
	current, ok := s.objects[storeKey{resource, name}]
	if !ok {
		return nil, apierrors.NewNotFound(groupResources[resource], name)
	}
	if sent, ok := sentStatus(kind, patch); ok && status && resource != pods {
		return s.replace(current, sent, true)
	}
	data, err := json.Marshal(current)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", name, err)
	}
	if data, err = applyPatch(kind, data, patch); err != nil {
		return nil, err
	}
	content := map[string]any{}
	if err := utiljson.Unmarshal(data, &content); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	var sent client.Object = &unstructured.Unstructured{Object: content}
	if sent.GetName() != name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", sent.GetName(), name))
	}
	if resource == pods {
		if sent, err = objectOf(pods, content); err != nil {
			return nil, err
		}
	}
	return s.replace(current, sent, status)
}

// sentStatus returns the status in a JSON patch that sets only the resource version and the status, as the operator's patches do. Applying
// the patch to the whole object would give the same result and take longer than anything else in a scenario.
func sentStatus(kind types.PatchType, patch []byte) (*unstructured.Unstructured, bool) {
	var operations []map[string]any
	if kind != types.JSONPatchType || utiljson.Unmarshal(patch, &operations) != nil || len(operations) != 2 {
		return nil, false
	}
	first, second := operations[0], operations[1]
	version, isString := first["value"].(string)
	_, isObject := second["value"].(map[string]any)
	if !isString || !isObject || first["op"] != "replace" || first["path"] != "/metadata/resourceVersion" || second["op"] != "add" || second["path"] != "/status" {
		return nil, false
	}
	return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"resourceVersion": version}, "status": second["value"]}}, true
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
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return patched, nil
}

// decodeNew returns an object as the API server creates it: it drops fields that clients must not set, sets defaults, and validates the
// rest.
func decodeNew(resource string, object client.Object) (client.Object, error) {
	if load, custom := admissions[resource]; custom {
		var err error
		if object, err = load().decodeNew(resource, object.(*unstructured.Unstructured)); err != nil {
			return nil, err
		}
	}
	object.SetDeletionTimestamp(nil)
	object.SetDeletionGracePeriodSeconds(nil)
	object.SetManagedFields(nil)
	object.SetNamespace(Namespace)
	object.SetGeneration(1)
	var errs field.ErrorList
	if pod, ok := object.(*corev1.Pod); ok {
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
		setPodDefaults(pod)
		errs = validatePod(pod)
	}
	errs = append(errs, validation.ValidateObjectMetaAccessor(object, true, validation.NameIsDNSSubdomain, field.NewPath("metadata"))...)
	return object, invalid(resource, object.GetName(), errs)
}

// decodeUpdate returns an object as the API server changes it: a write of the status changes nothing else, and other writes keep the
// status.
func decodeUpdate(current, updated client.Object, status bool) (client.Object, error) {
	resource := ResourceOf(current)
	if load, custom := admissions[resource]; custom {
		sent := updated.(*unstructured.Unstructured)
		if status {
			return load().replaceStatus(current, sent.Object["status"])
		}
		var err error
		if updated, err = load().decodeUpdate(current, sent.Object); err != nil {
			return nil, err
		}
	}
	keepMetadata(current, updated)
	var errs field.ErrorList
	if pod, ok := updated.(*corev1.Pod); ok {
		errs = updatePod(current.(*corev1.Pod), pod, status)
	}
	if !status && specChanged(current, updated) {
		updated.SetGeneration(current.GetGeneration() + 1)
	}
	errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(updated, current, field.NewPath("metadata"))...)
	return updated, invalid(resource, updated.GetName(), errs)
}

// keepMetadata keeps the metadata that no update changes.
func keepMetadata(current, updated client.Object) {
	if updated.GetUID() == "" {
		updated.SetUID(current.GetUID())
	}
	updated.SetNamespace(Namespace)
	updated.SetGeneration(current.GetGeneration())
	updated.SetCreationTimestamp(current.GetCreationTimestamp())
	updated.SetManagedFields(nil)
	if current.GetDeletionTimestamp() != nil {
		updated.SetDeletionTimestamp(current.GetDeletionTimestamp())
	}
	if updated.GetDeletionGracePeriodSeconds() == nil {
		updated.SetDeletionGracePeriodSeconds(current.GetDeletionGracePeriodSeconds())
	}
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

func invalid(resource, name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(groupKinds[resource], name, errs)
}
