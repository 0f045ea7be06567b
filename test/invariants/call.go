// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Event is one change of an object.
type Event struct {
	// Version is the resource version, which orders the changes of all kinds.
	Version uint64
	// Kind is Added, Modified, or Deleted.
	Kind watch.EventType
	// Object is the object after the change.
	Object client.Object
	// Seen is when the change was seen.
	Seen time.Time
}

// Call is one request to the API server, with the attributes that authorization uses.
type Call struct {
	// Verb is get, list, watch, create, update, patch, delete, or deletecollection, or "" for a request without a resource, such as
	// discovery.
	Verb string
	// Resource is the plural name of the resource, such as pods. Subresource is, for example, status.
	Resource, Subresource string
	// Namespace and Name are those of the object. A list has no name. A create has the name in its body.
	Namespace, Name string
	// AnyAge is true if a list or a watch accepts a state of any age (resourceVersion=0), such as an old watch cache.
	AnyAge bool
	// Precondition is the UID that a delete or a patch of a pod requires, or "" if it changes any object with the name.
	Precondition types.UID
	// Owner is the controller of the pod in a create, or "" if it is not known.
	Owner types.UID
	// Requested is the name in the body of a create, which admission may change, or "" if it is not known.
	Requested string
	// Generation is the generation of the At's spec for a dry run, or 0 if it is not known.
	Generation int64
	// Slot is the slot of the PodSet for a create, or "" if it is not known.
	Slot string
	// Gated is true if a create asks for the operator's gate.
	Gated bool
	// Opens is true if a patch of a pod removes a gate, and Stops if it sets the deadline.
	Opens, Stops bool
	// Body is the content of a write, as JSON.
	Body []byte
}

func (c *Call) String() string {
	resource := c.Resource
	if c.Subresource != "" {
		resource += "/" + c.Subresource
	}
	switch {
	case c.Opens:
		return "open " + c.Name
	case c.Stops:
		return "stop " + c.Name
	}
	return c.Verb + " " + resource + " " + c.Name
}

func (c *Call) createsPod() bool {
	return c.Verb == "create" && c.Resource == "pods" && c.Subresource == ""
}

// Write is one write request of the operator.
type Write struct {
	*Call
	// Process is the number of the process that sent it, from 1.
	Process int
	// Sent is when it was sent, or when the pass began that sent it. Left is when it was sent, or zero if that is Sent.
	Sent, Left time.Time
	// Clock is the time of the operator's clock at that moment.
	Clock time.Time
	// StaleUntil is when the watches of PodSets and Ats last began to deliver, or Sent if they were held at that moment.
	StaleUntil time.Time
	// StalePods is true if the cache of pods was known to be behind at that moment.
	StalePods bool
	// Shown has the pods that a watch had shown to the process, as far as that is known of a write of the status of an At.
	Shown map[types.UID]bool
	// Uncached is true if the process has seen only the response to the create of the pod that it deletes.
	Uncached bool
	// Code is the response code of the API server, or 0 if the call did not reach it.
	Code int
	// Stripped is true if admission removed the controller of the pod that was created.
	Stripped bool
	// Undone is true if admission restored what a patch of a pod changed.
	Undone bool
	// Renamed is true if admission changed the name of the pod, even if the pod was not created because another pod has the changed name.
	Renamed bool
	// UID and Version are those of the object in the response.
	UID     types.UID
	Version string
	// Fault describes what the operator received instead of the response, or is "" if it received the response.
	Fault string
}

// Verdict is the answer of the API server about a pod in a dry run.
type Verdict string

// The verdicts.
const (
	Accepted Verdict = "accepted"
	Rejected Verdict = "rejected"
	Changed  Verdict = "changed"   // Admission would change the identity of the pod.
	Taken    Verdict = "taken"     // Another pod has the name. Whether the At could use it depends on that pod.
	NoAnswer Verdict = "no answer" // The API server, or a webhook, gives no answer about the pod.
)

// Check is a dry run of the create of an At's pod, whose answer a process has received.
type Check struct {
	Call
	Process  int
	Received time.Time
	Verdict  Verdict
}

// isStale reports whether the caches of PodSets and Ats were behind when the operator sent the write.
func (w Write) isStale() bool { return !w.StaleUntil.Before(w.Sent) }

// left returns when the write was sent.
func (w Write) left() time.Time {
	if w.Left.IsZero() {
		return w.Sent
	}
	return w.Left
}

// Committed reports whether the API server committed the write, whatever the operator received.
func (w Write) Committed() bool { return w.Code >= 200 && w.Code < 300 }

func (w Write) String() string {
	received := ""
	if w.Fault != "" {
		received = ", the operator received: " + w.Fault
	}
	return fmt.Sprintf("process %d: %s -> %d%s", w.Process, w.Call, w.Code, received)
}
