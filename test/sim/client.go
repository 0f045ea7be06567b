// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

// operatorClient is the client of a process: it reads from the cache and writes to the Store.
type operatorClient struct {
	client.Client // nil, because the operator does not use the rest
	process       *process
}

func (c operatorClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, isAt := object.(*cnatv1alpha1.At); isAt {
		c.process.nextPass(ctx)
	}
	c.process.reconcileOf(ctx)
	return c.process.cache.Get(ctx, key, object, options...)
}

// List lists from the cache. A cache has a random order, which List replaces with one that depends on the seed.
func (c operatorClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := c.process.cache.List(ctx, list, options...); err != nil {
		return err
	}
	switch l := list.(type) {
	case *corev1.PodList:
		l.Items = c.process.env.withoutOlder(l.Items)
		shuffle(c.process.env.order, l.Items, func(i corev1.Pod) string { return i.Name })
	case *appv1alpha1.PodSetList:
		shuffle(c.process.env.order, l.Items, func(i appv1alpha1.PodSet) string { return i.Name })
	case *cnatv1alpha1.AtList:
		shuffle(c.process.env.order, l.Items, func(i cnatv1alpha1.At) string { return i.Name })
	}
	return nil
}

// shuffle sorts items in an order that depends only on a seed and their names.
func shuffle[T any](seed uint64, items []T, name func(T) string) {
	slices.SortFunc(items, func(a, b T) int {
		return cmp.Or(cmp.Compare(hash(seed, name(a)), hash(seed, name(b))), cmp.Compare(name(a), name(b)))
	})
}

func hash(seed uint64, name string) uint64 {
	h := seed ^ 14695981039346656037
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return h
}

func (c operatorClient) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if budget, ok := object.(*policyv1.PodDisruptionBudget); ok {
		return c.createBudget(ctx, budget, len((&client.CreateOptions{}).ApplyOptions(options).DryRun) > 0)
	}
	sent := CopyOf(object)
	if o := (&client.CreateOptions{}).ApplyOptions(options); len(o.DryRun) > 0 {
		return c.dryRun(ctx, object)
	}
	err := c.process.write(ctx, object, "create", "", "", func() (client.Object, error) {
		c.process.env.mutate(sent)
		c.process.env.replaces(sent)
		if pod, ok := sent.(*corev1.Pod); ok {
			if err := c.process.env.webhook.admit(pod, false); err != nil {
				return nil, err
			}
		}
		return c.process.env.store.Create(sent)
	})
	defect, unanswered := c.process.env.operator.Defect, err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown
	if (apierrors.IsAlreadyExists(err) && defect.Adopts || unanswered && defect.AdoptsUnanswered) && c.process.env.adopts(object) {
		return nil
	}
	return err
}

func (c operatorClient) dryRun(ctx context.Context, object client.Object) error {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("a dry run of a %T is not simulated", object)
	}
	request := invariants.Call{Verb: "check", Resource: pods, Namespace: Namespace, Name: pod.Name, Owner: invariants.ControllerOf(pod)}
	request.Generation, _ = strconv.ParseInt(pod.Annotations[cnatv1alpha1.AnnotationGeneration], 10, 64)
	sent, e := pod.DeepCopy(), c.process.env
	about := fmt.Sprint(request.Owner, request.Name, request.Generation)
	if answer, ok := e.recall(about); ok {
		return answer.err
	}
	checked, err := c.process.do(ctx, request, func() (client.Object, error) {
		if err := e.webhook.admit(sent, true); err != nil {
			return nil, err
		}
		return e.store.Check(sent)
	})
	if e.operator.Defect.Accepts {
		return nil
	}
	if e.operator.Defect.Remembers && (err == nil || apierrors.IsForbidden(err)) {
		e.answers[about] = remembered{err, e.now()}
	}
	if err != nil {
		return err
	}
	checked.(*corev1.Pod).DeepCopyInto(pod)
	return nil
}

func (c operatorClient) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	o := (&client.DeleteOptions{}).ApplyOptions(options).AsDeleteOptions()
	if change := c.process.env.operator.Defect.Delete; change != nil {
		change(o)
	}
	if budget, ok := object.(*policyv1.PodDisruptionBudget); ok {
		return c.deleteBudget(ctx, budget, deletePrecondition(o))
	}
	resource, name := ResourceOf(object), object.GetName()
	if c.process.env.keeps(object) {
		return nil
	}
	return c.process.write(ctx, CopyOf(object), "delete", "", deletePrecondition(o), func() (client.Object, error) {
		if err := c.process.env.admitDelete(resource, name); err != nil {
			return nil, err
		}
		remove := c.process.env.store.Delete
		if resource == pods { // Other requests can come between the two steps of its deletion.
			remove = c.process.env.store.begin
		}
		deleted, _, err := remove(resource, name, *o)
		return deleted, err
	})
}

// Patch sends a JSON patch of a pod: other objects, and other patches, are not simulated.
func (c operatorClient) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	return c.process.patchPod(ctx, object, c.process.env.mutatePodPatch(data), patch.Type())
}

func (p *process) patchPod(ctx context.Context, object client.Object, data []byte, kind types.PatchType) error {
	if resource := resourceOfKind(object); resource != pods {
		return fmt.Errorf("a patch of %s is not simulated", resource)
	}
	request := invariants.Call{Verb: "patch", Resource: pods, Namespace: Namespace, Name: object.GetName(), Requested: object.GetName(), Body: data, Owner: p.env.creatorOf(object.GetName())}
	request.ReadPatch()
	if request.Stops && p.env.operator.Defect.DeletesStopped {
		return operatorClient{process: p}.Delete(ctx, object, client.Preconditions{UID: &request.Precondition})
	}
	err := p.send(ctx, object, request, func() (client.Object, error) {
		admitted, err := p.env.admitPatch(request, data)
		if err != nil {
			return nil, err
		}
		patched, err := p.env.store.Patch(pods, object.GetName(), kind, admitted, false)
		if err == nil && request.Opens {
			p.env.isProtected(patched.(*corev1.Pod))
		}
		return patched, err
	})
	if apierrors.IsForbidden(err) && p.env.operator.Defect.Insists {
		return apierrors.NewInternalError(err)
	}
	return err
}

// creatorOf returns the UID of the At for whose pod of this name the operator sent the last create that was carried
// out, or of the At for which a user created the pod.
func (e *env) creatorOf(pod string) (owner types.UID) {
	if stored, ok := e.store.objects[storeKey{pods, pod}].(*corev1.Pod); ok && stored.Annotations[invariants.Planted] != "" {
		return invariants.ControllerOf(stored)
	}
	for _, w := range e.writes {
		if w.Verb == "create" && w.Resource == pods && w.Requested == pod && w.Committed() {
			owner = w.Owner
		}
	}
	return owner
}

func (c operatorClient) Status() client.SubResourceWriter { return statusWriter{process: c.process} }
func (c operatorClient) Scheme() *runtime.Scheme          { return scheme }
func (c operatorClient) RESTMapper() meta.RESTMapper      { return mapper }
func (c operatorClient) GroupVersionKindFor(object runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(object, scheme)
}

// statusWriter writes the status of objects.
type statusWriter struct {
	client.SubResourceWriter // nil, because the operator does not use the rest
	process                  *process
}

func (s statusWriter) Update(ctx context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	sent := CopyOf(object)
	return s.process.write(ctx, object, "update", "status", "", func() (client.Object, error) { return s.process.env.store.Update(sent, true) })
}

func (s statusWriter) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	s.opensFirst(ctx, data)
	resource, name := resourceOfKind(object), object.GetName()
	return s.process.write(ctx, object, "patch", "status", "", func() (client.Object, error) {
		return s.process.env.store.Patch(resource, name, patch.Type(), s.process.env.mutatePatch(data), true)
	})
}

// resourceOfKind returns the resource of an object that may be only its metadata.
func resourceOfKind(object client.Object) string {
	for resource, kind := range groupKinds {
		if kind == object.GetObjectKind().GroupVersionKind().GroupKind() {
			return resource
		}
	}
	return ResourceOf(object)
}

// write sends a write and fills object with the response.
func (p *process) write(ctx context.Context, object client.Object, verb, subresource string, precondition types.UID, commit func() (client.Object, error)) error {
	request := invariants.Call{
		Verb: verb, Resource: resourceOfKind(object), Subresource: subresource, Namespace: Namespace,
		Name: object.GetName() + object.GetGenerateName(), Requested: object.GetName(), Precondition: precondition,
	}
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil && verb == "create" {
		request.Owner, request.Slot = owner.UID, object.GetAnnotations()[appv1alpha1.AnnotationSlot]
	}
	if verb == "delete" && request.Resource == pods {
		request.Owner = p.env.creatorOf(request.Name)
	}
	if pod, ok := object.(*corev1.Pod); ok {
		request.Gated = verb == "create" && invariants.IsGated(pod)
	}
	return p.send(ctx, object, request, commit)
}

func (p *process) send(ctx context.Context, object client.Object, request invariants.Call, commit func() (client.Object, error)) error {
	requested := object.GetName()
	result, err := p.do(ctx, request, commit)
	if err != nil {
		return err
	}
	switch o := object.(type) {
	case *metav1.PartialObjectMetadata:
		o.SetResourceVersion(result.GetResourceVersion())
		o.SetUID(result.GetUID())
	case *policyv1.PodDisruptionBudget:
		result.(*policyv1.PodDisruptionBudget).DeepCopyInto(o)
	case *corev1.Pod:
		result.(*corev1.Pod).DeepCopyInto(o)
		if p.env.operator.Defect.Blind {
			o.Name = requested
		}
	case *appv1alpha1.PodSet:
		result.(*appv1alpha1.PodSet).DeepCopyInto(o)
	case *cnatv1alpha1.At:
		result.(*cnatv1alpha1.At).DeepCopyInto(o)
	}
	return nil
}
