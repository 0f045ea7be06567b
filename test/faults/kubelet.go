// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kubelet stands in for the scheduler and the kubelet: it binds pods, makes them Ready, ends their commands, and removes pods
// that are being deleted.
type Kubelet struct {
	admin client.Client
	// Exit returns the exit code of a pod's command. Nil means that the command does not end. Pods with restartPolicy Always do not exit.
	Exit func(*corev1.Pod) *int32
}

// RunKubelet starts a kubelet, which replaces an earlier one. It acts on every pod event and, once a second, on all pods.
func (e *Env) RunKubelet(k *Kubelet) *Kubelet {
	k.admin = e.User
	e.mu.Lock()
	first := e.kubelet == nil
	e.kubelet = k
	e.mu.Unlock()
	if first {
		e.background.Go(func() {
			ticker := time.NewTicker(time.Second)
			defer ticker.Stop()
			for {
				e.syncKubelet()
				select {
				case <-e.ctx.Done():
					return
				case <-ticker.C:
				}
			}
		})
	}
	return k
}

func (e *Env) syncKubelet() {
	for _, pod := range e.Pods() {
		e.currentKubelet().sync(e.ctx, watch.Modified, pod)
	}
}

func (e *Env) currentKubelet() *Kubelet {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.kubelet
}

// sync handles a pod as the observer saw it. It ignores errors: if the pod has changed meanwhile, another event follows.
func (k *Kubelet) sync(ctx context.Context, kind watch.EventType, seen *corev1.Pod) {
	if kind == watch.Deleted {
		return
	}
	if act := k.next(seen); act != nil {
		_ = act(ctx, seen.DeepCopy())
	}
}

// next returns the kubelet's next action for a pod, or nil if there is none until the pod or the test changes something.
func (k *Kubelet) next(pod *corev1.Pod) func(context.Context, *corev1.Pod) error {
	switch {
	case pod.DeletionTimestamp != nil && ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0:
		return nil // A pod without a grace period is left only until its finalizers are removed.
	case pod.DeletionTimestamp != nil:
		return k.remove
	case len(pod.Spec.SchedulingGates) > 0:
		return nil
	case pod.Spec.NodeName == "":
		return k.bind
	case k.isOver(pod):
		return k.exceed
	case pod.Status.Phase == corev1.PodPending:
		return k.run
	case pod.Status.Phase == corev1.PodRunning && pod.Spec.RestartPolicy != corev1.RestartPolicyAlways && k.Exit != nil:
		if code := k.Exit(pod); code != nil {
			return func(ctx context.Context, pod *corev1.Pod) error { return k.end(ctx, pod, *code) }
		}
	}
	return nil
}

func (k *Kubelet) remove(ctx context.Context, pod *corev1.Pod) error {
	return k.admin.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
}

func (k *Kubelet) bind(ctx context.Context, pod *corev1.Pod) error {
	return k.admin.SubResource("binding").Create(ctx, pod, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "node"},
	})
}

// isOver reports whether the deadline of a pod is over. Only a pod whose start time is known has a deadline.
func (k *Kubelet) isOver(pod *corev1.Pod) bool {
	limit, start := pod.Spec.ActiveDeadlineSeconds, pod.Status.StartTime
	finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return !finished && limit != nil && start != nil && time.Since(start.Time) > time.Duration(*limit)*time.Second
}

// exceed ends a pod at its deadline.
func (k *Kubelet) exceed(ctx context.Context, pod *corev1.Pod) error {
	pod.Status.Reason = "DeadlineExceeded"
	return k.end(ctx, pod, 143)
}

func (k *Kubelet) run(ctx context.Context, pod *corev1.Pod) error {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.StartTime = ptr.To(metav1.Now())
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return k.admin.Status().Update(ctx, pod)
}

func (k *Kubelet) end(ctx context.Context, pod *corev1.Pod, code int32) error {
	reason := "Completed"
	pod.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		pod.Status.Phase, reason = corev1.PodFailed, "Error"
	}
	ended := metav1.Now()
	pod.Status.Conditions = nil
	pod.Status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, Reason: reason, FinishedAt: ended, ContainerID: "containerd://" + c.Name,
			}},
		})
	}
	return k.admin.Status().Update(ctx, pod)
}

// ExitWith ends every command with a code.
func ExitWith(code int32) func(*corev1.Pod) *int32 {
	return func(*corev1.Pod) *int32 { return ptr.To(code) }
}
