// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package write sends writes to the API server and returns their results. It decides nothing and stores nothing.
package write

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// IsRejected reports whether the API server understood a write and rejected it, so that an immediate retry is useless:
// a quota is exceeded, an admission policy forbids the pod, or the pod is invalid. Conflicts, overload, timeouts, and
// broken connections are not rejections.
func IsRejected(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// createAttempts limits how often a create is retried because the pod that has its name disappears before it is read.
const createAttempts = 3

// CreatePod creates a pod. If another pod has its name, CreatePod gets that pod from reader, which must not be a cache,
// and returns it.
func CreatePod(ctx context.Context, c client.Client, reader client.Reader, pod *corev1.Pod) (existing *corev1.Pod, err error) {
	for range createAttempts {
		err = c.Create(ctx, pod)
		if !apierrors.IsAlreadyExists(err) {
			break
		}
		existing = &corev1.Pod{}
		if err = reader.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: TakenName(err, pod.Name)}, existing); err == nil {
			return existing, nil
		}
		if !apierrors.IsNotFound(err) {
			break
		}
		// The pod disappeared after the create was rejected, so its name is free now.
		err = errors.New("its name was in use by pods that were gone before they could be read")
	}
	switch {
	case apierrors.IsConflict(err):
		// The conflict is not wrapped, because callers treat a conflict as a stale cache. Here, another request has
		// updated a quota at the same time.
		return nil, fmt.Errorf("creating Pod %s: %s", pod.Name, err.Error())
	case err != nil:
		return nil, fmt.Errorf("creating Pod %s: %w", pod.Name, err)
	}
	return nil, nil
}

// TakenName returns the name of the existing object from the error of a create. Admission may have changed the
// requested name.
func TakenName(err error, requested string) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Name != "" {
		return status.Status().Details.Name
	}
	return requested
}

// InBatches calls create for pods in batches of 1, 2, 4, ..., each batch in parallel, and stops after the first batch
// with an error: if one pod is rejected, the others would be too. It returns the results without an error, and the
// first rejection or, if there is none, the first error: the caller must not retry a rejection at once.
func InBatches(pods []*corev1.Pod, create func(*corev1.Pod) (*corev1.Pod, error)) ([]*corev1.Pod, error) {
	var created []*corev1.Pod
	for size := 1; len(pods) > 0; size *= 2 {
		batch := pods[:min(size, len(pods))]
		pods = pods[len(batch):]
		results, errs := inParallel(batch, create)
		created = append(created, results...)
		if i := max(slices.IndexFunc(errs, IsRejected), 0); len(errs) > 0 {
			return created, errs[i]
		}
	}
	return created, nil
}

// DeletePods deletes pods in parallel, each only if it still has its UID. A pod that no longer exists is included in
// the result. It returns the deleted pods and the first error.
func DeletePods(ctx context.Context, c client.Client, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	deleted, errs := inParallel(pods, func(pod *corev1.Pod) (*corev1.Pod, error) {
		err := c.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
		// A conflict means that another pod has this name, so this one is gone.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return nil, fmt.Errorf("deleting Pod %s: %w", pod.Name, err)
		}
		return pod, nil
	})
	if len(errs) > 0 {
		return deleted, errs[0]
	}
	return deleted, nil
}

// inParallel calls do for all pods at the same time. It returns the results of the calls that succeeded, and the errors
// of the others, both in the order of the pods.
func inParallel(pods []*corev1.Pod, do func(*corev1.Pod) (*corev1.Pod, error)) (done []*corev1.Pod, failed []error) {
	results, errs := make([]*corev1.Pod, len(pods)), make([]error, len(pods))
	var wait sync.WaitGroup
	for i, pod := range pods {
		wait.Go(func() { results[i], errs[i] = do(pod) })
	}
	wait.Wait()
	for i, err := range errs {
		if err == nil {
			done = append(done, results[i])
		} else {
			failed = append(failed, err)
		}
	}
	return done, failed
}

// Status writes status, the whole status of obj, and sets the resource version of obj to that of the write. If the
// object has changed since it was read, nothing is written and the error is a conflict: a status that was computed from
// an older object could hide the record of a run, or belong to another object of the same name. If the object is gone,
// written is false and there is no error.
//
// The patch has the whole status, because a computed difference would omit fields with a zero value. The API server
// responds with the metadata only, because the rest is known. An update with the status alone costs the API server
// less, but mutating admission sees it without its spec: a policy for all subresources that reads the spec would reject
// it.
func Status(ctx context.Context, c client.Client, obj client.Object, status any) (written bool, err error) {
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": obj.GetResourceVersion()},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return false, fmt.Errorf("encoding the status: %w", err)
	}
	kind, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return false, fmt.Errorf("writing the status: %w", err)
	}
	response := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: obj.GetNamespace(), Name: obj.GetName()}}
	response.SetGroupVersionKind(kind)
	if err := c.Status().Patch(ctx, response, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		return false, client.IgnoreNotFound(fmt.Errorf("writing the status: %w", err))
	}
	obj.SetResourceVersion(response.ResourceVersion)
	return true, nil
}
