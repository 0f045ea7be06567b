// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/sim"
)

// request is one request. send sends it to one of the two servers. Values that differ between the servers, such as UIDs, come from the
// objects that this server returned earlier.
type request struct {
	about string
	send  func(*side) ([]client.Object, error)
}

// request returns a random request. seen are the objects that the servers returned so far.
func (c choices) request(seen []client.Object) request {
	n := c.IntN(100)
	resource := pick(c, resources...)
	name := c.name(resource)
	if i := c.earlier(seen); i >= 0 && !c.one(6) { // The others often do not exist.
		resource, name = sim.ResourceOf(seen[i]), seen[i].GetName()
	}
	switch {
	case n < 25:
		object := c.object(pick(c, resources...))
		return request{"create " + text(object), func(s *side) ([]client.Object, error) { return one(s.Create(object)) }}
	case n < 30:
		return request{"get " + resource + " " + name, func(s *side) ([]client.Object, error) { return one(s.Get(resource, name)) }}
	case n < 33:
		return request{"list " + resource, func(s *side) ([]client.Object, error) { return s.list(resource) }}
	case n < 57:
		return c.update(seen)
	case n < 75:
		return c.patch(resource, name, seen)
	case n < 87:
		return c.remove(resource, name, seen)
	default:
		pod := name
		if resource != pods {
			pod = c.name(pods)
		}
		return request{"bind " + pod, func(s *side) ([]client.Object, error) { return nil, s.Bind(pod, "node") }}
	}
}

// earlier chooses an earlier object, most likely a recent one. It returns its index, or -1 if there is none.
func (c choices) earlier(seen []client.Object) int {
	return len(seen) - 1 - min(c.IntN(4)*c.IntN(4), max(len(seen)-1, 0))
}

// update changes an object that a server returned earlier, or its status, and sends it.
func (c choices) update(seen []client.Object) request {
	if len(seen) == 0 {
		return c.request(seen)
	}
	i, status := c.earlier(seen), c.one(2)
	changed := sim.CopyOf(seen[i])
	version, uid := c.one(8), c.one(20)
	if status {
		c.status(changed)
	} else {
		c.edit(changed)
	}
	about := fmt.Sprintf("update, status %t, version %t, UID %t: %s", status, !version, !uid, text(changed))
	return request{about, func(s *side) ([]client.Object, error) {
		object := sim.CopyOf(changed)
		object.SetResourceVersion(s.seen[i].GetResourceVersion())
		object.SetUID(s.seen[i].GetUID())
		object.SetCreationTimestamp(s.seen[i].GetCreationTimestamp())
		if version {
			object.SetResourceVersion("")
		}
		if uid {
			object.SetUID("00000000-0000-4000-8000-00000000dead")
		}
		return one(s.Update(object, status))
	}}
}

// edit changes something outside the status.
func (c choices) edit(object client.Object) {
	switch c.IntN(5) {
	case 0:
		object.SetLabels(pick(c, nil, map[string]string{"app": "c"}, map[string]string{"a/b/c": "invalid"}))
	case 1:
		object.SetFinalizers(pick(c, nil, nil, []string{"example.com/a"}, []string{"example.com/b"}))
	case 2:
		c.forbidden(object)
	default:
		c.fill(object)
	}
}

var patches = map[string][]string{
	podSets: {
		`{"spec":{"replicas":2}}`, `{"spec":{"replicas":0}}`, `{"spec":{"replicas":null}}`, `{"spec":null}`, `{"spec":{"other":1}}`,
		`{"spec":{"replicas":"3"}}`, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"v3"}]}}}}`,
	},
	ats: {
		`{"spec":{"schedule":"now + 1 minute"}}`, `{"spec":{"schedule":null}}`, `{"spec":{"command":"true"}}`, `{"spec":{"suspend":true}}`,
		`{"spec":{"suspend":null}}`, `{"spec":{"template":null}}`, `{"spec":null}`, `{"spec":{"cancel":true}}`, `{"spec":{"cancel":null}}`,
	},
	pods: {`{"spec":{"activeDeadlineSeconds":5}}`, `{"spec":{"nodeName":"other"}}`, `{"spec":{"containers":[{"name":"main","image":"v2"}]}}`},
}

var metadataPatches = []string{
	`{"metadata":{"labels":null}}`, `{"metadata":{"labels":{"app":"d"}}}`, `{"metadata":{"finalizers":null}}`, `{"metadata":{"ownerReferences":null}}`,
	`{"metadata":{"annotations":{"a":"b"}}}`, `{"metadata":{"name":"other"}}`, `{"metadata":{"resourceVersion":"999999999"}}`, `{`, `{}`,
}

var statusPatches = map[string][]string{
	podSets: {`{"status":{"replicas":9,"readyReplicas":9}}`, `{"status":{"replicas":-1}}`, `{"status":null}`, `{"status":{"podNames":["kubernetes"]}}`, `{"metadata":{"labels":{"app":"e"}}}`},
	ats:     {`{"status":{"attempts":1}}`, `{"status":{"phase":"RUNNING","attempts":1}}`, `{"status":{"phase":"RUNNING"}}`, `{"status":{"phase":"PENDING"}}`, `{"status":{"phase":"OTHER"}}`, `{"status":null}`, `{"spec":{"suspend":true}}`},
	pods:    {`{"status":{"phase":"Running"}}`, `{"status":{"phase":"Failed","reason":"Evicted"}}`, `{"metadata":{"labels":{"app":"e"}}}`},
}

// patch sends a merge patch as users do, or the status of an earlier object as the operator does.
func (c choices) patch(resource, name string, seen []client.Object) request {
	if len(seen) > 0 && c.one(2) {
		if i := c.earlier(seen); sim.ResourceOf(seen[i]) == pods {
			return c.podAsOperator(i, seen[i].(*corev1.Pod))
		}
		return c.statusAsOperator(seen)
	}
	data, status := pick(c, patches[resource]...), false
	switch c.IntN(3) {
	case 0:
		data = pick(c, metadataPatches...)
	case 1:
		data, status = pick(c, statusPatches[resource]...), true
	}
	return request{fmt.Sprintf("patch %s %s, status %t: %s", resource, name, status, data), func(s *side) ([]client.Object, error) {
		return one(s.Patch(resource, name, types.MergePatchType, []byte(data), status))
	}}
}

// statusAsOperator writes the whole status, if the object has not changed since it was read.
func (c choices) statusAsOperator(seen []client.Object) request {
	i := c.earlier(seen)
	changed := sim.CopyOf(seen[i])
	c.status(changed)
	var status any
	switch o := changed.(type) {
	case *appv1alpha1.PodSet:
		status = o.Status
	case *cnatv1alpha1.At:
		status = o.Status
	case *corev1.Pod:
		status = o.Status
	}
	return request{"write the status as the operator does: " + text(changed), func(s *side) ([]client.Object, error) {
		data, err := json.Marshal([]map[string]any{
			{"op": "replace", "path": "/metadata/resourceVersion", "value": s.seen[i].GetResourceVersion()},
			{"op": "add", "path": "/status", "value": status},
		})
		if err != nil {
			return nil, err
		}
		return one(s.Patch(sim.ResourceOf(changed), changed.GetName(), types.JSONPatchType, data, true))
	}}
}

// podAsOperator opens or stops the pod of an earlier response, if it has the same UID. The gate may be gone or never have been there.
func (c choices) podAsOperator(i int, pod *corev1.Pod) request {
	index := max(slices.Index(pod.Spec.SchedulingGates, gates[0]), 0)
	path := fmt.Sprintf("/spec/schedulingGates/%d", index)
	changes := []map[string]any{{"op": "test", "path": path + "/name", "value": gates[0].Name}, {"op": "remove", "path": path}}
	if c.one(3) {
		changes = []map[string]any{{"op": pick(c, "add", "add", "replace"), "path": "/spec/activeDeadlineSeconds", "value": pick(c, 1, 1, 0, 100)}}
	}
	uid := c.one(6)
	return request{fmt.Sprintf("change pod %s as the operator does, another UID %t: %v", pod.Name, uid, changes), func(s *side) ([]client.Object, error) {
		owner := s.seen[i].GetUID()
		if uid {
			owner = "other"
		}
		data, err := json.Marshal(append([]map[string]any{{"op": "test", "path": "/metadata/uid", "value": owner}}, changes...))
		if err != nil {
			return nil, err
		}
		return one(s.Patch(pods, pod.Name, types.JSONPatchType, data, false))
	}}
}

// remove deletes an object, perhaps with preconditions of an earlier object.
func (c choices) remove(resource, name string, seen []client.Object) request {
	options, i := metav1.DeleteOptions{}, -1
	if len(seen) > 0 && c.one(2) {
		i = c.earlier(seen)
		resource, name = sim.ResourceOf(seen[i]), seen[i].GetName()
	}
	byUID, byVersion := c.one(2), c.one(4)
	if c.one(3) {
		options.GracePeriodSeconds = ptr.To(pick[int64](c, 0, 1, 5, 60))
	}
	if c.one(2) {
		options.PropagationPolicy = ptr.To(pick(c, metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan))
	}
	about := fmt.Sprintf("delete %s %s, earlier %d, by UID %t, by version %t: %+v", resource, name, i, byUID, byVersion, text(options))
	return request{about, func(s *side) ([]client.Object, error) {
		options := *options.DeepCopy()
		if i >= 0 && (byUID || byVersion) {
			options.Preconditions = &metav1.Preconditions{}
			if byUID {
				options.Preconditions.UID = ptr.To(s.seen[i].GetUID())
			}
			if byVersion {
				options.Preconditions.ResourceVersion = ptr.To(s.seen[i].GetResourceVersion())
			}
		}
		return s.remove(resource, name, options)
	}}
}

func text(object any) string {
	data, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%T %s", object, data)
}

func one(object client.Object, err error) ([]client.Object, error) {
	return []client.Object{object}, err
}
