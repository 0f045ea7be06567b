// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package expectations

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/redhat/podset-operator/internal/backoff"
)

// Rejection is why a request about a pod waits: an API server rejected it, so that an immediate retry would not help,
// because a quota is exceeded, an admission policy forbids it, or the pod is invalid; or requests fail again and again.
type Rejection struct {
	// Message is the message of the API server.
	Message string
	// Invalid is true if the validation of the API server found invalid fields in the pod: its template must be edited.
	Invalid bool
	// NamespaceTerminating is true if the namespace is being deleted.
	NamespaceTerminating bool
	// Failed is true if the request failed without a rejection: an admission webhook or the API server failed, or there
	// was no answer.
	Failed bool
	// Exists is true if another object has the name.
	Exists bool
	// Began is when the request began that was rejected, and Until when it may be retried.
	Began, Until time.Time
}

// RetryAt returns when a request that must succeed at a time may be retried: at that time, whatever the delay is after
// requests before it.
func (r *Rejection) RetryAt(due time.Time) time.Time {
	if r.Began.Before(due) && due.Before(r.Until) {
		return due
	}
	return r.Until
}

// NewRejection returns the rejection of an error of the API server, without a time.
func NewRejection(err error) *Rejection {
	return &Rejection{
		Message:              err.Error(),
		Invalid:              namesFields(err),
		Exists:               apierrors.IsAlreadyExists(err),
		NamespaceTerminating: apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause),
	}
}

// namesFields reports whether an error comes from the validation of the API server, where each cause has a field. An
// admission policy that answers with the same code has none.
func namesFields(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	causes := status.Status().Details.Causes
	return len(causes) > 0 && !slices.ContainsFunc(causes, func(c metav1.StatusCause) bool { return c.Field == "" })
}

// LastRejection is the last rejection of one kind of request for one owner. The zero value has none.
type LastRejection struct {
	rejection  *Rejection // never changed once set
	generation int64
	backoff    backoff.Backoff
}

// Rejected returns the value after a request for a generation of the owner's spec, which began at began, was rejected
// at now. The delay before the next one doubles with each rejection.
func (l LastRejection) Rejected(err error, generation int64, began, now time.Time) LastRejection {
	next := l.backoff.Next(began, now, backoff.RejectedCreate)
	rejection := NewRejection(err)
	rejection.Began, rejection.Until = began, next.Until
	return LastRejection{rejection: rejection, generation: generation, backoff: next}
}

// Failed returns the value after a request failed without a rejection.
func (l LastRejection) Failed(err error, generation int64, began, now time.Time) LastRejection {
	next := l.backoff.Next(began, now, backoff.FailedWrite)
	return LastRejection{rejection: &Rejection{Message: err.Error(), Failed: true, Began: began, Until: next.Until}, generation: generation, backoff: next}
}

// Of returns the rejection that applies to a generation of the owner's spec, or nil if there is none. It must not be
// changed. An edited spec has a new generation, so its request is retried at once.
func (l LastRejection) Of(generation int64) *Rejection {
	if l.generation != generation {
		return nil
	}
	return l.rejection
}
