// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// memoryRest is how long an arm has nothing to do before its memory is read.
const memoryRest = 5 * time.Second

// anonymousOnly ends the names of the cases without the pages of the program's file, which any process of it shares.
const anonymousOnly = ", without the program's file"

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
			if err := b.measureMemory(ctx, a, owned, fmt.Sprintf("%d pods of its own", owned)); err != nil {
				return err
			}
			if owned == b.sizes.owned[0] {
				if err := b.addForeign(ctx, namespace); err != nil {
					return err
				}
				if err := b.measureMemory(ctx, a, b.sizes.foreign, fmt.Sprintf("%d of its own, %d foreign", owned, b.sizes.foreign)); err != nil {
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

func (b *bench) measureMemory(ctx context.Context, a *arm, pods int, what string) error {
	for rep := range b.sizes.repsOf(pods) {
		p, err := b.start(a)
		if err != nil {
			return err
		}
		profiled := p.profile(ctx, "M7 "+what)
		err = p.atRest(ctx)
		var rss, anonymous float64
		if err == nil {
			err = pause(ctx, memoryRest)
		}
		if err == nil {
			rss, err = p.resident("VmRSS")
		}
		if err == nil {
			anonymous, err = p.resident("RssAnon")
		}
		err = errors.Join(err, profiled())
		p.kill()
		if err != nil {
			return err
		}
		err = errorsOf(
			b.add("M7", what, a.name, "MiB", rep, rss),
			b.add("M7", what+anonymousOnly, a.name, "MiB", rep, anonymous),
		)
		if err != nil {
			return err
		}
	}
	return nil
}
