// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstate

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func object(uid types.UID, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: uid, ResourceVersion: version}}
}

func TestMap_Of(t *testing.T) {
	var m Map[int]
	first := m.Of(object("1", "1"))
	if m.Of(object("1", "2")) != first {
		t.Error("the same object has two entries")
	}
	if m.Of(object("2", "3")) == first {
		t.Error("an object that was created again has the entry of its predecessor")
	}
	key := client.ObjectKeyFromObject(object("2", "3"))
	if entry, err := m.ForgetIfGone(key, errors.New("not now")); err == nil || entry != nil || len(m.byKey) != 1 {
		t.Error("an object that could not be read was forgotten")
	}
	if entry, err := m.ForgetIfGone(key, apierrors.NewNotFound(schema.GroupResource{}, "a")); err != nil || entry == nil || len(m.byKey) != 0 {
		t.Error("an object that is gone was kept")
	}
}

func TestMap_PodDeleted(t *testing.T) {
	var m Map[int]
	pod := func(owner types.UID) *corev1.Pod {
		isController := true
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "p", OwnerReferences: []metav1.OwnerReference{{Name: "a", UID: owner, Controller: &isController}},
		}}
	}
	first := pod("1")
	m.PodDeleted(first)
	if !slices.Equal(m.Of(object("1", "1")).DeletedPods(), []*corev1.Pod{first}) {
		t.Error("a pod that was deleted before the first reconcile is not known")
	}
	m.PodDeleted(pod("2"))
	m.PodDeleted(&corev1.Pod{})
	if !slices.Equal(m.Of(object("1", "2")).DeletedPods(), []*corev1.Pod{first}) {
		t.Error("the pod of an object of the same name counts")
	}
	if m.Of(object("2", "3")).DeletedPods() != nil {
		t.Error("the pod of the predecessor counts")
	}
	for range 2000 { // The object is gone: it is enqueued, and the reconcile drops its entry.
		m.PodDeleted(first)
		_, _ = m.ForgetIfGone(client.ObjectKeyFromObject(object("1", "1")), apierrors.NewNotFound(schema.GroupResource{}, "a"))
	}
	if len(m.byKey) > 0 {
		t.Errorf("%d entries are left", len(m.byKey))
	}
}

func TestMap_IgnoreOwnStatusUpdates(t *testing.T) {
	var m Map[int]
	changed := m.IgnoreOwnStatusUpdates()
	update := func(uid types.UID, version string) bool {
		return changed.Update(event.UpdateEvent{ObjectOld: object(uid, "1"), ObjectNew: object(uid, version)})
	}
	if !update("1", "2") {
		t.Error("an update of an object that was never reconciled is ignored")
	}
	entry := m.Of(object("1", "2"))
	if !update("1", "3") {
		t.Error("an update is ignored before any write")
	}
	entry.StatusWritten("4")
	for version, want := range map[string]bool{"3": true, "4": false, "5": true} {
		if got := update("1", version); got != want {
			t.Errorf("version %s: reconciled is %t, want %t", version, got, want)
		}
	}
	if !update("2", "4") {
		t.Error("an update of another object of this name is ignored")
	}
}
