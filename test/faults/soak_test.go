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

var soak = flag.Duration("soak", 0, "how long random scenarios run; 0: not at all, because the simulation runs more of them")

var oneScenario = flag.Uint64("scenario", 0, "run only this random scenario")

const (
	// fixedSeeds is the number of scenarios with fixed seeds, which run first. At least one scenario with a seed of this run follows.
	fixedSeeds = 12
	// parallelScenarios is how many scenarios run at the same time.
	parallelScenarios = 4
	// steps is the length of a scenario.
	steps = 25
)

// TestSoak runs random scenarios: changes by users and faults in random order, after which everything must settle.
func TestSoak(t *testing.T) {
	t.Parallel()
	if *oneScenario != 0 {
		newRandomScenario(t, *oneScenario).run()
		return
	}
	if *soak == 0 {
		t.Skip("no -soak")
	}
	var mu sync.Mutex
	var started uint64
	start := time.Now()
	next := func() (seed uint64, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if started > fixedSeeds && time.Since(start) > *soak {
			return 0, false
		}
		if started++; started > fixedSeeds {
			return faults.Seed() + started, true
		}
		return started, true
	}
	t.Run("scenarios", func(t *testing.T) {
		for worker := range parallelScenarios {
			t.Run(fmt.Sprintf("worker %d", worker), func(t *testing.T) {
				t.Parallel()
				for seed, ok := next(); ok && !t.Failed(); seed, ok = next() {
					t.Run(fmt.Sprintf("scenario %d", seed), func(t *testing.T) { newRandomScenario(t, seed).run() })
				}
			})
		}
	})
	fmt.Printf("random scenarios: %d with fixed seeds, %d with the seeds from %d on\n",
		min(started, fixedSeeds), started-min(started, fixedSeeds), faults.Seed()+fixedSeeds+1)
}

// randomScenario is an environment with random changes and faults.
type randomScenario struct {
	*faults.Env
	random   *rand.Rand
	operator *faults.Process
	old      string // an earlier resource version
}

func newRandomScenario(t *testing.T, seed uint64) *randomScenario {
	e := faults.NewEnv(t, cluster, "soak", faults.Ours)
	e.Replay = fmt.Sprintf("make soak SCENARIO=%d", seed)
	return &randomScenario{Env: e, random: rand.New(rand.NewPCG(seed, 0))}
}

func (s *randomScenario) run() {
	s.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	s.operator = s.Start()
	s.old = version(s.Env)
	for range steps {
		if s.random.IntN(3) == 0 {
			s.fault()
		} else {
			s.user()
		}
		s.Wait(time.Duration(s.random.IntN(300)) * time.Millisecond)
	}
	s.operator.ClearRules()
	s.operator.Release("podsets", "ats", "pods")
	s.Settle()
}

// name returns one of few names, so that deleted objects are created again.
func (s *randomScenario) name() string { return []string{"a", "b", "c"}[s.random.IntN(3)] }

// user makes a random change. It ignores errors: the object may not exist, or may not be editable any more.
func (s *randomScenario) user() {
	ctx, ns := s.Context(), metav1.ObjectMeta{Name: s.name(), Namespace: s.Namespace}
	set, a := &appv1alpha1.PodSet{ObjectMeta: ns}, &cnatv1alpha1.At{ObjectMeta: ns}
	switch s.random.IntN(11) {
	case 0, 1:
		set.Spec.Replicas = ptr.To(1 + s.random.Int32N(10))
		s.note("user creates set %s with %d replicas", set.Name, *set.Spec.Replicas)
		_ = s.User.Create(ctx, set)
	case 2, 3:
		s.patch(set, fmt.Sprintf(`{"spec":{"replicas":%d}}`, 1+s.random.IntN(10)))
	case 4:
		s.patch(set, fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"v%d"}]}}}}`, s.random.IntN(3)))
	case 5:
		policies := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground}
		policy := policies[s.random.IntN(2)]
		s.note("user deletes set %s, %s", set.Name, policy)
		_ = s.User.Delete(ctx, set, client.PropagationPolicy(policy))
	case 6:
		if pods := s.Pods(); len(pods) > 0 { // Not the pod of an At, because its result would be unknown.
			if pod := pods[s.random.IntN(len(pods))]; pod.Labels["app"] != "" {
				s.note("user deletes pod %s", pod.Name)
				_ = s.User.Delete(ctx, pod.DeepCopy(), client.GracePeriodSeconds(int64(s.random.IntN(2))))
			}
		}
	case 7:
		a.Spec = cnatv1alpha1.AtSpec{Schedule: fmt.Sprintf("now + %d seconds", s.random.IntN(4)), Command: "echo YAY"}
		a.Spec.Suspend = ptr.To(s.random.IntN(4) == 0)
		s.note("user creates At %s, %s, suspended: %t", a.Name, a.Spec.Schedule, *a.Spec.Suspend)
		_ = s.User.Create(ctx, a)
	case 8:
		switch s.random.IntN(3) {
		case 0:
			s.patch(a, `{"spec":{"suspend":false}}`)
		case 1:
			s.patch(a, `{"spec":{"schedule":"`+time.Now().UTC().Format(time.RFC3339)+`"}}`)
		case 2:
			s.note("user deletes At %s", a.Name)
			_ = s.User.Delete(ctx, a)
		}
	case 9: // tamper with a pod
		if pods := s.Pods(); len(pods) > 0 {
			s.patch(pods[s.random.IntN(len(pods))].DeepCopy(), `{"metadata":{"labels":null}}`)
		}
	case 10: // tamper with a status
		s.forge(set, `{"status":{"podNames":["kubernetes"],"replicas":9,"readyReplicas":9}}`)
		s.forge(a, fmt.Sprintf(`{"status":{"phase":%q}}`, []cnatv1alpha1.Phase{cnatv1alpha1.PhasePending, cnatv1alpha1.PhaseRunning}[s.random.IntN(2)]))
	}
}

func (s *randomScenario) forge(object client.Object, patch string) {
	s.note("user forges the status of %T %s: %s", object, object.GetName(), patch)
	_ = s.User.Status().Patch(s.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)))
}

func (s *randomScenario) patch(object client.Object, patch string) {
	s.note("user patches %T %s: %s", object, object.GetName(), patch)
	_ = s.User.Patch(s.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// fault injects a random fault.
func (s *randomScenario) fault() {
	resource := []string{"podsets", "ats", "pods"}[s.random.IntN(3)]
	switch n := 1 + s.random.IntN(20); s.random.IntN(8) {
	case 0:
		s.note("the response to write %d will be lost", n%4+1)
		s.operator.Inject(faults.Nth(n%4+1, faults.Writes, faults.LoseResponse))
	case 1:
		s.note("each status write gets %d conflicts", n%3+1)
		s.operator.Inject(conflicts(n%3 + 1))
	case 2:
		kind := []string{"500", "503", "429", "reset"}[s.random.IntN(4)]
		s.note("%d calls fail with %s", n, kind)
		s.operator.Inject(faults.First(n, faults.AnyButWatch, outages[kind]))
	case 3:
		s.note("the watch of %s is held", resource)
		s.operator.Hold(resource)
	case 4:
		s.note("the watch of %s is released", resource)
		s.operator.Release(resource)
	case 5:
		s.note("the watch of %s expires", resource)
		s.operator.Expire(resource)
	case 6:
		s.note("crash")
		s.operator.Crash()
		s.operator = s.Start()
		s.old = version(s.Env)
	case 7:
		s.note("crash, and time travel to version %s of %s", s.old, resource)
		s.operator.Crash()
		s.operator = s.Start(func(injector *faults.Injector) { injector.TimeTravel(s.old, resource) })
	}
}

// note logs a step, which is shown if the test fails.
func (s *randomScenario) note(format string, args ...any) {
	s.Logf("%s "+format, append([]any{time.Now().Format("05.000")}, args...)...)
}
