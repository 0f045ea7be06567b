// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// memoryRest is how long an arm has nothing to do before its memory is read.
const memoryRest = 5 * time.Second

// memory is M7: the resident memory of a fresh process beside many pods, its own or those of others.
func (b *bench) memory(ctx context.Context) error {
	for _, a := range b.pick(operatorArm, replicaSetTuned) {
		for _, owned := range b.sizes.owned {
			p, err := b.startWarm(ctx, a)
			if err != nil {
				return err
			}
			namespace, err := b.populate(ctx, p, owned/10, 10)
			p.kill()
			if err != nil {
				return err
			}
			if err := b.measureMemory(ctx, a, fmt.Sprintf("%d pods of its own", owned)); err != nil {
				return err
			}
			if owned == b.sizes.owned[0] {
				if err := b.addForeign(ctx, namespace); err != nil {
					return err
				}
				if err := b.measureMemory(ctx, a, fmt.Sprintf("%d of its own, %d foreign", owned, b.sizes.foreign)); err != nil {
					return err
				}
			}
			if err := b.cluster.clear(ctx, namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) addForeign(ctx context.Context, namespace string) error {
	return inParallel(ctx, b.sizes.foreign, inFlight, func(ctx context.Context, i int) error {
		pod := template("foreign", corev1.RestartPolicyAlways, "sleep", "3600")
		return b.cluster.admin.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("foreign-%d", i), Labels: pod.Labels}, Spec: pod.Spec,
		})
	})
}

func (b *bench) measureMemory(ctx context.Context, a *arm, what string) error {
	for rep := range b.sizes.reps {
		p, err := b.start(a)
		if err != nil {
			return err
		}
		err = p.atRest(ctx)
		var rss float64
		if err == nil {
			err = pause(ctx, memoryRest)
		}
		if err == nil {
			rss, err = p.rss()
		}
		p.kill()
		if err != nil {
			return err
		}
		if err := b.add("M7", what, a.name, "MiB", rep, rss); err != nil {
			return err
		}
	}
	return nil
}
