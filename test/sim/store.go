// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

// Namespace is the only namespace of a Store.
const Namespace = "default"

// The resources of a Store, and that of the budgets, which are not in the Store.
const (
	podSets = "podsets"
	ats     = "ats"
	pods    = "pods"
	budgets = "poddisruptionbudgets"
)

var groupResources = map[string]schema.GroupResource{
	podSets: {Group: appv1alpha1.GroupVersion.Group, Resource: podSets},
	ats:     {Group: cnatv1alpha1.GroupVersion.Group, Resource: ats},
	pods:    {Resource: pods},
}

var groupKinds = map[string]schema.GroupKind{
	podSets: {Group: appv1alpha1.GroupVersion.Group, Kind: "PodSet"},
	ats:     {Group: cnatv1alpha1.GroupVersion.Group, Kind: "At"},
	pods:    {Kind: "Pod"},
}

// ResourceOf returns the resource of an object or of a list.
func ResourceOf(object any) string {
	switch object.(type) {
	case *appv1alpha1.PodSet, *appv1alpha1.PodSetList:
		return podSets
	case *cnatv1alpha1.At, *cnatv1alpha1.AtList:
		return ats
	case *corev1.Pod, *corev1.PodList:
		return pods
	case *policyv1.PodDisruptionBudget:
		return budgets
	}
	return ""
}

// NewObject returns an empty object of a resource.
func NewObject(resource string) client.Object {
	switch resource {
	case podSets:
		return &appv1alpha1.PodSet{}
	case ats:
		return &cnatv1alpha1.At{}
	}
	return &corev1.Pod{}
}

type storeKey struct{ resource, name string }

// Store simulates an API server with one namespace and three resources. An object in a Store is replaced and never modified.
type Store struct {
	now     func() time.Time
	random  *rand.Rand // of generated names
	version uint64
	uids    int
	objects map[storeKey]client.Object
	// log has all changes, in the order of their versions.
	log []invariants.Event
	// podLimit is the quota of pods. A negative value means that there is none.
	podLimit int
}

// NewStore returns an empty Store. now is its clock.
func NewStore(now func() time.Time) *Store {
	return &Store{now: now, random: rand.New(rand.NewPCG(1, 1)), objects: map[storeKey]client.Object{}, podLimit: -1} //nolint:gosec // reproducible
}

// Get returns a copy of an object.
func (s *Store) Get(resource, name string) (client.Object, error) {
	object, ok := s.objects[storeKey{resource, name}]
	if !ok {
		return nil, apierrors.NewNotFound(groupResources[resource], name)
	}
	return CopyOf(object), nil
}

// List returns copies of all objects of a resource, by name.
func (s *Store) List(resource string) []client.Object {
	var list []client.Object
	for key, object := range s.objects {
		if key.resource == resource {
			list = append(list, CopyOf(object))
		}
	}
	slices.SortFunc(list, func(a, b client.Object) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return list
}

// Version returns the latest resource version.
func (s *Store) Version() string { return strconv.FormatUint(s.version, 10) }

// Changes returns all changes, in the order of their versions.
func (s *Store) Changes() []invariants.Event { return slices.Clone(s.log) }

// Create creates an object and returns it.
func (s *Store) Create(object client.Object) (client.Object, error) {
	created, err := s.Check(object)
	if err != nil {
		return nil, err
	}
	return s.add(created), nil
}

// Check returns the object that a create would store, or its error. It stores nothing.
func (s *Store) Check(object client.Object) (client.Object, error) {
	resource := ResourceOf(object)
	sent, err := received(object)
	if err != nil {
		return nil, err
	}
	if sent.GetName() == "" && sent.GetGenerateName() != "" {
		sent.SetName(sent.GetGenerateName() + fmt.Sprintf("%05d", s.random.IntN(100_000)))
	}
	created, err := decodeNew(resource, sent)
	if err != nil {
		return nil, err
	}
	name := created.GetName()
	if resource == pods && s.podLimit >= 0 && s.countPods() >= s.podLimit {
		return nil, apierrors.NewForbidden(groupResources[pods], name, fmt.Errorf("exceeded quota: pods, limited: %d", s.podLimit))
	}
	if created.GetResourceVersion() != "" {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "resourceVersion should not be set on objects to be created"}}
	}
	if _, ok := s.objects[storeKey{resource, name}]; ok {
		return nil, apierrors.NewAlreadyExists(groupResources[resource], name)
	}
	return created, nil
}

// add stores a new object without validation.
func (s *Store) add(object client.Object) client.Object {
	s.uids++
	object.SetUID(types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000000", s.uids)))
	object.SetCreationTimestamp(metav1.NewTime(s.now()).Rfc3339Copy())
	if pod, ok := object.(*corev1.Pod); ok {
		setGated(pod, s.now())
	}
	return s.put(watch.Added, object)
}

// countPods counts the pods that use the quota: those that have not finished.
func (s *Store) countPods() int {
	n := 0
	for key, object := range s.objects {
		if pod, ok := object.(*corev1.Pod); ok && key.resource == pods && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			n++
		}
	}
	return n
}

// put stores an object under the next version.
func (s *Store) put(kind watch.EventType, object client.Object) client.Object {
	s.version++
	object.SetResourceVersion(s.Version())
	key := storeKey{ResourceOf(object), object.GetName()}
	if kind == watch.Deleted {
		delete(s.objects, key)
	} else {
		s.objects[key] = object
	}
	s.log = append(s.log, invariants.Event{Version: s.version, Kind: kind, Object: object, Seen: time.Now()})
	return CopyOf(object)
}

// Update replaces an object: everything but the status, or only the status.
func (s *Store) Update(object client.Object, status bool) (client.Object, error) {
	resource, name := ResourceOf(object), object.GetName()
	current, ok := s.objects[storeKey{resource, name}]
	if !ok {
		return nil, apierrors.NewNotFound(groupResources[resource], name)
	}
	sent, err := received(object)
	if err != nil {
		return nil, err
	}
	return s.replace(current, sent, status)
}

// replace replaces an object by one that was received.
func (s *Store) replace(current, sent client.Object, status bool) (client.Object, error) {
	resource, name := ResourceOf(current), current.GetName()
	if uid := sent.GetUID(); uid != "" && uid != current.GetUID() {
		return nil, conflict(resource, name, fmt.Sprintf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, current.GetUID()))
	}
	switch version := sent.GetResourceVersion(); version {
	case current.GetResourceVersion():
	case "":
		if resource != pods {
			kind := schema.GroupKind{Group: groupResources[resource].Group, Kind: resource}
			return nil, apierrors.NewInvalid(kind, name, field.ErrorList{field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
		}
		sent.SetResourceVersion(current.GetResourceVersion())
	default:
		return nil, conflict(resource, name, "the object has been modified; please apply your changes to the latest version and try again")
	}
	updated, err := decodeUpdate(current, sent, status)
	if err != nil {
		return nil, err
	}
	if equality.Semantic.DeepEqual(current, updated) {
		return CopyOf(current), nil
	}
	if current.GetDeletionTimestamp() != nil && len(updated.GetFinalizers()) == 0 && ptr.Deref(current.GetDeletionGracePeriodSeconds(), 0) == 0 {
		s.put(watch.Deleted, CopyOf(current))
		return CopyOf(updated), nil
	}
	return s.put(watch.Modified, updated), nil
}

func conflict(resource, name, message string) error {
	return apierrors.NewConflict(groupResources[resource], name, fmt.Errorf("%s", message))
}
