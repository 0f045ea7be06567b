// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/faults"
)

// scenario is a piece of a life. An operator that works without faults prepares it; then one with faults acts.
type scenario struct {
	prepare func(*faults.Env)
	act     func(*faults.Env)
	// settle waits for the end; nil: Rest.
	settle func(*faults.Env)
	// nondeterministic decides how far it comes, so that its cost is not compared.
	nondeterministic bool
}

func podSet(name string, replicas int32) *appv1alpha1.PodSet {
	return &appv1alpha1.PodSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appv1alpha1.PodSetSpec{Replicas: ptr.To(replicas)},
	}
}

func template(image string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers:                    []corev1.Container{{Name: "main", Image: image}},
		TerminationGracePeriodSeconds: ptr.To[int64](1),
	}}
}

func at(name, schedule, command string) *cnatv1alpha1.At {
	return &cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       cnatv1alpha1.AtSpec{Schedule: schedule, Command: command},
	}
}

func scale(e *faults.Env, name string, replicas int32) {
	e.Helper()
	set := podSet(name, 0)
	set.Namespace = e.Namespace
	faults.Edit(e, set, func(s *appv1alpha1.PodSet) { s.Spec.Replicas = &replicas })
}

// failFirst lets the first attempt of an At fail and all others succeed.
func failFirst(pod *corev1.Pod) *int32 {
	if pod.Annotations[cnatv1alpha1.AnnotationAttempt] == "0" {
		return ptr.To[int32](1)
	}
	return ptr.To[int32](0)
}

// firstPods picks the first n pods that it is asked about.
func firstPods(n int) func(*corev1.Pod) bool {
	var mu sync.Mutex
	picked := sets.New[types.UID]()
	return func(pod *corev1.Pod) bool {
		mu.Lock()
		defer mu.Unlock()
		if len(picked) < n {
			picked.Insert(pod.UID)
		}
		return picked.Has(pod.UID)
	}
}

func longAgo() metav1.Time { return metav1.NewTime(time.Now().Add(-time.Hour)) }

// podKey names a pod of the world, whose UID it reads.
func podKey(e *faults.Env, name string) metav1.ObjectMeta {
	e.Helper()
	if !e.AwaitPod(name, func(pod *corev1.Pod) bool { return pod != nil }) {
		e.Fatalf("no pod %s", name)
	}
	for _, pod := range e.Pods() {
		if pod.Name == name {
			return metav1.ObjectMeta{Name: name, Namespace: e.Namespace, UID: pod.UID}
		}
	}
	return metav1.ObjectMeta{}
}

// scenarios are the lives of F1. Their writes are few, so that every one of them can be the last of an process.
var scenarios = map[string]scenario{
	"create 10": {
		act: func(e *faults.Env) { e.Create(podSet("a", 10)) },
	},
	"scale 10 to 3": {
		prepare: func(e *faults.Env) {
			// Four of ten are unready: they are the ones that must die, with three others.
			e.RunKubelet(&faults.Kubelet{Ready: firstPods(6)})
			e.Create(podSet("a", 10))
			e.Settle()
			e.AwaitSet("P3", "a", func(s *appv1alpha1.PodSet) bool { return s.Status.ReadyReplicas == 6 })
		},
		act: func(e *faults.Env) { scale(e, "a", 3) },
	},
	"rolling update": {
		prepare: func(e *faults.Env) {
			e.RunKubelet(&faults.Kubelet{})
			set := podSet("a", 3)
			set.Spec.Template = template("one")
			e.Create(set)
			e.Settle()
			e.AwaitSet("P3", "a", func(s *appv1alpha1.PodSet) bool { return s.Status.ReadyReplicas == 3 })
		},
		act: func(e *faults.Env) {
			set := podSet("a", 3)
			set.Namespace = e.Namespace
			faults.Edit(e, set, func(s *appv1alpha1.PodSet) { s.Spec.Template = template("two") })
		},
		settle: func(e *faults.Env) {
			e.AwaitSet("P3", "a", func(s *appv1alpha1.PodSet) bool {
				return s.Status.ReadyReplicas == 3 && s.Status.UpdatedReplicas == 3 && s.Status.ObservedGeneration == s.Generation
			})
			e.Quiesce()
		},
	},
	"delete during scale-up": {
		act: func(e *faults.Env) {
			set := podSet("a", 5)
			e.Create(set)
			e.AwaitSet("P3", "a", func(s *appv1alpha1.PodSet) bool { return len(s.Status.PodNames) > 0 })
			e.Delete(set)
		},
		settle:           func(e *faults.Env) { e.AwaitNoPods(); e.Quiesce() },
		nondeterministic: true,
	},
	"at": {
		prepare: func(e *faults.Env) { e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)}) },
		act:     func(e *faults.Env) { e.Create(at("a", "now + 1 second", "echo YAY")) },
	},
	"at with a retry": {
		prepare: func(e *faults.Env) {
			// What failed long ago is tried again at once: the back-off counts from the end of the failed pod.
			e.RunKubelet(&faults.Kubelet{Exit: failFirst, Ended: longAgo})
		},
		act: func(e *faults.Env) {
			a := at("a", "now", "echo YAY")
			a.Spec.BackoffLimit = ptr.To[int32](1)
			e.Create(a)
		},
	},
}

// reference is a scenario without a fault: what it costs, and how many of its writes are of a status.
type reference struct {
	counts               faults.Counts
	writes, statusWrites int
}

// references live each scenario once.
var references = map[string]func(t *testing.T) reference{}

func init() {
	for name, s := range scenarios {
		var once sync.Once
		var r reference
		references[name] = func(t *testing.T) reference {
			once.Do(func() {
				e := faults.NewEnv(t, cluster, "F0", faults.Ours)
				e.Start()
				if s.prepare != nil {
					s.prepare(e)
				}
				before := len(e.Log.All())
				s.play(e)
				r.counts = e.Counts()
				for _, write := range e.Log.All()[before:] {
					r.writes++
					if faults.StatusWrites(write.Call) {
						r.statusWrites++
					}
				}
			})
			return r
		}
	}
}

func (s scenario) play(e *faults.Env) {
	s.act(e)
	if s.settle != nil {
		s.settle(e)
		return
	}
	e.Quiesce()
}

// extraWrites is how many more writes than the reference a life with faults may take and still be swept in full: a status can
// be written once more when the world moves at another speed.
const extraWrites = 3

// point is where an process crashes: before or after its n-th write.
type point struct {
	when  string
	write int
}

func (p point) String() string { return fmt.Sprintf("%s write %d", p.when, p.write) }

func (p point) rule(injector *faults.Injector) faults.Rule {
	fault := injector.CrashBefore
	if p.when == "after" {
		fault = injector.CrashAfter
	}
	return faults.Nth(p.write, faults.Writes, fault)
}

// everyScenario runs a run in each scenario. The scenarios are swept side by side, as are their points.
func everyScenario(t *testing.T, run func(t *testing.T, name string, r reference)) {
	for name := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, name, references[name](t))
		})
	}
}

// tried counts the points of a run and those of them that were reached.
type tried struct{ points, reached atomic.Int32 }

// point runs one point; reach tells whether it was reached.
func (c *tried) point(t *testing.T, name string, reach func(t *testing.T) bool) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		c.points.Add(1)
		if reach(t) {
			c.reached.Add(1)
		}
	})
}

// printAfter prints the counts when a test has ended.
func (c *tried) printAfter(t *testing.T, what string) {
	t.Cleanup(func() { fmt.Printf("%s: %d tried, %d reached\n", what, c.points.Load(), c.reached.Load()) })
}

// F1: a crash before and after every write.
func TestCrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	var count tried
	count.printAfter(t, "crashes")
	everyScenario(t, func(t *testing.T, name string, r reference) {
		for k := 1; k <= r.writes+extraWrites; k++ {
			for _, when := range []string{"before", "after"} {
				p := point{when, k}
				count.point(t, p.String(), func(t *testing.T) bool { return runWithCrashes(t, name, p) == 1 })
			}
		}
	})
}

// How early two crashes come: after one of the first writes of the first process, and before or after one of the
// first writes of the second, which has to learn what the first one has done.
const firstCrashes, secondCrashes = 4, 3

// F1: the process after a crash crashes too.
func TestCrashTwice(t *testing.T) {
	t.Parallel()
	var count tried
	count.printAfter(t, "pairs of crashes")
	everyScenario(t, func(t *testing.T, name string, _ reference) {
		for k := 1; k <= firstCrashes; k++ {
			for j := 1; j <= secondCrashes; j++ {
				for _, when := range []string{"before", "after"} {
					first, second := point{"after", k}, point{when, j}
					count.point(t, fmt.Sprintf("%s, then %s", first, second), func(t *testing.T) bool { return runWithCrashes(t, name, first, second) == 2 })
				}
			}
		}
	})
}

// crash lives a scenario in which one process after the other crashes at a point of its own, the first one counting
// from the moment when the scenario acts. It returns how many crashes there were.
func runWithCrashes(t *testing.T, name string, points ...point) int {
	run := withCrashes(t, name, points...)
	e := faults.NewEnv(t, cluster, "F1", faults.Ours)
	run(e)
	return e.Starts() - 1
}

// crashing is a testCase that lives a scenario with crashes.
func withCrashes(t *testing.T, name string, points ...point) testCase {
	started := 0
	return withScenario(t, name, func(operator *faults.Process) {
		operator.Inject(points[0].rule(operator.Injector))
	}, func(injector *faults.Injector) {
		if started > 0 && started < len(points) {
			injector.Inject(points[started].rule(injector))
		}
		started++
	})
}

// live lives a scenario in a world of its own.
func runScenario(t *testing.T, fault, name string, begin func(*faults.Process), prepare ...func(*faults.Injector)) {
	run := withScenario(t, name, begin, prepare...)
	run(faults.NewEnv(t, cluster, fault, faults.Ours))
}

// living is a testCase that lives a scenario and compares its cost. The fault begins when the scenario acts; prepare is called
// with the injector of every process.
func withScenario(t *testing.T, name string, begin func(*faults.Process), prepare ...func(*faults.Injector)) testCase {
	s := scenarios[name]
	r := references[name](t)
	return func(e *faults.Env) {
		operator := e.Supervise(prepare...)
		if s.prepare != nil {
			s.prepare(e)
		}
		begin(operator)
		s.play(e)
		if !s.nondeterministic {
			e.ExpectCounts(r.counts)
		}
	}
}
