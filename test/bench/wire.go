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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// wire is the arm W: a bare client that creates the same pods, with 16, 32 and 64 requests in flight. The best of them is the
// limit of this API server.
func (b *bench) wire(ctx context.Context, n, rep int, what string) error {
	if len(b.arms) > 0 && !slices.Contains(b.arms, "W") {
		return nil
	}
	var best float64
	for _, width := range []int{16, 32, 64} {
		rate, err := b.wireRate(ctx, n, width)
		if err != nil {
			return err
		}
		if err := b.add("M1", fmt.Sprintf("%s, %d in flight", what, width), "W", "pods/s", rep, rate); err != nil {
			return err
		}
		best = max(best, rate)
	}
	return b.add("M1", what, "W", "pods/s", rep, best)
}

func (b *bench) wireRate(ctx context.Context, n, width int) (float64, error) {
	// Built as the other arms build theirs: one connection, protobuf.
	config := rest.CopyConfig(b.cluster.arm)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return 0, err
	}
	namespace, w, err := b.cluster.watchedNamespace(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer w.stop()
	yes := true
	owner := metav1.OwnerReference{APIVersion: "app.example.com/v1alpha1", Kind: "PodSet", Name: "nobody", UID: "nobody", Controller: &yes}
	start := time.Now()
	err = inParallel(ctx, n, width, func(ctx context.Context, i int) error {
		pod := template("wire", corev1.RestartPolicyAlways, "sleep", "3600")
		_, err := clientset.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("wire-pod%d", i), Labels: pod.Labels, OwnerReferences: []metav1.OwnerReference{owner},
			},
			Spec: pod.Spec,
		}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return 0, err
	}
	last, err := w.await(ctx, n, patience)
	if err != nil {
		return 0, err
	}
	return float64(n) / last.Sub(start).Seconds(), b.cluster.clear(ctx, namespace)
}
