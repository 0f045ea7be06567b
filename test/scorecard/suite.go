// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// suite is the environment of one test: a client, a namespace, the objects that it created, and its log.
type suite struct {
	client    client.Client
	namespace string
	created   []client.Object
	log       []string
}

// saw adds a line to the log of the test.
func (s *suite) saw(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// meta returns metadata with a generated name, so that runs of the tests do not conflict.
func (s *suite) meta(prefix string) metav1.ObjectMeta {
	return metav1.ObjectMeta{GenerateName: "scorecard-" + prefix + "-", Namespace: s.namespace}
}

// create creates an object that clean deletes.
func (s *suite) create(ctx context.Context, object client.Object) error {
	if err := s.client.Create(ctx, object); err != nil {
		return fmt.Errorf("creating a %T: %w", object, err)
	}
	s.created = append(s.created, object)
	s.saw("created %s", object.GetName())
	return nil
}

// clean deletes the objects of the test, even after its time limit.
func (s *suite) clean() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, object := range s.created {
		err := s.client.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s: %w", object.GetName(), err)
		}
	}
	return nil
}

// eventually reads object until holds returns "". After the time limit, its last result is the error.
func (s *suite) eventually(ctx context.Context, object client.Object, what string, holds func(pods []corev1.Pod) string) error {
	against := ""
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		against = s.look(ctx, object, holds)
		return against == "", nil
	})
	if err != nil {
		return fmt.Errorf("%s: waiting for %s: %s: %w", object.GetName(), what, against, err)
	}
	s.saw("%s: %s", object.GetName(), what)
	return nil
}

// look reads object and its pods and returns the result of holds, or the error of a read.
func (s *suite) look(ctx context.Context, object client.Object, holds func(pods []corev1.Pod) string) string {
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err.Error()
	}
	pods, err := s.podsOf(ctx, object)
	if err != nil {
		return err.Error()
	}
	return holds(pods)
}

// podsOf lists the pods that owner controls and that are not terminating.
func (s *suite) podsOf(ctx context.Context, owner client.Object) ([]corev1.Pod, error) {
	var all corev1.PodList
	if err := s.client.List(ctx, &all, client.InNamespace(s.namespace)); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	var pods []corev1.Pod
	for _, pod := range all.Items {
		if metav1.IsControlledBy(&pod, owner) && pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}
