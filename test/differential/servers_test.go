// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
	"github.com/redhat/podset-operator/test/sim"
)

// The resources.
const (
	podSets = "podsets"
	ats     = "ats"
	pods    = "pods"
)

var resources = []string{podSets, ats, pods}

func newList(resource string) client.ObjectList {
	switch resource {
	case podSets:
		return &appv1alpha1.PodSetList{}
	case ats:
		return &cnatv1alpha1.AtList{}
	}
	return &corev1.PodList{}
}

// server is one of the two servers that get the same requests.
type server interface {
	Create(object client.Object) (client.Object, error)
	Update(object client.Object, status bool) (client.Object, error)
	Patch(resource, name string, kind types.PatchType, data []byte, status bool) (client.Object, error)
	// remove returns nothing for a custom resource that is gone: the API server then returns no object.
	remove(resource, name string, options metav1.DeleteOptions) ([]client.Object, error)
	Bind(pod, node string) error
	Get(resource, name string) (client.Object, error)
	list(resource string) ([]client.Object, error)
	// events returns all changes, ordered by version.
	events() ([]invariants.Event, error)
}

// simulated is the store of the simulation.
type simulated struct{ *sim.Store }

func (s simulated) remove(resource, name string, options metav1.DeleteOptions) ([]client.Object, error) {
	object, gone, err := s.Delete(resource, name, options)
	if gone && resource != pods {
		return nil, err
	}
	return one(object, err)
}

func (s simulated) list(resource string) ([]client.Object, error) { return s.List(resource), nil }
func (s simulated) events() ([]invariants.Event, error)           { return s.Changes(), nil }

// apiServer is a namespace of a real API server.
type apiServer struct {
	ctx       context.Context
	namespace string
	watches   map[string]watch.Interface
	// cleared are the versions at which Create removed managed fields.
	cleared map[string]bool
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "differential-"}}
	if err := admin.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	a := &apiServer{ctx: t.Context(), namespace: namespace.Name, watches: map[string]watch.Interface{}, cleared: map[string]bool{}}
	for _, resource := range resources {
		list := newList(resource)
		if err := admin.List(a.ctx, list, client.InNamespace(a.namespace)); err != nil {
			t.Fatal(err)
		}
		w, err := admin.Watch(a.ctx, newList(resource), client.InNamespace(a.namespace), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Stop)
		a.watches[resource] = w
	}
	return a
}

// Create creates an object and removes its managed fields, so that the API server stops tracking them. Otherwise it would also store a new
// version when a request changes only the managers of fields, which the simulation does not have.
func (a *apiServer) Create(object client.Object) (client.Object, error) {
	object = sim.CopyOf(object)
	object.SetNamespace(a.namespace)
	if err := admin.Create(a.ctx, object); err != nil {
		return nil, err
	}
	err := admin.Patch(a.ctx, object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`)))
	a.cleared[object.GetResourceVersion()] = true
	return object, err
}

func (a *apiServer) Update(object client.Object, status bool) (client.Object, error) {
	object = sim.CopyOf(object)
	object.SetNamespace(a.namespace)
	if status {
		return object, admin.Status().Update(a.ctx, object)
	}
	return object, admin.Update(a.ctx, object)
}

func (a *apiServer) named(resource, name string) client.Object {
	object := sim.NewObject(resource)
	object.SetNamespace(a.namespace)
	object.SetName(name)
	return object
}

func (a *apiServer) Patch(resource, name string, kind types.PatchType, data []byte, status bool) (client.Object, error) {
	object, patch := a.named(resource, name), client.RawPatch(kind, data)
	if status {
		return object, admin.Status().Patch(a.ctx, object, patch)
	}
	return object, admin.Patch(a.ctx, object, patch)
}

func (a *apiServer) remove(resource, name string, options metav1.DeleteOptions) ([]client.Object, error) {
	response, err := raw[resource].Delete().Namespace(a.namespace).Resource(resource).Name(name).Body(&options).Do(a.ctx).Get()
	if object, ok := response.(client.Object); ok && err == nil {
		return one(object, nil)
	}
	return nil, err
}

func (a *apiServer) Bind(pod, node string) error {
	return admin.SubResource("binding").Create(a.ctx, a.named(pods, pod), &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}})
}

func (a *apiServer) Get(resource, name string) (client.Object, error) {
	object := a.named(resource, name)
	return object, admin.Get(a.ctx, client.ObjectKeyFromObject(object), object)
}

func (a *apiServer) list(resource string) ([]client.Object, error) {
	list := newList(resource)
	if err := admin.List(a.ctx, list, client.InNamespace(a.namespace)); err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	var objects []client.Object
	for _, item := range items {
		objects = append(objects, item.(client.Object))
	}
	return objects, err
}

// events creates a last object of each resource, to be sure that the watches have delivered everything before it.
func (a *apiServer) events() ([]invariants.Event, error) {
	var all []invariants.Event
	for _, resource := range resources {
		last, err := a.Create(minimal(resource, "last"))
		if err != nil {
			return nil, err
		}
		for e := range a.watches[resource].ResultChan() {
			object, ok := e.Object.(client.Object)
			if !ok {
				return nil, fmt.Errorf("the watch of %s delivered %v", resource, e)
			}
			if object.GetUID() == last.GetUID() {
				break
			}
			if a.cleared[object.GetResourceVersion()] {
				all[len(all)-1].Object = object // It follows its creation.
				continue
			}
			version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
			if err != nil {
				return nil, err
			}
			all = append(all, invariants.Event{Version: version, Kind: e.Type, Object: object, Seen: time.Now()})
		}
	}
	if a.ctx.Err() != nil {
		return nil, errors.New("the watches ended")
	}
	slices.SortFunc(all, func(x, y invariants.Event) int { return cmp.Compare(x.Version, y.Version) })
	return all, nil
}
