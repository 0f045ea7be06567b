// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/redhat/podset-operator/internal/event"
)

// nameTakenError is a create that met a pod of the same name which is not the one that was wanted.
type nameTakenError struct{ name string }

func (e *nameTakenError) Error() string {
	return fmt.Sprintf("creating Pod %s: another pod has this name; the next name is tried", e.name)
}

// isRefusal tells whether trying the same write again at once is useless: the API server understood it and said no
// (a quota, an admission policy, an invalid pod). Conflicts, overload, time-outs and broken connections are not refusals.
func isRefusal(err error) bool {
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

// retryable drops refused creates from what Reconcile returns: they are in the status, and are tried again with their own
// back-off.
func retryable(err error) error {
	if isRefusal(err) {
		return nil
	}
	return err
}

// createAttempts bounds how often a create is retried because the pod that has its name disappears before it is read.
const createAttempts = 3

// createPod creates a pod. When its name is in use it returns the pod that has the name.
func createPod(ctx context.Context, c client.Client, live client.Reader, pod *corev1.Pod) (existing *corev1.Pod, err error) {
	for range createAttempts {
		err = c.Create(ctx, pod)
		if !apierrors.IsAlreadyExists(err) {
			break
		}
		existing = &corev1.Pod{}
		if err = live.Get(ctx, client.ObjectKeyFromObject(pod), existing); err == nil {
			return existing, nil
		}
		if !apierrors.IsNotFound(err) {
			break
		}
		// The pod disappeared after the create was rejected, so its name is free now.
		err = errors.New("its name was in use by pods that disappeared before they could be read")
	}
	if err != nil {
		return nil, fmt.Errorf("creating Pod %s: %w", pod.Name, err)
	}
	return nil, nil
}

// createPods creates pods in batches of 1, 2, 4, ..., each batch in parallel, and stops after the first batch with an
// error: where one create is refused, so would be the others. It returns the pods that exist and the first error.
func createPods(pods []*corev1.Pod, create func(*corev1.Pod) (*corev1.Pod, error)) ([]*corev1.Pod, error) {
	var created []*corev1.Pod
	for size := 1; len(pods) > 0; size *= 2 {
		batch := pods[:min(size, len(pods))]
		pods = pods[len(batch):]
		results, err := inParallel(batch, create)
		created = append(created, results...)
		if err != nil {
			return created, err
		}
	}
	return created, nil
}

// deletePods deletes pods in parallel, each only if it still has the UID that was seen; one that is gone is deleted. It
// returns the pods that are deleted and the first error.
func deletePods(ctx context.Context, c client.Client, pods []*corev1.Pod, m *memory) ([]*corev1.Pod, error) {
	deleted, err := inParallel(pods, func(pod *corev1.Pod) (*corev1.Pod, error) {
		err := c.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
		// A conflict is another pod under this name: ours is gone.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return nil, fmt.Errorf("deleting Pod %s: %w", pod.Name, err)
		}
		return pod, nil
	})
	for _, pod := range deleted {
		m.noteDeleted(pod.UID)
	}
	return deleted, err
}

// inParallel does something with every pod at the same time. It returns the pods for which that went well, in their
// order, and the first error.
func inParallel(pods []*corev1.Pod, do func(*corev1.Pod) (*corev1.Pod, error)) ([]*corev1.Pod, error) {
	results, errs := make([]*corev1.Pod, len(pods)), make([]error, len(pods))
	var wait sync.WaitGroup
	for i, pod := range pods {
		wait.Go(func() { results[i], errs[i] = do(pod) })
	}
	wait.Wait()
	var done []*corev1.Pod
	var first error
	for i := range pods {
		if errs[i] == nil {
			done = append(done, results[i])
		} else if first == nil {
			first = errs[i]
		}
	}
	return done, first
}

// writeStatus writes the status of obj, which is after, if it differs from before, and remembers obj until the cache shows
// it. An object that has changed since it was read is left alone, and the error is a conflict: a status that was computed
// from an old state could hide the record of a run, or land on an object that was made again under the name.
//
// A status is written whole: a difference would leave out what has the zero value in the first one. The API server answers
// with the metadata alone, since the rest is known.
func writeStatus(ctx context.Context, c client.Client, m *memory, obj client.Object, before, after any) error {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": obj.GetResourceVersion()},
		{"op": "add", "path": "/status", "value": after},
	})
	if err != nil {
		return fmt.Errorf("encoding the status: %w", err)
	}
	kind, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	answer := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: obj.GetNamespace(), Name: obj.GetName()}}
	answer.SetGroupVersionKind(kind)
	if err := c.Status().Patch(ctx, answer, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("writing the status: %w", err))
	}
	obj.SetResourceVersion(answer.ResourceVersion)
	m.written = obj
	m.echo.Store(&answer.ResourceVersion)
	return nil
}

// send sends events about obj.
func send(recorder events.EventRecorder, obj client.Object, what []event.Event) {
	for _, e := range what {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		recorder.Eventf(obj, nil, kind, e.Reason, e.Action, "%s", e.Note)
	}
}
