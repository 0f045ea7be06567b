// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tamper changes what only the operator should change.
func (e *env) tamper(random *rand.Rand, resource, name string) {
	all := e.store.pods()
	switch n := random.IntN(4); {
	case n < 2 && resource == podSets:
		e.patch(podSets, name, `{"status":{"podNames":["kubernetes"],"replicas":9,"readyReplicas":9,"availableReplicas":0}}`, true)
	case n < 2:
		e.patch(ats, name, fmt.Sprintf(`{"status":{"phase":%q}}`, pick(random, "PENDING", "RUNNING", "DONE")), true)
	default:
		if n == 3 || e.webhook.generatedName { // Nothing would tell whose pod it is: see docs/at-most-once.md.
			all = e.recordedPods()
		}
		if len(all) == 0 {
			return
		}
		if pod := all[random.IntN(len(all))]; n == 3 {
			e.tamperOwner(random, pod)
		} else {
			e.patch(pods, pod.Name, `{"metadata":{"labels":null}}`, false)
		}
	}
}

// tamperOwner removes the owner of a pod, replaces it by another object of that name, or adds a second owner.
func (e *env) tamperOwner(random *rand.Rand, pod *corev1.Pod) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return
	}
	other := *owner
	other.UID = "another"
	references := map[string][]metav1.OwnerReference{}
	switch random.IntN(3) {
	case 0:
		references["ownerReferences"] = nil
	case 1:
		references["ownerReferences"] = []metav1.OwnerReference{other}
	default:
		other.Controller = nil
		references["ownerReferences"] = []metav1.OwnerReference{*owner, other}
	}
	patch, _ := json.Marshal(map[string]any{"metadata": references}) // It can be encoded.
	e.patch(pods, pod.Name, string(patch), false)
}
