// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Call is one request to the API server in the words of its authorization.
type Call struct {
	// Verb is get, list, watch, create, update, patch or delete; "" for what is no resource, such as discovery.
	Verb string
	// Resource is the plural name and Subresource what is behind it, such as "pods" and "status".
	Resource, Subresource string
	// Namespace and Name are those of the object; a list has no name, a create takes it from the body.
	Namespace, Name string
	// AnyAge says that a list or a watch accepts a state of any age, such as that of an API server that lags behind.
	AnyAge bool
	// Precondition is the UID that a delete insists on; "" when it deletes whatever has the name.
	Precondition types.UID
	// Body is what a write sends, as JSON.
	Body []byte
}

// Match picks calls.
type Match func(*Call) bool

// Writes matches what changes the world. Events are left out: they are sent behind the back of the reconcilers, and
// nothing depends on them.
func Writes(c *Call) bool {
	switch c.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return c.Resource != "events" && c.Resource != "leases"
	}
	return false
}

// StatusWrites matches writes of a status.
func StatusWrites(c *Call) bool { return Writes(c) && c.Subresource == "status" }

// Creates matches creates of pods.
func Creates(c *Call) bool { return c.Verb == "create" && c.Resource == "pods" && c.Subresource == "" }

// Events matches what the operator tells people.
func Events(c *Call) bool { return c.Resource == "events" }

// AnyCall matches every call.
func AnyCall(*Call) bool { return true }

// AnyButWatch matches all calls for resources but watches, which have faults of their own.
func AnyButWatch(c *Call) bool { return c.Verb != "" && c.Verb != "watch" }

func (c *Call) String() string {
	parts := []string{c.Verb, c.Resource}
	if c.Subresource != "" {
		parts[1] += "/" + c.Subresource
	}
	return strings.Join(append(parts, c.Name), " ")
}

// callOf reads a request, whose body can be read again afterwards.
func callOf(req *http.Request) (*Call, error) {
	call := &Call{}
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return call, nil
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		call.Namespace, parts = parts[1], parts[2:]
	}
	call.Resource = parts[0]
	if len(parts) > 1 {
		call.Name = parts[1]
	}
	if len(parts) > 2 {
		call.Subresource = parts[2]
	}
	switch req.Method {
	case http.MethodGet:
		call.Verb = "get"
		if call.Name == "" {
			call.Verb = "list"
		}
		query := req.URL.Query()
		if watch := query.Get("watch"); watch == "true" || watch == "1" {
			call.Verb = "watch"
		}
		call.AnyAge = query.Get("resourceVersion") == "0"
	case http.MethodPost:
		call.Verb = "create"
	case http.MethodPut:
		call.Verb = "update"
	case http.MethodPatch:
		call.Verb = "patch"
	case http.MethodDelete:
		call.Verb = "delete"
	}
	return call, call.readBody(req)
}

func (c *Call) readBody(req *http.Request) error {
	if req.Body == nil {
		return nil
	}
	var err error
	if c.Body, err = io.ReadAll(req.Body); err != nil {
		return err
	}
	_ = req.Body.Close()
	req.Body = io.NopCloser(strings.NewReader(string(c.Body)))
	switch c.Verb {
	case "create":
		var object metav1.PartialObjectMetadata
		if json.Unmarshal(c.Body, &object) == nil && c.Name == "" {
			c.Name = object.Name + object.GenerateName
		}
	case "delete":
		var options metav1.DeleteOptions
		if json.Unmarshal(c.Body, &options) == nil && options.Preconditions != nil && options.Preconditions.UID != nil {
			c.Precondition = *options.Preconditions.UID
		}
	}
	return nil
}
