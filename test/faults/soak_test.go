// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

var soak = flag.Duration("soak", 2*time.Minute, "how long random lives are lived")

var oneLife = flag.Uint64("life", 0, "live this life alone")

const (
	// fixedSeeds are lived first, and in every run, however slow the machine; then come lives that depend on the seed of
	// the run, one at least.
	fixedSeeds = 12
	// sideBySide is how many lives are lived at the same time.
	sideBySide = 4
	// steps is how long a life is.
	steps = 25
)

// TestSoak lives random lives: what users do, mixed with faults, then rest. The model of a life is what its user asked
// for last; the judges look at every event.
func TestSoak(t *testing.T) {
	t.Parallel()
	if *oneLife != 0 {
		newLife(t, *oneLife).live()
		return
	}
	var mu sync.Mutex
	var lived uint64
	start := time.Now()
	next := func() (seed uint64, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if lived > fixedSeeds && time.Since(start) > *soak {
			return 0, false
		}
		if lived++; lived > fixedSeeds {
			return faults.Seed() + lived, true
		}
		return lived, true
	}
	t.Run("lives", func(t *testing.T) {
		for worker := range sideBySide {
			t.Run(fmt.Sprintf("worker %d", worker), func(t *testing.T) {
				t.Parallel()
				for seed, ok := next(); ok && !t.Failed(); seed, ok = next() {
					t.Run(fmt.Sprintf("life %d", seed), func(t *testing.T) { newLife(t, seed).live() })
				}
			})
		}
	})
	fmt.Printf("random lives: %d with fixed seeds, %d with the seeds from %d on\n",
		min(lived, fixedSeeds), lived-min(lived, fixedSeeds), faults.Seed()+fixedSeeds+1)
}

// life is a world in which things happen at random.
type life struct {
	*faults.World
	random   *rand.Rand
	operator *faults.Incarnation
	old      string // a resource version of the past
}

func newLife(t *testing.T, seed uint64) *life {
	w := faults.NewWorld(t, cluster, "soak", faults.Ours)
	w.Replay = fmt.Sprintf("make soak LIFE=%d", seed)
	return &life{World: w, random: rand.New(rand.NewPCG(seed, 0))}
}

func (l *life) live() {
	l.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	l.operator = l.Start()
	l.old = version(l.World)
	for range steps {
		if l.random.IntN(3) == 0 {
			l.fault()
		} else {
			l.user()
		}
		l.Pass(time.Duration(l.random.IntN(300)) * time.Millisecond)
	}
	l.operator.Heal()
	l.operator.Release("podsets", "ats", "pods")
	l.Settle()
}

// names are few, so that what was deleted is made again.
func (l *life) name() string { return []string{"a", "b", "c"}[l.random.IntN(3)] }

// user does what a user does; that an object is not there, or cannot be changed any more, is no news to a user.
func (l *life) user() {
	ctx, ns := l.Context(), metav1.ObjectMeta{Name: l.name(), Namespace: l.Namespace}
	set, a := &appv1alpha1.PodSet{ObjectMeta: ns}, &cnatv1alpha1.At{ObjectMeta: ns}
	switch l.random.IntN(11) {
	case 0, 1:
		set.Spec.Replicas = ptr.To(1 + l.random.Int32N(10))
		l.note("user creates set %s with %d replicas", set.Name, *set.Spec.Replicas)
		_ = l.User.Create(ctx, set)
	case 2, 3:
		l.patch(set, fmt.Sprintf(`{"spec":{"replicas":%d}}`, 1+l.random.IntN(10)))
	case 4:
		l.patch(set, fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"v%d"}]}}}}`, l.random.IntN(3)))
	case 5:
		policies := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground}
		policy := policies[l.random.IntN(2)]
		l.note("user deletes set %s, %s", set.Name, policy)
		_ = l.User.Delete(ctx, set, client.PropagationPolicy(policy))
	case 6:
		if pods := l.Pods(); len(pods) > 0 { // No pod of an At: what its end was nobody could say.
			if pod := pods[l.random.IntN(len(pods))]; pod.Labels["app"] != "" {
				l.note("user deletes pod %s", pod.Name)
				_ = l.User.Delete(ctx, pod.DeepCopy(), client.GracePeriodSeconds(int64(l.random.IntN(2))))
			}
		}
	case 7:
		a.Spec = cnatv1alpha1.AtSpec{Schedule: fmt.Sprintf("now + %d seconds", l.random.IntN(4)), Command: "echo YAY"}
		a.Spec.Suspend = ptr.To(l.random.IntN(4) == 0)
		l.note("user creates At %s, %s, suspended: %t", a.Name, a.Spec.Schedule, *a.Spec.Suspend)
		_ = l.User.Create(ctx, a)
	case 8:
		switch l.random.IntN(3) {
		case 0:
			l.patch(a, `{"spec":{"suspend":false}}`)
		case 1:
			l.patch(a, `{"spec":{"schedule":"now + 1 second"}}`)
		case 2:
			l.note("user deletes At %s", a.Name)
			_ = l.User.Delete(ctx, a)
		}
	case 9: // tamper with a pod
		if pods := l.Pods(); len(pods) > 0 {
			l.patch(pods[l.random.IntN(len(pods))].DeepCopy(), `{"metadata":{"labels":null}}`)
		}
	case 10: // tamper with a status
		l.forge(set, `{"status":{"podNames":["kubernetes"],"replicas":9,"readyReplicas":9}}`)
		l.forge(a, fmt.Sprintf(`{"status":{"phase":%q}}`, []cnatv1alpha1.Phase{cnatv1alpha1.PhasePending, cnatv1alpha1.PhaseRunning}[l.random.IntN(2)]))
	}
}

func (l *life) forge(object client.Object, patch string) {
	l.note("user forges the status of %T %s: %s", object, object.GetName(), patch)
	_ = l.User.Status().Patch(l.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)))
}

func (l *life) patch(object client.Object, patch string) {
	l.note("user patches %T %s: %s", object, object.GetName(), patch)
	_ = l.User.Patch(l.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// fault does something to the operator.
func (l *life) fault() {
	resource := []string{"podsets", "ats", "pods"}[l.random.IntN(3)]
	switch n := 1 + l.random.IntN(20); l.random.IntN(8) {
	case 0:
		l.note("the answer to write %d will be lost", n%4+1)
		l.operator.Inject(faults.Nth(n%4+1, faults.Writes, faults.Lose))
	case 1:
		l.note("status writes meet %d conflicts each", n%3+1)
		l.operator.Inject(conflicts(n%3 + 1))
	case 2:
		kind := []string{"500", "503", "429", "reset"}[l.random.IntN(4)]
		l.note("%d calls fail with %s", n, kind)
		l.operator.Inject(faults.First(n, faults.Everything, outages[kind]))
	case 3:
		l.note("the watch of %s is held", resource)
		l.operator.Hold(resource)
	case 4:
		l.note("the watch of %s is released", resource)
		l.operator.Release(resource)
	case 5:
		l.note("the watch of %s expires", resource)
		l.operator.Expire(resource)
	case 6:
		l.note("crash")
		l.operator.Crash()
		l.operator = l.Start()
		l.old = version(l.World)
	case 7:
		l.note("crash, and back to version %s of %s", l.old, resource)
		l.operator.Crash()
		l.operator = l.Start(func(wire *faults.Wire) { wire.TravelTo(l.old, resource) })
	}
}

// note tells, when a life fails, what happened in it.
func (l *life) note(format string, args ...any) {
	l.Logf("%s "+format, append([]any{time.Now().Format("05.000")}, args...)...)
}
