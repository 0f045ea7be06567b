// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/redhat/podset-operator/test/faults"
)

// F32: admission changes whose the pods of a PodSet are. Each create is deleted again and reported, and the next one waits.
func TestModifiedPods(t *testing.T) {
	cases := map[string]testCase{}
	for change, tc := range map[string]struct{ patch, says string }{
		"another name": {`[JSONPatch{op: "replace", path: "/metadata/name", value: "changed-" + object.metadata.name}]`, "admission changed the name of pod a-pod"},
		"one name":     {`[JSONPatch{op: "replace", path: "/metadata/name", value: "taken"}]`, "to taken"},
		"a generated name": {`[JSONPatch{op: "remove", path: "/metadata/name"},
			JSONPatch{op: "add", path: "/metadata/generateName", value: object.metadata.name + "-"}]`, "admission changed the name of pod a-pod"},
		"no owner": {`[JSONPatch{op: "add", path: "/metadata/ownerReferences", value: []}]`, "admission removed the owner reference to PodSet a"},
	} {
		cases[change] = func(e *faults.Env) {
			e.StripsOwners = change == "no owner"
			mutatePods(e, tc.patch)
			if change == "one name" {
				e.Create(&corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: "taken", Namespace: e.Namespace},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "one"}}},
				})
			}
			e.Supervise()
			e.Create(podSet("a", 3))
			e.WaitForSet("P9", "a", degraded(tc.says))
			e.Wait(8 * time.Second) // creates after 0, 1, 3, and 7 s
			creates := e.Log.Calls(func(c *faults.Call) bool { return c.Verb == "create" && c.Resource == "pods" })
			e.Check("P9", len(creates) <= 5, "%d creates of pods were sent", len(creates))
			for _, pod := range e.Pods() {
				e.Check("P15", pod.Name == "taken", "pod %s stays", pod.Name)
			}
		}
	}
	runCases(t, "F32", cases)
}
