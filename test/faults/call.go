// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/redhat/podset-operator/test/invariants"
)

// Call is one request to the API server.
type Call = invariants.Call

// Match selects calls.
type Match func(*Call) bool

// Writes matches calls that change objects. It omits leases and events: the event recorder sends events in the background, and no
// reconciler depends on them.
func Writes(c *Call) bool {
	switch c.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return c.Resource != "events" && c.Resource != "leases"
	}
	return false
}

// Creates matches creates of pods.
func Creates(c *Call) bool { return c.Verb == "create" && c.Resource == "pods" && c.Subresource == "" }

// Events matches calls for Kubernetes events.
func Events(c *Call) bool { return c.Resource == "events" }

// AnyCall matches every call.
func AnyCall(*Call) bool { return true }

// requests parses requests as kube-apiserver does.
var requests = request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// parseCall parses a request. The body of the request can be read again afterwards.
func parseCall(req *http.Request) (*Call, error) {
	info, err := requests.NewRequestInfo(req)
	if err != nil || !info.IsResourceRequest {
		return &Call{}, err
	}
	call := &Call{
		Verb: info.Verb, Resource: info.Resource, Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name,
		AnyAge: req.URL.Query().Get("resourceVersion") == "0",
	}
	if req.URL.Query().Get("dryRun") != "" {
		call.Verb = "check"
	}
	if req.Body == nil {
		return call, nil
	}
	if call.Body, err = io.ReadAll(req.Body); err != nil {
		return nil, err
	}
	_ = req.Body.Close()
	req.Body = io.NopCloser(bytes.NewReader(call.Body))
	switch call.Verb {
	case "create", "check":
		var object metav1.PartialObjectMetadata
		if json.Unmarshal(call.Body, &object) == nil && call.Name == "" {
			call.Name = object.Name + object.GenerateName
		}
		var pod corev1.Pod
		call.Gated = call.Resource == "pods" && json.Unmarshal(call.Body, &pod) == nil && invariants.IsGated(&pod)
	case "patch":
		if call.Resource == "pods" {
			call.ReadPatch()
		}
	case "delete":
		var options metav1.DeleteOptions
		if json.Unmarshal(call.Body, &options) == nil && options.Preconditions != nil && options.Preconditions.UID != nil {
			call.Precondition = *options.Preconditions.UID
		}
	}
	return call, nil
}
