// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// decoded is the result of admission: an object with the decoded spec, and the validation errors. It belongs to the memo and is never
// modified.
type decoded struct {
	object client.Object
	err    error
	errs   field.ErrorList
}

// memo remembers results of admission by their inputs. The same specs and statuses occur in many scenarios, and admission takes longer than
// anything else in a scenario.
type memo struct {
	mu      sync.Mutex
	results map[string]decoded
}

// maxResults limits the memory that a memo needs.
const maxResults = 20_000

// get returns the result for a key, which is the JSON of its parts.
func (m *memo) get(decode func() decoded, parts ...any) decoded {
	key, err := json.Marshal(parts)
	if err != nil {
		return decoded{err: fmt.Errorf("encoding: %w", err)}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	result, ok := m.results[string(key)]
	if !ok {
		if m.results == nil || len(m.results) >= maxResults {
			m.results = map[string]decoded{}
		}
		result = decode()
		m.results[string(key)] = result
	}
	return result
}

// decodeNew decodes and validates a custom resource that is created. Its status is dropped. The rules read the spec and the name.
func (a *admission) decodeNew(resource string, sent *unstructured.Unstructured) (client.Object, error) {
	name, content := sent.GetName(), sent.Object
	result := a.created.get(func() decoded {
		a.decode(content)
		delete(content, "status")
		errs := a.validateNew(content)
		a.decode(content) // The status has defaults.
		object, err := objectOf(resource, map[string]any{"spec": content["spec"], "status": content["status"]})
		return decoded{object, err, errs}
	}, name, content["spec"])
	return assemble(resource, name, content["metadata"], result, result.object)
}

// decodeUpdate decodes and validates a custom resource with an unchanged status. So the rules read the specs, the name, the attempts, and
// the phase: load checks this.
func (a *admission) decodeUpdate(current client.Object, content map[string]any) (client.Object, error) {
	resource, name := ResourceOf(current), current.GetName()
	spec, status := specOf(current)
	result := a.updated.get(func() decoded {
		old, err := contentOf(current)
		if err != nil {
			return decoded{err: err}
		}
		a.decode(content)
		a.decode(old)
		content["status"] = old["status"]
		errs := a.validateUpdate(content, old)
		object, err := objectOf(resource, map[string]any{"spec": content["spec"]})
		return decoded{object, err, errs}
	}, name, content["spec"], spec, status)
	return assemble(resource, name, content["metadata"], result, current)
}

// replaceStatus decodes and validates a status, and returns a custom resource with it.
func (a *admission) replaceStatus(current client.Object, status any) (client.Object, error) {
	content := map[string]any{"status": status}
	a.decode(content)
	result := a.statuses.get(func() decoded {
		return decoded{errs: a.validateStatus(content["status"])}
	}, withoutTimes(content["status"]))
	if len(result.errs) > 0 {
		return nil, invalid(ResourceOf(current), current.GetName(), result.errs)
	}
	object, err := objectOf(ResourceOf(current), content)
	if err != nil {
		return nil, err
	}
	updated := CopyOf(current)
	setParts(updated, current, object)
	return updated, nil
}

// withoutTimes returns a copy of a JSON value in which all times are the same: a schema accepts all of them or none.
func withoutTimes(value any) any {
	switch v := value.(type) {
	case map[string]any:
		same := make(map[string]any, len(v))
		for key, item := range v {
			same[key] = withoutTimes(item)
		}
		return same
	case []any:
		same := make([]any, len(v))
		for i, item := range v {
			same[i] = withoutTimes(item)
		}
		return same
	case string:
		if t, err := time.Parse(time.RFC3339, v); err == nil && t.Format(time.RFC3339) == v {
			return "a time"
		}
	}
	return value
}

// assemble returns an object with this metadata, the spec of a result, and a status.
func assemble(resource, name string, metadata any, spec decoded, status client.Object) (client.Object, error) {
	if len(spec.errs) > 0 {
		return nil, invalid(resource, name, spec.errs)
	}
	if spec.err != nil {
		return nil, spec.err
	}
	object, err := objectOf(resource, map[string]any{"metadata": metadata})
	if err != nil {
		return nil, err
	}
	setParts(object, spec.object, status)
	return object, nil
}

// specOf returns the spec of a custom resource, and the part of its status that rules read.
func specOf(object client.Object) (spec, status any) {
	switch o := object.(type) {
	case *appv1alpha1.PodSet:
		return o.Spec, nil
	case *cnatv1alpha1.At:
		return o.Spec, []any{o.Status.Attempts, o.Status.Phase}
	}
	return nil, nil
}

// setParts sets the spec and the status of a custom resource to those of others.
func setParts(object, spec, status client.Object) {
	switch o := object.(type) {
	case *appv1alpha1.PodSet:
		o.Spec, o.Status = spec.(*appv1alpha1.PodSet).Spec, status.(*appv1alpha1.PodSet).Status
	case *cnatv1alpha1.At:
		o.Spec, o.Status = spec.(*cnatv1alpha1.At).Spec, status.(*cnatv1alpha1.At).Status
	}
}
