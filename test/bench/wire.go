// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The arms without a controller: a bare client that creates the pods only, and one that sends the same requests as the operator.
const wirePods, wireAll = "W", "W+"

// widthsFor are how many requests a bare client has in flight to create so many pods. The report takes the best of them. With many pods,
// they make no difference beyond the scatter, and take long.
func widthsFor(pods int) []int {
	if pods >= many {
		return []int{64}
	}
	return []int{16, 32, 64}
}

// wireCase is the case of a bare client.
func wireCase(what string, width int) string { return fmt.Sprintf("%s, %d in flight", what, width) }

// The bare clients take their turn among the arms, but they are no processes.
var barePods, bareAll = &arm{name: wirePods}, &arm{name: wireAll}

// wire measures how fast the API server takes requests that no controller has to decide about.
func (b *bench) wire(ctx context.Context, a *arm, grid [2]int, rep int) error {
	send := b.wirePods
	if a == bareAll {
		send = b.wireAll
	}
	return b.withEachWidth(ctx, send, grid, func(width int, waits []float64) error {
		return b.add("M1", wireCase(gridName(grid), width), a.name, "pods/s", rep, float64(len(waits))/slices.Max(waits)*1000)
	})
}

// wireBursts measures how late the pods are that the bare client creates, as many at once as there are timers in a burst.
func (b *bench) wireBursts(ctx context.Context, a *arm, rep int) error {
	for _, n := range b.sizes.bursts {
		if rep >= b.sizes.repsOf(n) {
			continue
		}
		err := b.withEachWidth(ctx, b.wirePods, [2]int{1, n}, func(width int, waits []float64) error {
			return b.add("M4", wireCase(burst.caseName(n), width), a.name, msLate, rep, waits...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sender sends the requests for a grid, with so many in flight, and returns when it sent the first.
type sender func(ctx context.Context, namespace string, grid [2]int, width int) (time.Time, error)

// withEachWidth lets a bare client create the pods of a grid, and passes on how long after the first request each pod was seen, in ms.
// The widths come in a random order, because the first one may meet a server that has had nothing to do.
func (b *bench) withEachWidth(ctx context.Context, send sender, grid [2]int, add func(width int, waits []float64) error) error {
	widths := widthsFor(grid[0] * grid[1])
	for _, i := range rand.Perm(len(widths)) {
		width := widths[i]
		if _, err := b.cluster.collectGarbage(ctx); err != nil {
			return err
		}
		namespace, w, err := b.cluster.watchedNamespace(ctx, nil)
		if err != nil {
			return err
		}
		start, err := send(ctx, namespace, grid, width)
		if err == nil {
			_, err = w.await(ctx, grid[0]*grid[1], patience)
		}
		w.stop()
		if err != nil {
			return err
		}
		var waits []float64
		for _, seen := range w.times() {
			waits = append(waits, milliseconds(seen.Sub(start)))
		}
		if err := errorsOf(add(width, waits), b.cluster.clear(ctx, namespace)); err != nil {
			return err
		}
	}
	return nil
}

// wanted tells whether an arm is asked for.
func (b *bench) wanted(arm string) bool { return len(b.arms) == 0 || slices.Contains(b.arms, arm) }

// armClient is a client like that of the operator: the same user, one connection, protobuf for the built-in kinds. It is connected,
// and it has looked up the kinds.
func (b *bench) armClient(ctx context.Context) (client.Client, error) {
	c, err := client.New(rest.CopyConfig(b.cluster.arm), client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, err
	}
	for _, k := range []kind{pods, podSets, eventsKind} {
		nobody := k.object("default", "nobody")
		if err := c.Get(ctx, client.ObjectKeyFromObject(nobody), nobody); client.IgnoreNotFound(err) != nil {
			return nil, err
		}
	}
	return c, nil
}

// wirePods creates the pods of a grid.
func (b *bench) wirePods(ctx context.Context, namespace string, grid [2]int, width int) (time.Time, error) {
	c, err := b.armClient(ctx)
	if err != nil {
		return time.Time{}, err
	}
	owner := metav1.OwnerReference{APIVersion: podSets.GroupVersion().String(), Kind: podSets.Kind, Name: "nobody", UID: "nobody", Controller: new(true)}
	start := time.Now()
	return start, inParallel(ctx, grid[0]*grid[1], width, func(ctx context.Context, i int) error {
		pod := template("wire", corev1.RestartPolicyAlways, "sleep", "3600")
		return c.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprintf("wire-pod%d", i), Labels: pod.Labels, OwnerReferences: []metav1.OwnerReference{owner},
			},
			Spec: pod.Spec,
		})
	})
}
