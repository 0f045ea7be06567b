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

// The memory of an arm is read when it has had nothing to do for memoryRest, and settledAfter its start at the earliest: the operator
// returns the garbage of its start after 30 s.
const memoryRest, settledAfter = 5 * time.Second, 35 * time.Second

// anonymousOnly ends the names of the cases without the pages of the program's file, which any process of it shares.
const anonymousOnly = ", without the program's file"

// The ends of the names of the cases about a start.
const atPeak, withoutForeign = ", peak", ", at rest without them"

// memory is M7: the resident memory of a new process next to many pods of its own, and next to those of others.
func (b *bench) memory(ctx context.Context) error {
	for rep := range b.sizes.reps {
		for _, a := range b.pick(operatorArm, replicaSetTuned) {
			for _, owned := range b.sizes.owned {
				if rep >= b.sizes.repsOf(owned) {
					continue
				}
				if err := b.measureMemory(ctx, a, owned, fmt.Sprintf("%d pods of its own", owned), rep); err != nil {
					return err
				}
			}
		}
	}
	return b.memoryNextToForeign(ctx)
}

// memoryNextToForeign measures the programs with the smallest number of pods of their own, while there are many of others.
func (b *bench) memoryNextToForeign(ctx context.Context) error {
	namespace, err := b.cluster.namespace(ctx)
	if err != nil {
		return err
	}
	if err := b.addForeign(ctx, namespace, b.sizes.foreign, 0); err != nil {
		return err
	}
	owned := b.sizes.owned[0]
	for rep := range b.sizes.repsOf(many) { // The foreign pods are created only once.
		for _, a := range b.pick(operatorArm, replicaSetTuned) {
			if err := b.measureMemory(ctx, a, owned, fmt.Sprintf("%d of its own, %d foreign", owned, b.sizes.foreign), rep); err != nil {
				return err
			}
		}
	}
	return b.cluster.clear(ctx, namespace)
}

// measureMemory measures a program with so many pods of its own, in sets of 10, and deletes them.
func (b *bench) measureMemory(ctx context.Context, a *arm, owned int, what string, rep int) error {
	namespace, err := b.populateAndStop(ctx, a, owned/10, 10)
	if err != nil {
		return err
	}
	p, err := b.start(a)
	if err != nil {
		return err
	}
	defer p.kill()
	profiled := p.profile(ctx, "M7 "+what)
	rss, anonymous, err := p.memoryAtRest(ctx)
	if err := errors.Join(err, profiled()); err != nil {
		return err
	}
	p.kill()
	return errorsOf(
		b.add("M7", what, a.name, "MiB", rep, rss),
		b.add("M7", what+anonymousOnly, a.name, "MiB", rep, anonymous),
		b.cluster.clear(ctx, namespace),
	)
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

// memoryAtRest waits until the process is at rest, and returns its resident memory with and without the program's file.
func (p *process) memoryAtRest(ctx context.Context) (rss, anonymous float64, err error) {
	if err := errorsOf(p.atRest(ctx), p.settle(ctx)); err != nil {
		return 0, 0, err
	}
	if rss, err = p.resident("VmRSS"); err != nil {
		return 0, 0, err
	}
	anonymous, err = p.resident("RssAnon")
	return rss, anonymous, err
}

// settle waits until the memory of a process that is at rest may be read.
func (p *process) settle(ctx context.Context) error {
	return pause(ctx, max(memoryRest, settledAfter-time.Since(p.started)))
}

// peaks is the other half of M7: the largest memory of the operator from its start until it is at rest, next to many large foreign
// pods. It is compared with the memory at rest without them: next to them, garbage of the start is still resident.
func (b *bench) peaks(lists string) func(context.Context) error {
	return func(ctx context.Context) error {
		if !b.wanted(operatorArm.name) {
			return nil
		}
		for _, bytes := range b.sizes.bytes {
			namespace, err := b.populateAndStop(ctx, operatorArm, 1, 1)
			if err != nil {
				return err
			}
			what := fmt.Sprintf("starts next to %d foreign pods of %.1f KB, %s", b.sizes.large, float64(bytes)/1000, lists)
			if err := b.measureStarts(ctx, what+withoutForeign, (*process).anonymousAtRest); err != nil {
				return err
			}
			if err := b.addForeign(ctx, namespace, b.sizes.large, bytes); err != nil {
				return err
			}
			if err := b.measureStarts(ctx, what+atPeak, (*process).anonymousPeak); err != nil {
				return err
			}
			if err := b.cluster.clear(ctx, namespace); err != nil {
				return err
			}
		}
		return nil
	}
}

// measureStarts starts the operator several times and adds what it measures of each process.
func (b *bench) measureStarts(ctx context.Context, what string, measure func(*process, context.Context) (float64, error)) error {
	for rep := range b.sizes.repsOf(many) {
		p, err := b.start(operatorArm)
		if err != nil {
			return err
		}
		value, err := measure(p, ctx)
		p.kill()
		if err != nil {
			return err
		}
		if err := b.add("M7", what, p.name, "MiB", rep, value); err != nil {
			return err
		}
	}
	return nil
}

func (p *process) anonymousAtRest(ctx context.Context) (float64, error) {
	_, anonymous, err := p.memoryAtRest(ctx)
	return anonymous, err
}

// anonymousPeak returns the largest memory of the process without the program's file until it is at rest. The kernel records a peak only
// with the file, so the memory is read every 50 ms.
func (p *process) anonymousPeak(ctx context.Context) (peak float64, err error) {
	rests := make(chan struct{})
	err = together(ctx,
		func(ctx context.Context) error {
			defer close(rests)
			return p.atRest(ctx)
		},
		func(ctx context.Context) error {
			return eventually(ctx, patience, p.name+" to come to rest", func() (bool, error) {
				now, err := p.resident("RssAnon")
				peak = max(peak, now)
				select {
				case <-rests:
					return true, err
				default:
					return false, err
				}
			})
		},
	)
	return peak, err
}
