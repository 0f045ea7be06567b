// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"sync"
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
	"github.com/redhat/podset-operator/test/invariants"
)

// scenario is a sequence of changes by a user. Faults are injected only after prepare.
type scenario struct {
	prepare func(*faults.Env)
	act     func(*faults.Env)
	// settle waits for the end; nil: Quiesce.
	settle func(*faults.Env)
	// nondeterministic says that timing decides how far it comes, so that its counts are not compared.
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

// failFirst makes the first attempt of an At fail and all others succeed.
func failFirst(pod *corev1.Pod) *int32 {
	if pod.Annotations[cnatv1alpha1.AnnotationAttempt] == "0" {
		return ptr.To[int32](1)
	}
	return ptr.To[int32](0)
}

// firstPods selects the first n pods of each owner for which it is called.
func firstPods(n int) func(*corev1.Pod) bool {
	var mu sync.Mutex
	picked := map[types.UID]sets.Set[types.UID]{}
	return func(pod *corev1.Pod) bool {
		mu.Lock()
		defer mu.Unlock()
		owner := invariants.ControllerOf(pod)
		if picked[owner] == nil {
			picked[owner] = sets.New[types.UID]()
		}
		if len(picked[owner]) < n {
			picked[owner].Insert(pod.UID)
		}
		return picked[owner].Has(pod.UID)
	}
}

func longAgo() metav1.Time { return metav1.NewTime(time.Now().Add(-time.Hour)) }

// podKey returns the name, namespace, and UID of a pod.
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

// scenarios are those of F1, F2, and F6.
var scenarios = map[string]scenario{
	"create 10": {
		act: func(e *faults.Env) { e.Create(podSet("a", 10)) },
	},
	"scale 10 to 3": {
		prepare: func(e *faults.Env) {
			// Four of ten pods are not ready: they must be deleted, and three others.
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
			// The back-off starts at the end of the failed pod, so this At is retried at once.
			e.RunKubelet(&faults.Kubelet{Exit: failFirst, Ended: longAgo})
		},
		act: func(e *faults.Env) {
			a := at("a", "now", "echo YAY")
			a.Spec.BackoffLimit = ptr.To[int32](1)
			e.Create(a)
		},
	},
}

// references run each scenario once without a fault and return its counts of pods.
var references = map[string]func(t *testing.T) faults.Counts{}

func init() {
	for name, s := range scenarios {
		var once sync.Once
		var counts faults.Counts
		references[name] = func(t *testing.T) faults.Counts {
			once.Do(func() {
				e := faults.NewEnv(t, cluster, "F0", faults.Ours)
				e.Start()
				if s.prepare != nil {
					s.prepare(e)
				}
				s.play(e)
				counts = e.Counts()
			})
			return counts
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

// withScenario is a test case that runs a scenario and compares its counts with the reference. begin injects the fault when the
// scenario acts. prepare is called with the injector of every process.
func withScenario(t *testing.T, name string, begin func(*faults.Process), prepare ...func(*faults.Injector)) testCase {
	s := scenarios[name]
	want := references[name](t)
	return func(e *faults.Env) {
		operator := e.Supervise(prepare...)
		if s.prepare != nil {
			s.prepare(e)
		}
		begin(operator)
		s.play(e)
		if !s.nondeterministic {
			e.ExpectCounts(want)
		}
	}
}

// Quiesce must not take the status that follows from a pod that becomes ready late for a write without a reason.
func TestKubeletIsLate(t *testing.T) {
	t.Parallel()
	e := faults.NewEnv(t, cluster, "F0", faults.Ours)
	e.RunKubelet(&faults.Kubelet{Delay: 7 * time.Second})
	e.Supervise()
	e.Create(podSet("a", 1))
	e.Quiesce()
}

// Quiesce must not take the status that follows from the end of a pod for a write without a reason.
func TestPodEndsLate(t *testing.T) {
	t.Parallel()
	e := faults.NewEnv(t, cluster, "F0", faults.Ours)
	end := time.Now().Add(20 * time.Second)
	e.RunKubelet(&faults.Kubelet{Remove: func(*corev1.Pod) bool { return time.Now().After(end) }})
	e.Supervise()
	e.Create(podSet("a", 2))
	e.Settle()
	scale(e, "a", 1)
	e.Quiesce()
}
