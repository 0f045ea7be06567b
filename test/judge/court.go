// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// court runs the workload, and observes it.
type court struct {
	client    client.Client
	namespace string
	campaign  string // ends the name of each run, so that late pods of an earlier campaign are not taken for runs of this one
	image     string // of the command
	counter   string // HOST:PORT, as pods reach it
	onLab     bool
	journal   *journal

	mutex sync.Mutex
	runs  []*run
	users sync.WaitGroup    // of all runs
	pods  map[string]string // what the journal has last of each pod, by its UID
	start chan struct{}     // receives if a pod may start
}

// run is one run of a command. The mutex of the court protects what changes.
type run struct {
	adapter *adapter
	name    string
	plan    *plan
	court   *court
	due     time.Time
	created time.Time // or zero
	gone    bool
	claim   claim
}

func (r *run) setDue(due time.Time) { r.court.locked(func() { r.due = due }) }
func (r *run) setGone()             { r.court.locked(func() { r.gone = true }) }
func (r *run) isDone() (done bool)  { r.court.locked(func() { done = r.claim.done }); return done }

func (c *court) locked(f func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	f()
}

func (c *court) meta(r *run) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: r.name, Namespace: c.namespace, Labels: map[string]string{label: r.name}}
}

// wave begins count runs of each adapter. Half of them are due at the same time, the others within half a minute, except those of CronJobs.
func (c *court) wave(ctx context.Context, random *rand.Rand, number, count int, due time.Time) {
	for i := range count {
		for _, a := range adapters {
			r := &run{adapter: a, name: fmt.Sprintf("%s-%d-%d-%s", a.name, number, i, c.campaign), plan: newPlan(random), court: c, due: due}
			if i%2 == 1 && a.name != "cronjob" {
				r.due = due.Add(seconds(random, 0, 30))
			}
			c.locked(func() { c.runs = append(c.runs, r) })
			c.users.Go(func() { c.live(ctx, r) })
		}
	}
}

// live creates the object of a run, and does what its user does.
func (c *court) live(ctx context.Context, r *run) {
	due, create := r.due, r.due
	if r.adapter.waits {
		create = due.Add(-r.plan.lead)
	}
	pause(ctx, time.Until(create))
	object := r.adapter.object(c.meta(r), due, r.plan.template(c, r.name))
	for ctx.Err() == nil {
		err := c.client.Create(ctx, object)
		if err == nil || apierrors.IsAlreadyExists(err) {
			c.locked(func() { r.created = time.Now() })
			break
		}
		pause(ctx, 300*time.Millisecond)
	}
	c.journal.add(event{name: r.name, kind: user, text: fmt.Sprintf("creates it, due %s, %v", due.UTC().Format(time.TimeOnly), r.plan.args)})
	if r.plan.action == actNothing {
		return
	}
	pause(ctx, time.Until(due.Add(r.plan.offset)))
	c.journal.add(event{name: r.name, kind: user, text: r.plan.action})
	c.journal.add(event{name: r.name, kind: user, text: r.plan.action + ": " + c.act(ctx, r)})
}

// observe reads what the objects claim every two seconds until ctx ends. What it cannot read, it reads the next time.
func (c *court) observe(ctx context.Context) {
	for ctx.Err() == nil {
		c.ask(ctx)
		pause(ctx, 2*time.Second)
	}
}

// ask reads what all objects claim. It returns false if it could not read all of them.
func (c *court) ask(ctx context.Context) bool {
	complete := true
	for _, a := range adapters {
		claims, err := a.list(ctx, c.client, c.namespace)
		if err != nil {
			complete = false
			continue
		}
		c.locked(func() { c.hear(a, claims) })
	}
	return complete
}

// watch records each change of each pod until ctx ends. A pod that is read only now and then may show how its command ended, and be gone,
// in between.
func (c *court) watch(ctx context.Context, cluster *rest.Config) error {
	cluster = rest.CopyConfig(cluster)
	cluster.Timeout = 0 // A watch has no end.
	pods, err := cache.New(cluster, cache.Options{Scheme: c.client.Scheme(), DefaultNamespaces: map[string]cache.Config{c.namespace: {}}})
	if err != nil {
		return err
	}
	informer, err := pods.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: c.look, UpdateFunc: func(_, changed any) { c.look(changed) }, DeleteFunc: c.look,
	})
	go func() { _ = pods.Start(ctx) }() // It ends with ctx.
	return err
}

// hear records the claims that changed. A deleted object keeps its last claim.
func (c *court) hear(a *adapter, claims map[string]claim) {
	for _, r := range c.runs {
		next, found := claims[r.name]
		if r.adapter != a || !found || r.claim.done && !next.done {
			continue
		}
		if next.text != r.claim.text {
			c.journal.add(event{name: r.name, kind: claimed, text: next.text})
		}
		r.claim = next
	}
}

// look records what changed of a pod: its phase, its deletion, and the end of its container.
func (c *court) look(object any) {
	p, isPod := object.(*corev1.Pod)
	if !isPod || p.Labels[label] == "" {
		return // or a pod whose last state was missed
	}
	e := event{name: p.Labels[label], kind: pod, pod: p.Name, uid: string(p.UID)}
	e.text = fmt.Sprintf("%s on %q %s", p.Status.Phase, p.Spec.NodeName, p.Status.Reason)
	if len(p.Spec.SchedulingGates) > 0 {
		e.text += " gated"
	} else if p.Spec.NodeName == "" {
		select {
		case c.start <- struct{}{}:
		default:
		}
	}
	if p.DeletionTimestamp != nil {
		e.text += " deleted"
	}
	for _, s := range p.Status.ContainerStatuses {
		if t := s.State.Terminated; t != nil {
			e.text += fmt.Sprintf(", terminated with %d %s", t.ExitCode, t.Reason)
			if t.Reason == "Error" || t.Reason == "OOMKilled" || t.Reason == "Completed" {
				e.kind, e.code = node, int(t.ExitCode)
			}
		}
	}
	if c.pods[e.uid] != e.text {
		c.pods[e.uid] = e.text
		c.journal.add(e)
	}
}

// nextStart waits until another pod may start, at most half a minute.
func (c *court) nextStart(ctx context.Context) {
	for len(c.start) > 0 {
		<-c.start
	}
	select {
	case <-c.start:
	case <-time.After(30 * time.Second):
	case <-ctx.Done():
	}
}

// tidy deletes the objects of runs that were due before a time, so that the cluster stays small.
func (c *court) tidy(ctx context.Context, before time.Time) {
	var done []*run
	c.locked(func() {
		for _, r := range c.runs {
			if r.due.Before(before) && r.claim.done && !r.gone {
				r.gone = true
				done = append(done, r)
			}
		}
	})
	for _, r := range done {
		object := r.adapter.object(c.meta(r), r.due, corev1.PodTemplateSpec{})
		_ = c.client.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground)) // The namespace goes at the end.
	}
}

// settle waits until all users and all runs are done, at most for a time, and then for a quiet period, in which nothing may begin again.
func (c *court) settle(ctx context.Context, most, quiet time.Duration) {
	c.users.Wait()
	for end := time.Now().Add(most); time.Now().Before(end) && c.waiting() > 0 && ctx.Err() == nil; {
		pause(ctx, time.Second)
	}
	pause(ctx, quiet)
	for !c.ask(ctx) && ctx.Err() == nil {
		pause(ctx, time.Second)
	}
}

// verdicts judges every run. settled is true after settle.
func (c *court) verdicts(settled bool) map[*run][]violation {
	found := map[*run][]violation{}
	c.locked(func() {
		for _, r := range c.runs {
			s := subject{retries: r.adapter.retries, due: r.due, gone: r.gone, settled: settled && r.isPromised(), claim: r.claim}
			if violations := judge(s, c.journal.of(r.name)); len(violations) > 0 {
				found[r] = violations
			}
		}
	})
	return found
}

// isPromised reports whether the command should run. Nothing is promised for an object that was never created, and a CronJob has no run for
// a time before its creation.
func (r *run) isPromised() bool {
	return !r.created.IsZero() && (r.adapter.name != "cronjob" || !r.created.After(r.due))
}

// waiting returns how many runs are not done and do not say why.
func (c *court) waiting() int {
	count := 0
	c.locked(func() {
		for _, r := range c.runs {
			if r.isPromised() && !r.gone && !r.claim.done && r.claim.waitsFor == "" {
				count++
			}
		}
	})
	return count
}
