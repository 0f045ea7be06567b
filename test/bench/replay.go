// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

// recordedName is the name of the set that is recorded. In the replay, the name of another set replaces it.
const recordedName = "recorded"

// recording is what the operator wrote for one set: the model of the requests of W+.
type recording struct {
	pods   []corev1.Pod
	status appv1alpha1.PodSetStatus
	event  eventsv1.Event
}

// record lets the operator create the pods of one set and returns what it wrote.
func (b *bench) record(ctx context.Context, podsPerSet int) (*recording, error) {
	p, err := b.startWarm(ctx, operatorArm)
	if err != nil {
		return nil, err
	}
	defer p.kill()
	namespace, w, err := b.cluster.watchedNamespace(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer w.stop()
	_, err = b.phase(ctx, p, func() error {
		if err := b.cluster.admin.Create(ctx, makeSet(podSets, namespace, recordedName, int32(podsPerSet))); err != nil {
			return err
		}
		_, err := w.await(ctx, podsPerSet, patience)
		return err
	})
	if err != nil {
		return nil, err
	}
	set, written, events := &appv1alpha1.PodSet{}, &corev1.PodList{}, &eventsv1.EventList{}
	err = errorsOf(
		b.cluster.admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: recordedName}, set),
		b.cluster.admin.List(ctx, written, client.InNamespace(namespace)),
		b.cluster.admin.List(ctx, events, client.InNamespace(namespace)),
	)
	if err != nil {
		return nil, err
	}
	if len(written.Items) != podsPerSet || len(events.Items) != 1 {
		return nil, fmt.Errorf("the operator wrote %d pods and %d events for one set of %d", len(written.Items), len(events.Items), podsPerSet)
	}
	return &recording{pods: written.Items, status: set.Status, event: events.Items[0]}, b.cluster.clear(ctx, namespace)
}

// meta copies the metadata that the writer of an object sent. The rest is from the API server.
func (r *recording) meta(recorded metav1.ObjectMeta, set *appv1alpha1.PodSet) metav1.ObjectMeta {
	owners := slices.Clone(recorded.OwnerReferences)
	for i := range owners {
		owners[i].Name, owners[i].UID = set.Name, set.UID
	}
	labels := map[string]string{}
	for key, value := range recorded.Labels {
		labels[key] = strings.ReplaceAll(value, recordedName, set.Name)
	}
	return metav1.ObjectMeta{
		Namespace: set.Namespace, Name: strings.Replace(recorded.Name, recordedName, set.Name, 1), Labels: labels,
		Annotations: recorded.Annotations, Finalizers: recorded.Finalizers, OwnerReferences: owners,
	}
}

func (r *recording) pod(i int, set *appv1alpha1.PodSet) *corev1.Pod {
	// The API server has filled in the recorded specification, so the one that was sent is made anew.
	return &corev1.Pod{ObjectMeta: r.meta(r.pods[i].ObjectMeta, set), Spec: *set.Spec.Template.Spec.DeepCopy()}
}

func (r *recording) eventOf(set *appv1alpha1.PodSet) *eventsv1.Event {
	event := &eventsv1.Event{
		ObjectMeta: r.meta(r.event.ObjectMeta, set), EventTime: metav1.NowMicro(), Type: r.event.Type,
		ReportingController: r.event.ReportingController, ReportingInstance: r.event.ReportingInstance,
		Action: r.event.Action, Reason: r.event.Reason, Regarding: r.event.Regarding, Note: r.event.Note,
	}
	event.Regarding.Namespace, event.Regarding.Name = set.Namespace, set.Name
	event.Regarding.UID, event.Regarding.ResourceVersion = set.UID, set.ResourceVersion
	return event
}

// patchStatus writes the recorded status as the operator does: with a JSON patch, whose answer is metadata only.
func (r *recording) patchStatus(ctx context.Context, c client.Client, set *appv1alpha1.PodSet) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": set.ResourceVersion},
		{"op": "add", "path": "/status", "value": r.status},
	})
	if err != nil {
		return err
	}
	return c.Status().Patch(ctx, podSets.object(set.Namespace, set.Name), client.RawPatch(types.JSONPatchType, patch))
}

// request is one request of W+: for which set, and what. A request for a pod has its number.
type request struct {
	what requestKind
	set  int
	pod  int
}

type requestKind int

const (
	createSet requestKind = iota
	createPod
	createEvent
	patchStatus
)

// replayOrder is the order in which W+ sends the requests of a grid. Sets are created ahead of their pods, and events come behind
// them, so that width requests are in flight and none of them waits for another. Statuses come last, which is best for the pods; the
// operator delays them too.
func replayOrder(grid [2]int, width int) []request {
	sets, podsPerSet := grid[0], grid[1]
	ahead := 2 + width/(podsPerSet+2)
	var order []request
	for i := range sets + 2*ahead {
		if i < sets {
			order = append(order, request{what: createSet, set: i})
		}
		if set := i - ahead; set >= 0 && set < sets {
			for pod := range podsPerSet {
				order = append(order, request{what: createPod, set: set, pod: pod})
			}
		}
		if set := i - 2*ahead; set >= 0 {
			order = append(order, request{what: createEvent, set: set})
		}
	}
	for set := range sets {
		order = append(order, request{what: patchStatus, set: set})
	}
	return order
}

// wireAll sends the requests that the operator and its users send for a grid.
func (b *bench) wireAll(ctx context.Context, namespace string, grid [2]int, width int) (time.Time, error) {
	r := b.recordings[grid[1]]
	if r == nil {
		var err error
		if r, err = b.record(ctx, grid[1]); err != nil {
			return time.Time{}, fmt.Errorf("recording the operator: %w", err)
		}
		b.recordings[grid[1]] = r
	}
	c, err := b.armClient(ctx)
	if err != nil {
		return time.Time{}, err
	}
	sets, created := make([]*appv1alpha1.PodSet, grid[0]), make([]chan struct{}, grid[0])
	for i := range sets {
		sets[i] = makeSet(podSets, namespace, fmt.Sprintf("set-%d", i), int32(grid[1])).(*appv1alpha1.PodSet)
		created[i] = make(chan struct{})
	}
	order := replayOrder(grid, width)
	start := time.Now()
	return start, inParallel(ctx, len(order), width, func(ctx context.Context, i int) error {
		next := order[i]
		set := sets[next.set]
		if next.what == createSet { // The harness creates the sets of the other arms too.
			defer close(created[next.set])
			return b.cluster.admin.Create(ctx, set)
		}
		<-created[next.set]
		switch next.what {
		case createPod:
			return c.Create(ctx, r.pod(next.pod, set))
		case createEvent:
			return c.Create(ctx, r.eventOf(set))
		default:
			return r.patchStatus(ctx, c, set)
		}
	})
}
