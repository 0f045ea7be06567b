// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// memoryRest is how long an arm has nothing to do before its memory is read.
const memoryRest = 5 * time.Second

// anonymousOnly ends the names of the cases without the pages of the program's file, which any process of it shares.
const anonymousOnly = ", without the program's file"

// The ends of the names of the cases about a start.
const atPeak, afterPeak = ", peak", ", at rest"

// memory is M7: the resident memory of a new process next to many pods, its own or those of others.
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
				if err := b.addForeign(ctx, namespace, b.sizes.foreign, 0); err != nil {
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

// addForeign creates pods that are of no arm, each at least so many bytes large.
func (b *bench) addForeign(ctx context.Context, namespace string, pods, bytes int) error {
	pod := template("foreign", corev1.RestartPolicyAlways, "sleep", "3600")
	foreign := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: pod.Labels}, Spec: pod.Spec}
	if err := b.enlarge(ctx, &foreign, bytes); err != nil {
		return err
	}
	return inParallel(ctx, pods, inFlight, func(ctx context.Context, i int) error {
		pod := foreign.DeepCopy()
		pod.Name = fmt.Sprintf("foreign-%d", i)
		return b.cluster.admin.Create(ctx, pod)
	})
}

// removeForeign deletes the pods of addForeign one by one: the deletion of so many large ones can outlast a request.
func (b *bench) removeForeign(ctx context.Context, namespace string, pods int) error {
	return inParallel(ctx, pods, inFlight, func(ctx context.Context, i int) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("foreign-%d", i)}}
		return b.cluster.admin.Delete(ctx, pod, client.GracePeriodSeconds(0))
	})
}

// enlarge adds environment variables to a pod until the API server shows it in so many bytes of JSON.
func (b *bench) enlarge(ctx context.Context, pod *corev1.Pod, bytes int) error {
	const step = 5
	for {
		shown := pod.DeepCopy()
		shown.Name = "foreign"
		if err := b.cluster.admin.Create(ctx, shown, client.DryRunAll); err != nil {
			return err
		}
		data, err := json.Marshal(shown)
		if err != nil || len(data) >= bytes {
			return err
		}
		c := &pod.Spec.Containers[0]
		for range step {
			name := fmt.Sprintf("SETTING_%d", len(c.Env))
			c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: "the value of " + name})
		}
	}
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

// peaks is the other half of M7: the largest resident memory of the operator from its start until it is at rest, next to
// many large foreign pods.
func (b *bench) peaks(lists string) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, a := range b.pick(operatorArm) {
			for _, bytes := range b.sizes.bytes {
				p, err := b.startWarm(ctx, a)
				if err != nil {
					return err
				}
				namespace, err := b.populate(ctx, p, 1, 1)
				p.kill()
				if err != nil {
					return err
				}
				if err := b.addForeign(ctx, namespace, b.sizes.large, bytes); err != nil {
					return err
				}
				what := fmt.Sprintf("starts next to %d foreign pods of %.1f KB, %s", b.sizes.large, float64(bytes)/1000, lists)
				if err := b.measurePeak(ctx, a, what); err != nil {
					return err
				}
				if err := errorsOf(b.removeForeign(ctx, namespace, b.sizes.large), b.cluster.clear(ctx, namespace)); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func (b *bench) measurePeak(ctx context.Context, a *arm, what string) error {
	for rep := range b.sizes.repsOf(b.sizes.large) {
		p, err := b.start(a)
		if err != nil {
			return err
		}
		var peak, rest float64
		if err = p.atRest(ctx); err == nil {
			peak, err = p.resident("VmHWM")
		}
		if err == nil {
			err = pause(ctx, memoryRest)
		}
		if err == nil {
			rest, err = p.resident("VmRSS")
		}
		p.kill()
		err = errorsOf(err,
			b.add("M7", what+atPeak, a.name, "MiB", rep, peak),
			b.add("M7", what+afterPeak, a.name, "MiB", rep, rest),
		)
		if err != nil {
			return err
		}
	}
	return nil
}
