// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// plan is what one run does, and what its user does. It follows from the seed.
type plan struct {
	args   []string // of the command
	lead   time.Duration
	action string
	offset time.Duration // of the action, from the time of the run
	later  time.Duration // of an action on the pod, from the time when it is seen
	runs   bool          // an action on the pod waits until the command has begun
}

// What a user of a run may do. Half of them do nothing.
const (
	actNothing  = "nothing"
	actDelete   = "deletes the pod"
	actForce    = "deletes the pod by force"
	actEvict    = "evicts the pod"
	actStrip    = "deletes the pod by force, without its finalizers"
	actPostpone = "postpones the run"
	actAnnotate = "annotates the object for 2 s"
	actCancel   = "cancels the run"
	actRemove   = "deletes the object"
)

var actions = []string{actDelete, actForce, actEvict, actStrip, actPostpone, actAnnotate, actCancel, actRemove}

func newPlan(random *rand.Rand) *plan {
	works := [][]string{
		{"-takes=1s"},
		{"-takes=0s", "-code=3"},
		{"-takes=8s"},
		{"-takes=8s", "-ignore-term"},
		{"-takes=8s", "-ignore-term"},
		{"-takes=6s", "-interrupted=0"},
		{"-takes=4s", "-code=9"},
	}
	p := &plan{args: works[random.IntN(len(works))], action: actNothing}
	p.lead = seconds(random, 4, 20)
	if random.IntN(2) == 0 {
		p.action = actions[random.IntN(len(actions))]
	}
	p.offset = seconds(random, -4, 10)
	if random.IntN(2) == 0 {
		p.offset = seconds(random, -1, 1) // near the start
	}
	p.later = seconds(random, 0, 5)
	p.runs = random.IntN(2) == 0
	return p
}

// template is the pod of a run. An unreachable node loses it after seconds, and not after the default of 5 minutes.
// On the lab, pods use the network of the node, which makes their starts cheaper.
func (p *plan) template(c *court, name string) corev1.PodTemplateSpec {
	seconds, grace := int64(3), int64(4)
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{label: name}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace, HostNetwork: c.onLab,
			AutomountServiceAccountToken: new(bool),
			Tolerations: []corev1.Toleration{
				{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
				{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
			},
			Containers: []corev1.Container{{
				Name: "command", Image: c.image, Args: append([]string{"-counter=" + c.counter, "-name=" + name}, p.args...),
				Env: []corev1.EnvVar{field("POD_NAME", "metadata.name"), field("POD_UID", "metadata.uid")},
			}},
		},
	}
}

// act does what the user of the run does, once. It returns what came of it.
func (c *court) act(ctx context.Context, r *run) string {
	object := r.adapter.object(c.meta(r), r.due, corev1.PodTemplateSpec{})
	patch := func(text string) error {
		return c.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(text)))
	}
	var err error
	switch r.plan.action {
	case actDelete, actForce, actEvict, actStrip:
		return c.actOnPods(ctx, r)
	case actPostpone:
		if r.adapter.postpone == nil {
			return "does not apply"
		}
		due := r.due.Add(5 * time.Second)
		if err = patch(r.adapter.postpone(due)); err == nil {
			r.setDue(due)
		}
	case actAnnotate:
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); pause(ctx, 15*time.Millisecond) {
			err = patch(fmt.Sprintf(`{"metadata":{"annotations":{"judge":"%d"}}}`, time.Now().UnixNano()))
		}
	case actCancel:
		err = patch(r.adapter.cancel)
	case actRemove:
		r.setGone()
		err = c.client.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground))
	}
	return outcome(err)
}

// actOnPods waits for a pod of the run, or for its command, and for a moment of its life.
func (c *court) actOnPods(ctx context.Context, r *run) string {
	pods := &corev1.PodList{}
	for end := time.Now().Add(90 * time.Second); len(pods.Items) == 0 || r.plan.runs && !c.journal.has(r.name, begun); {
		if time.Now().After(end) || r.isDone() || ctx.Err() != nil {
			return "too late"
		}
		_ = c.client.List(ctx, pods, client.InNamespace(c.namespace), client.MatchingLabels{label: r.name}) // The next one may succeed.
		pause(ctx, 500*time.Millisecond)
	}
	pause(ctx, r.plan.later)
	var err error
	switch p := &pods.Items[0]; r.plan.action {
	case actDelete:
		err = c.client.Delete(ctx, p)
	case actForce:
		err = c.client.Delete(ctx, p, client.GracePeriodSeconds(0))
	case actEvict:
		err = c.client.SubResource("eviction").Create(ctx, p, &policyv1.Eviction{})
	case actStrip:
		err = errors.Join(
			c.client.Patch(ctx, p, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))),
			c.client.Delete(ctx, p, client.GracePeriodSeconds(0)))
	}
	return outcome(err)
}

func outcome(err error) string {
	if err != nil {
		return err.Error()
	}
	return "done"
}

// pause waits, or ends earlier with ctx.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
