// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"math/rand/v2"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// injector is one kind of fault. inject prepares it, waits for the moment, and returns after its end, which it brings about even if ctx
// ends.
type injector struct {
	name   string
	inject func(ctx context.Context, random *rand.Rand, moment func()) error
}

// nemesis injects one fault after the other.
type nemesis struct {
	court  *court
	faults []injector
	random *rand.Rand
	often  time.Duration // the longest pause between faults
	sharp  bool          // half of the faults begin when the first pods of a wave may start
}

// run injects faults until ctx ends, each kind equally often.
func (n *nemesis) run(ctx context.Context) {
	for {
		for _, i := range n.random.Perm(len(n.faults)) {
			pause(ctx, seconds(n.random, 0, int(n.often.Seconds())))
			if ctx.Err() != nil {
				return
			}
			n.inject(ctx, n.faults[i])
		}
	}
}

func (n *nemesis) inject(ctx context.Context, next injector) {
	sharp, later := n.sharp && n.random.IntN(2) == 0, time.Duration(n.random.IntN(50))*time.Millisecond
	if sharp { // A wave is due at a full minute.
		pause(ctx, time.Until(time.Now().Add(time.Second).Truncate(time.Minute).Add(time.Minute-500*time.Millisecond)))
	}
	moment := func() {
		if sharp {
			n.court.nextStart(ctx)
			pause(ctx, later)
		}
		n.court.journal.add(event{kind: fault, text: next.name})
	}
	n.court.journal.add(event{kind: fault, text: next.name + ": " + outcome(next.inject(ctx, n.random, moment))})
}

// seconds draws a duration.
func seconds(random *rand.Rand, from, to int) time.Duration {
	return time.Duration(from*1000+random.IntN((to-from)*1000)) * time.Millisecond
}

// replaceManagers deletes the pods of the operator by force.
func (c *court) replaceManagers(ctx context.Context) error {
	return c.client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(operatorNamespace), client.GracePeriodSeconds(0))
}

// ofManagers and ofCluster have the faults that need no more than the API.
func (c *court) ofManagers() []injector {
	return []injector{{"the pods of the operator deleted by force", func(ctx context.Context, _ *rand.Rand, moment func()) error {
		moment()
		return c.replaceManagers(ctx)
	}}}
}

func (c *court) ofCluster() []injector {
	return []injector{
		{"a quota forbids pods", func(ctx context.Context, random *rand.Rand, moment func()) error {
			moment()
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "judge", Namespace: c.namespace}}
			quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
			return c.exists(ctx, seconds(random, 4, 15), quota)
		}},
		{"an admission policy denies new pods", func(ctx context.Context, random *rand.Rand, moment func()) error {
			moment()
			return c.exists(ctx, seconds(random, 4, 15), c.denial(admissionregistrationv1.Create)...)
		}},
		{"an admission policy denies changes of pods", func(ctx context.Context, random *rand.Rand, moment func()) error {
			moment()
			return c.exists(ctx, seconds(random, 4, 15), c.denial(admissionregistrationv1.Update)...)
		}},
	}
}

// denial denies an operation on pods.
func (c *court) denial(operation admissionregistrationv1.OperationType) []client.Object {
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "judge"}}
	policy.Spec = admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: c.namespace}},
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{operation},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}}},
		},
		Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "the judge denies it"}},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "judge"}}
	binding.Spec.PolicyName = "judge"
	binding.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}
	return []client.Object{policy, binding}
}

// exists creates objects and deletes them after a time.
func (c *court) exists(ctx context.Context, during time.Duration, objects ...client.Object) error {
	for _, object := range objects {
		if err := client.IgnoreAlreadyExists(c.client.Create(ctx, object)); err != nil {
			return err
		}
	}
	pause(ctx, during)
	c.remove(context.WithoutCancel(ctx), objects...)
	return nil
}

// remove deletes objects, however long it takes.
func (c *court) remove(ctx context.Context, objects ...client.Object) {
	for _, object := range objects {
		for client.IgnoreNotFound(c.client.Delete(ctx, object)) != nil {
			pause(ctx, 300*time.Millisecond)
		}
	}
}
