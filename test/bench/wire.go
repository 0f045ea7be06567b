// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The arms without a controller: a bare client that creates the pods only, and one that sends the same requests as the operator.
const wirePods, wireAll = "W", "W+"

// widths are how many requests a bare client has in flight. The report takes the best of them.
var widths = []int{16, 32, 64}

// wireCase is the case of a bare client.
func wireCase(what string, width int) string { return fmt.Sprintf("%s, %d in flight", what, width) }

// wire measures how fast the API server takes requests that no controller has to decide about.
func (b *bench) wire(ctx context.Context, arm string, grid [2]int, rep int) error {
	if !b.wanted(arm) {
		return nil
	}
	send := b.wirePods
	if arm == wireAll {
		send = b.wireAll
	}
	for _, width := range widths {
		namespace, w, err := b.cluster.watchedNamespace(ctx, nil)
		if err != nil {
			return err
		}
		took, err := send(ctx, namespace, w, grid, width)
		w.stop()
		if err != nil {
			return err
		}
		n := float64(grid[0] * grid[1])
		if err := b.add("M1", wireCase(gridName(grid), width), arm, "pods/s", rep, n/took.Seconds()); err != nil {
			return err
		}
		if err := b.cluster.clear(ctx, namespace); err != nil {
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

// wirePods creates the pods of a grid and returns how long it took until the last of them was seen.
func (b *bench) wirePods(ctx context.Context, namespace string, w *observer, grid [2]int, width int) (time.Duration, error) {
	c, err := b.armClient(ctx)
	if err != nil {
		return 0, err
	}
	n := grid[0] * grid[1]
	owner := metav1.OwnerReference{APIVersion: podSets.GroupVersion().String(), Kind: podSets.Kind, Name: "nobody", UID: "nobody", Controller: new(true)}
	start := time.Now()
	err = inParallel(ctx, n, width, func(ctx context.Context, i int) error {
		pod := template("wire", corev1.RestartPolicyAlways, "sleep", "3600")
		return c.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprintf("wire-pod%d", i), Labels: pod.Labels, OwnerReferences: []metav1.OwnerReference{owner},
			},
			Spec: pod.Spec,
		})
	})
	if err != nil {
		return 0, err
	}
	last, err := w.await(ctx, n, patience)
	return last.Sub(start), err
}
