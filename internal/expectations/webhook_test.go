// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package expectations

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestWebhook(t *testing.T) {
	answer := func(code int32, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: message}}
	}
	unreachable := apierrors.NewInternalError(errors.New(`failed calling webhook "a.example.com": failed to call webhook: Post "https://a.ns.svc:443/?timeout=10s": no endpoints available`))
	for title, tc := range map[string]struct {
		err  error
		want string
	}{
		"an unreachable webhook":                 {unreachable, "a.example.com"},
		"a wrapped answer":                       {fmt.Errorf("creating Pod a: %w", unreachable), "a.example.com"},
		"a webhook without details":              {apierrors.NewInternalError(errors.New(`failed calling webhook "a.example.com"; no further details available`)), "a.example.com"},
		"a webhook that reports its failure":     {answer(http.StatusInternalServerError, `admission webhook "a.example.com" denied the request: no database`), "a.example.com"},
		"a webhook that changes what it may not": {apierrors.NewInternalError(errors.New(`admission webhook "a.example.com" attempted to modify the object`)), "a.example.com"},
		"a denial":                               {answer(http.StatusForbidden, `admission webhook "a.example.com" denied the request: no`), "a.example.com"},
		"a quoted answer":                        {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", unreachable), ""},
		"a time-out of the API server":           {apierrors.NewTimeoutError("request did not complete within requested timeout", 0), ""},
		"a conversion webhook":                   {answer(http.StatusInternalServerError, `conversion webhook for app.example.com/v1, Kind=PodSet failed`), ""},
		"no answer":                              {errors.New(`failed calling webhook "a.example.com"`), ""},
		"nothing":                                {nil, ""},
	} {
		if got := Webhook(tc.err); got != tc.want {
			t.Errorf("%s: %q, want %q", title, got, tc.want)
		}
	}
}

// Each reconcile asks several times, and usually there is no error.
func TestWebhook_allocations(t *testing.T) {
	if allocated := testing.AllocsPerRun(10, func() { _ = Webhook(nil) }); allocated > 0 {
		t.Errorf("%g allocations", allocated)
	}
}
