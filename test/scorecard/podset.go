// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
)

// podSetScales checks that a PodSet follows spec.replicas up and down and lists its pods.
func podSetScales(ctx context.Context, s *suite) error {
	set, err := s.createPodSet(ctx, "scales", 2)
	if err != nil {
		return err
	}
	for _, replicas := range []int32{2, 4, 1} {
		before := set.DeepCopy()
		set.Spec.Replicas = &replicas
		if err := s.client.Patch(ctx, set, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("scaling %s to %d: %w", set.Name, replicas, err)
		}
		if err := s.eventuallyReady(ctx, set, replicas); err != nil {
			return err
		}
	}
	return nil
}

// podSetReplacesPods checks that the operator replaces a deleted pod of a PodSet.
func podSetReplacesPods(ctx context.Context, s *suite) error {
	set, err := s.createPodSet(ctx, "replaces-pods", 2)
	if err != nil {
		return err
	}
	if err := s.eventuallyReady(ctx, set, 2); err != nil {
		return err
	}
	pods, err := s.podsOf(ctx, set)
	if err != nil {
		return err
	}
	victim := pods[0]
	if err := s.client.Delete(ctx, &victim); err != nil {
		return fmt.Errorf("deleting pod %s: %w", victim.Name, err)
	}
	s.saw("deleted pod %s", victim.Name)
	return s.eventually(ctx, set, "2 Ready pods without the deleted one", func(pods []corev1.Pod) string {
		if slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.UID == victim.UID }) {
			return "the deleted pod still exists"
		}
		return notReady(set, pods, 2)
	})
}

func (s *suite) createPodSet(ctx context.Context, name string, replicas int32) (*appv1alpha1.PodSet, error) {
	set := &appv1alpha1.PodSet{ObjectMeta: s.meta(name), Spec: appv1alpha1.PodSetSpec{Replicas: &replicas}}
	return set, s.create(ctx, set)
}

func (s *suite) eventuallyReady(ctx context.Context, set *appv1alpha1.PodSet, replicas int32) error {
	return s.eventually(ctx, set, fmt.Sprintf("%d Ready pods", replicas), func(pods []corev1.Pod) string {
		return notReady(set, pods, replicas)
	})
}

// notReady returns why set does not have exactly this many Ready pods or does not list them, or "".
func notReady(set *appv1alpha1.PodSet, pods []corev1.Pod, replicas int32) string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	switch {
	case set.Status.ObservedGeneration != set.Generation:
		return "the status is of an older spec"
	case set.Status.ReadyReplicas != replicas || len(pods) != int(replicas):
		return fmt.Sprintf("%d of %d pods are Ready, want %d of %d", set.Status.ReadyReplicas, len(pods), replicas, replicas)
	case !slices.Equal(set.Status.PodNames, names):
		return fmt.Sprintf("status.podNames is %v, the pods are %v", set.Status.PodNames, names)
	}
	return ""
}
