// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package expectations

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	"github.com/redhat/podset-operator/internal/testutil"
)

func TestStatus(t *testing.T) {
	statusOf := func(set *appv1alpha1.PodSet) *appv1alpha1.PodSetStatus { return &set.Status }
	set := func(version string) *appv1alpha1.PodSet {
		set := testutil.MakePodSet("a").Obj()
		set.ResourceVersion = version
		return set
	}
	for title, tc := range map[string]struct {
		written, cached, want string
		remains               bool
	}{
		"nothing was written":              {"", "5", "5", false},
		"the cache is older":               {"9", "5", "9", true},
		"the cache shows what was written": {"9", "9", "9", false},
		"the cache is newer":               {"9", "10", "10", false},
		"the versions cannot be compared":  {"9", "x", "x", false},
	} {
		var written *Status[appv1alpha1.PodSetStatus]
		if tc.written != "" {
			written = &Status[appv1alpha1.PodSetStatus]{Version: tc.written, Value: appv1alpha1.PodSetStatus{Replicas: 3}}
		}
		cached := set(tc.cached)
		got, next := Newest(cached, written, statusOf)
		if got.ResourceVersion != tc.want || (got.Status.Replicas == 3) != tc.remains || (got == cached) == tc.remains || cached.ResourceVersion != tc.cached {
			t.Errorf("%s: got version %s, want %s, with %d replicas", title, got.ResourceVersion, tc.want, got.Status.Replicas)
		}
		if again, _ := Newest(set("1"), next, statusOf); (again.ResourceVersion == tc.written) != tc.remains {
			t.Errorf("%s: want the expectation to remain: %t", title, tc.remains)
		}
	}
}

func TestLastRejection(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", field.ErrorList{field.Required(field.NewPath("spec", "containers"), "")})
	if got := (LastRejection{}).Of(0); got != nil {
		t.Errorf("there was none, and %v is remembered", got)
	}
	first := LastRejection{}.Rejected(errors.New("quota"), 1, now, now)
	if diff := cmp.Diff(&Rejection{Message: "quota", Began: now, Until: now.Add(time.Second)}, first.Of(1)); diff != "" {
		t.Errorf("first rejection (-want +got): %s", diff)
	}
	if got := first.Of(2); got != nil {
		t.Errorf("the spec was edited, and %v is remembered", got)
	}
	second := first.Rejected(invalid, 2, now.Add(time.Second), now.Add(time.Second))
	if diff := cmp.Diff(&Rejection{Message: invalid.Error(), Invalid: true, Began: now.Add(time.Second), Until: now.Add(3 * time.Second)}, second.Of(2)); diff != "" {
		t.Errorf("second rejection, twice the delay (-want +got): %s", diff)
	}
	if diff := cmp.Diff(&Rejection{Message: "quota", Began: now, Until: now.Add(time.Second)}, first.Of(1)); diff != "" {
		t.Errorf("the first value has changed (-want +got): %s", diff)
	}
	last := second.Rejected(errors.New("slow"), 2, now.Add(3*time.Second), now.Add(time.Minute))
	if got := last.Of(2).Until; !got.Equal(now.Add(time.Minute + 4*time.Second)) {
		t.Errorf("a rejection that took long is retried at %s", got)
	}
	for due, want := range map[time.Duration]time.Duration{0: 3 * time.Second, 2 * time.Second: 2 * time.Second, time.Minute: 3 * time.Second} {
		if got := second.Of(2).RetryAt(now.Add(due)).Sub(now); got != want {
			t.Errorf("what is due after %s is retried after %s, want %s", due, got, want)
		}
	}
	for range 6 {
		at := last.Of(2).Until
		last = last.Rejected(errors.New("quota"), 2, at, at)
		if delay := last.Of(2).Until.Sub(at); delay > time.Minute {
			t.Errorf("a delay of %s", delay)
		}
	}
	if at := last.Of(2).Until; !last.Rejected(errors.New("quota"), 2, at, at).Of(2).Until.Equal(at.Add(time.Minute)) {
		t.Error("the longest delay is not a minute")
	}
}

func TestNewRejection(t *testing.T) {
	kind := schema.GroupKind{Kind: "Pod"}
	fields := field.ErrorList{field.Required(field.NewPath("spec", "containers"), "")}
	for title, tc := range map[string]struct {
		err  error
		want bool
	}{
		"the validation of the API server":       {apierrors.NewInvalid(kind, "a", fields), true},
		"a policy that answers with this code":   {apierrors.NewInvalid(kind, "a", nil), false},
		"a quota":                                {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New("quota")), false},
		"a wrapped answer":                       {fmt.Errorf("creating Pod a: %w", apierrors.NewInvalid(kind, "a", fields)), true},
		"an error that is not of the API server": {errors.New("invalid"), false},
	} {
		if got := NewRejection(tc.err).Invalid; got != tc.want {
			t.Errorf("%s: invalid: %t", title, got)
		}
	}
}
