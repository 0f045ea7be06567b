// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//revive:disable:file-length-limit // One subject.

package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/invariants"
)

// user does something with an object or a pod. There are few names, so that deleted objects are created again.
func (e *env) user(random *rand.Rand) {
	resource := e.scenario.Only
	if resource == "" {
		resource = pick(random, podSets, ats)
	}
	name := e.nameOf(random, resource)
	switch n := random.IntN(100); {
	case e.scenario.has(Conditions) && n%10 == 0:
		e.addCondition(resource, name)
	case n < 70:
		e.createOrEdit(random, resource, name)
	case n < 80:
		e.deleteOwner(random, resource, name)
	case n < 90:
		e.deletePod(random)
	case n < 92 || n < 94 && resource == podSets:
		e.foreignPod(random, resource, name)
	case n < 94:
		e.plantPod(random, name)
	default:
		e.tamper(random, resource, name)
	}
}

// createOrEdit creates an object, or changes it if it exists.
func (e *env) createOrEdit(random *rand.Rand, resource, name string) {
	_, exists := e.store.objects[storeKey{resource, name}]
	switch {
	case exists && resource == podSets:
		e.editSet(random, name)
	case exists:
		e.editAt(random, name)
	case resource == podSets:
		e.createSet(random, name)
	default:
		e.createAt(random, name)
	}
}

// nameOf returns one of maxObjects names. A small scenario uses only the first one.
func (e *env) nameOf(random *rand.Rand, resource string) string {
	names := map[string][]string{podSets: {"a", "a", "b"}, ats: {"x", "x", "y"}}[resource]
	if e.scenario.Only != "" {
		return names[0]
	}
	return pick(random, names...)
}

func (e *env) create(object client.Object, about string) {
	if _, err := e.store.Create(object); err == nil {
		e.note("user creates %s %s%s", ResourceOf(object), object.GetName(), about)
	}
}

func (e *env) patch(resource, name, patch string, status bool) {
	if _, err := e.store.Patch(resource, name, types.MergePatchType, []byte(patch), status); err == nil {
		e.note("user patches %s %s: %s", resource, name, patch)
	}
}

func pick[T any](random *rand.Rand, choices ...T) T { return choices[random.IntN(len(choices))] }

func templateOf(image string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}}}
}

func (e *env) createSet(random *rand.Rand, name string) {
	set := &appv1alpha1.PodSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	set.Spec.Replicas = ptr.To(e.replicas(random))
	if random.IntN(3) == 0 {
		set.Spec.Template = templateOf(pick(random, "v1", "v2"))
	}
	if random.IntN(8) == 0 {
		set.Spec.UpdateStrategy.Type = appv1alpha1.OnDelete
	}
	if e.scenario.has(Stuck) {
		set.Spec.ProgressDeadlineSeconds = pick(random, int32(0), 20, 60)
		set.Spec.PodReplacementPolicy = pick(random, "", appv1alpha1.TerminationComplete)
	}
	if random.IntN(4) == 0 {
		set.Spec.MinReadySeconds = 10
	}
	e.create(set, fmt.Sprintf(" with %d replicas", *set.Spec.Replicas))
}

// replicas returns a number of pods. A small scenario has few.
func (e *env) replicas(random *rand.Rand) int32 {
	if e.scenario.Only != "" {
		return 1 + random.Int32N(3)
	}
	return 1 + random.Int32N(6)
}

func (e *env) editSet(random *rand.Rand, name string) {
	switch n := random.IntN(9); n {
	case 7:
		e.patch(podSets, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, appv1alpha1.AnnotationPaused, pick(random, "true", "false")), false)
	case 8:
		e.patch(podSets, name, fmt.Sprintf(`{"spec":{"updateStrategy":%s}}`, pick(random, `{"type":"OnDelete","rollingUpdate":null}`, `{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":2}}`)), false)
	default:
		e.editSpec(n < 5, random, name)
	}
}

// editSpec changes the number of pods of a PodSet, or its template.
func (e *env) editSpec(scales bool, random *rand.Rand, name string) {
	if scales {
		e.patch(podSets, name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, e.replicas(random)), false)
		return
	}
	e.patch(podSets, name, fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"v%d"}]}}}}`, random.IntN(3)), false)
}

func schedule(random *rand.Rand, now time.Time) string {
	return pick(random, "now", "now + 1 second", "now + 10 seconds", "now + 1 minute", now.Add(20*time.Second).Format(time.RFC3339), "1999-01-01T00:00:00Z")
}

// laterSchedule returns a valid new schedule for an At.
func laterSchedule(random *rand.Rand, now time.Time) string {
	after := pick(random, 0, time.Second, 10*time.Second, time.Minute, 20*time.Second, -24*time.Hour)
	return now.Add(after).Format(time.RFC3339)
}

// commands are commands and their words.
var commands = map[string][]string{
	"echo YAY":             {"echo", "YAY"},
	"true":                 {"true"},
	`sh -c 'exit "$CODE"'`: {"sh", "-c", `exit "$CODE"`},
}

func command(random *rand.Rand) string {
	return pick(random, "echo YAY", "true", `sh -c 'exit "$CODE"'`)
}

func (e *env) createAt(random *rand.Rand, name string) {
	at := &cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Name: name}}
	at.Spec = cnatv1alpha1.AtSpec{Schedule: schedule(random, e.now()), Command: command(random)}
	if random.IntN(10) == 0 {
		at.Spec.Schedule = "now + 2 hours"
	}
	if random.IntN(3) > 0 {
		at.Spec.BackoffLimit = ptr.To(random.Int32N(3))
	}
	if random.IntN(6) == 0 {
		at.Spec.RetryExitCodes = []int32{pick[int32](random, 3, 4, 255)}
	}
	if random.IntN(4) == 0 {
		at.Spec.ActiveDeadlineSeconds = ptr.To(1 + random.Int64N(60))
	}
	if random.IntN(4) == 0 {
		at.Spec.StartingDeadlineSeconds = ptr.To(random.Int64N(60))
	}
	if random.IntN(6) == 0 {
		at.Spec.TTLSecondsAfterFinished = ptr.To(random.Int32N(60))
	}
	at.Spec.Suspend = ptr.To(random.IntN(8) == 0)
	if random.IntN(4) == 0 {
		at.Spec.Template = templateOf("busybox")
		at.Spec.Template.Spec.Containers = append(at.Spec.Template.Spec.Containers, corev1.Container{Name: "second", Image: "busybox"})
		at.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "busybox"}}
		if random.IntN(2) == 0 || e.scenario.has(Doubt) {
			restarts := pick(random, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure)
			sidecar := corev1.Container{Name: "side", Image: "busybox", RestartPolicy: &restarts}
			at.Spec.Template.Spec.InitContainers = append(at.Spec.Template.Spec.InitContainers, sidecar)
		}
		at.Spec.Template.Spec.ActiveDeadlineSeconds = pick(random, nil, ptr.To[int64](30))
		at.Spec.Template.Spec.TerminationGracePeriodSeconds = pick(random, nil, nil, ptr.To[int64](0), ptr.To[int64](90))
	}
	if e.scenario.has(Budget) && random.IntN(2) == 0 {
		at.Spec.Uninterrupted, at.Spec.ActiveDeadlineSeconds = ptr.To(true), ptr.To(10+random.Int64N(60))
	}
	if random.IntN(10) == 0 {
		e.addUnusable(random, at)
		return
	}
	spec, _ := json.Marshal(at.Spec) // It can be encoded.
	e.create(at, ": "+string(spec))
}

// addUnusable adds an At that was stored before the CRD rejected its spec.
func (e *env) addUnusable(random *rand.Rand, at *cnatv1alpha1.At) {
	at.Namespace, at.Generation, at.Status.ObservedGeneration = Namespace, 1, -1
	if random.IntN(2) == 0 {
		at.Spec.Schedule = invariants.UnusableSchedule
	} else {
		at.Spec.Command = invariants.UnusableCommand
	}
	e.store.add(at)
	e.note("At %s is stored for %s, command %s", at.Name, at.Spec.Schedule, at.Spec.Command)
}

func (e *env) editAt(random *rand.Rand, name string) {
	switch random.IntN(6) {
	case 0:
		e.patch(ats, name, fmt.Sprintf(`{"spec":{"schedule":%q}}`, laterSchedule(random, e.now())), false)
	case 1:
		suspends := ""
		if e.scenario.has(TwoKeys) {
			suspends = `,"suspend":true`
		}
		e.patch(ats, name, fmt.Sprintf(`{"spec":{"command":%q%s}}`, command(random), suspends), false)
	case 2:
		e.patch(ats, name, fmt.Sprintf(`{"spec":{"suspend":%t}}`, random.IntN(2) == 0), false)
	case 3:
		e.patch(ats, name, fmt.Sprintf(`{"spec":{"cancel":%s}}`, pick(random, "true", "true", "false", "null")), false)
	case 4:
		e.patch(ats, name, fmt.Sprintf(`{"spec":{"backoffLimit":%d}}`, random.IntN(3)), false)
	case 5:
		field := pick(random, "startingDeadlineSeconds", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
		e.patch(ats, name, fmt.Sprintf(`{"spec":{%q:%s}}`, field, pick(random, "null", "1", "20", "60")), false)
	}
}

func (e *env) deleteOwner(random *rand.Rand, resource, name string) {
	policy := pick(random, metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan)
	if _, _, err := e.store.Delete(resource, name, metav1.DeleteOptions{PropagationPolicy: &policy}); err == nil {
		e.note("user deletes %s %s, %s", resource, name, policy)
	}
}

// recordedPods returns the pods without those of Ats that have no gate and that no status has recorded, and without those of calls in flight.
// If admission removes the gate, a command can run twice only if its pod is deleted before the run is recorded, as package at documents.
func (e *env) recordedPods() []*corev1.Pod {
	recorded := map[types.UID]bool{}
	for _, at := range e.store.List(ats) {
		recorded[at.(*cnatv1alpha1.At).Status.PodUID] = true
	}
	stripped := map[types.UID]bool{}
	for _, w := range e.writes {
		stripped[w.UID] = stripped[w.UID] || w.Stripped && w.Slot == ""
	}
	return slices.DeleteFunc(e.store.pods(), func(pod *corev1.Pod) bool {
		ofAt := invariants.OwnerKind(pod) == "At" || stripped[pod.UID]
		return ofAt && !recorded[pod.UID] && !invariants.IsGated(pod) && pod.Annotations[invariants.Planted] == "" ||
			slices.ContainsFunc(e.calls, func(c *call) bool { return c.Verb == "create" && c.Name == pod.Name && (!c.Gated || e.webhook.strips) })
	})
}

func (e *env) deletePod(random *rand.Rand) {
	all := e.recordedPods()
	if len(all) == 0 {
		return
	}
	pod := all[random.IntN(len(all))]
	grace := ptr.To(random.Int64N(2))
	if _, _, err := e.store.begin(pods, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: grace}); err == nil {
		e.note("user deletes pod %s with a grace period of %d s", pod.Name, *grace)
	}
}

// foreignPod creates a pod without an owner, with the name or the labels of a pod of an At or a PodSet.
func (e *env) foreignPod(random *rand.Rand, resource, owner string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: owner + "-pod"}, Spec: templateOf("foreign").Spec}
	if taken := e.namesToTake(); resource == podSets && len(taken) > 0 {
		pod.Name = pick(random, taken...)
	}
	if random.IntN(2) == 0 {
		pod.Name, pod.Labels = "foreign", map[string]string{"app": owner, "version": "v0.1"}
	}
	e.create(pod, ", which has no owner")
}

// plantPod creates a pod that has an At as its owner, with or without the operator's gate, as a user can who may create pods.
func (e *env) plantPod(random *rand.Rand, name string) {
	at, ok := e.store.objects[storeKey{ats, name}]
	if !ok {
		return
	}
	pod := &corev1.Pod{Spec: templateOf("foreign").Spec}
	pod.Name = pick(random, name+"-pod", name+"-pod", name+"-pod-1", "stranger")
	pod.Annotations = map[string]string{invariants.Planted: "true", cnatv1alpha1.AnnotationContainer: "main", cnatv1alpha1.AnnotationGeneration: strconv.FormatInt(at.GetGeneration(), 10)}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(at, cnatv1alpha1.GroupVersion.WithKind("At"))}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	if random.IntN(3) > 0 {
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: invariants.Gate}}
	}
	e.create(pod, ", which has the At as its owner")
}

// namesToTake returns the names of pods that the operator is about to create, or that are gone.
func (e *env) namesToTake() []string {
	var names []string
	for _, c := range e.calls {
		if c.Verb == "create" {
			names = append(names, c.Name)
		}
	}
	for _, change := range e.store.log {
		if change.Kind == watch.Deleted && ResourceOf(change.Object) == pods {
			names = append(names, change.Object.GetName())
		}
	}
	return names
}
