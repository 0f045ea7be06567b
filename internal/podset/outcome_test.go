// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/redhat/podset-operator/internal/testutil"
)

func TestOutcome_Succeeded(t *testing.T) {
	pods := []*corev1.Pod{testutil.MakePod("x").Obj()}
	for title, tc := range map[string]struct {
		outcome Outcome
		want    bool
	}{
		"nothing was done":                 {Outcome{}, false},
		"pods were made":                   {Outcome{Created: pods}, true},
		"pods were deleted":                {Outcome{Deleted: pods}, true},
		"pods were removed":                {Outcome{CleanedUp: pods}, true},
		"one was made, the next rejected":  {Outcome{Created: pods, Rejected: errors.New("no")}, false},
		"one was made, the next was not":   {Outcome{Created: pods, CreateError: errors.New("no")}, false},
		"one was deleted, the next is not": {Outcome{Deleted: pods, DeleteError: errors.New("no")}, false},
		"a name was in use":                {Outcome{Created: pods, Conflicting: pods[0]}, false},
	} {
		if got := tc.outcome.Succeeded(); got != tc.want {
			t.Errorf("%s: %t, want %t", title, got, tc.want)
		}
	}
}

func TestOutcome_FailedWebhook(t *testing.T) {
	webhook, unknown := apierrors.NewInternalError(errors.New(`failed calling webhook "w": EOF`)), errors.New("no answer")
	for title, tc := range map[string]struct {
		outcome     Outcome
		webhook     string
		unexplained error
	}{
		"nothing failed":                          {},
		"a webhook fails":                         {Outcome{CreateError: fmt.Errorf("creating: %w", webhook)}, "w", nil},
		"it prevents a deletion":                  {Outcome{DeleteError: webhook}, "w", nil},
		"it prevents a write of the status":       {Outcome{StatusError: webhook}, "w", nil},
		"there is no answer":                      {Outcome{CreateError: unknown}, "", unknown},
		"a webhook fails, and there is no answer": {Outcome{CreateError: webhook, StatusError: unknown}, "w", unknown},
		"there is no answer, and a webhook fails": {Outcome{CreateError: unknown, DeleteError: webhook}, "w", unknown},
		"a webhook denies a create: a rejection":  {Outcome{Rejected: webhook}, "", nil},
	} {
		webhook, unexplained := tc.outcome.FailedWebhook(), tc.outcome.Unexplained()
		if webhook != tc.webhook || !errors.Is(unexplained, tc.unexplained) {
			t.Errorf("%s: %q, %v", title, webhook, unexplained)
		}
	}
}

func TestModifiedError(t *testing.T) {
	set, other := testutil.MakePodSet("a").Obj(), testutil.MakePodSet("other").Obj()
	const remedy = ", so the pod cannot be used: exclude pods with the label app.kubernetes.io/managed-by: podset-operator from the webhook or policy that changes them"
	for _, tc := range []struct {
		pod  *corev1.Pod
		want string
	}{
		{testutil.MakePod("x").Obj(), "admission removed the owner reference to PodSet a"},
		{testutil.MakePod("x").OwnedBy(other).Obj(), "admission replaced the owner reference to PodSet a with one to PodSet other"},
		{testutil.MakePod("y").OwnedBy(set).Obj(), "admission changed the name of pod x to y"},
	} {
		if got := ModifiedError(set, "x", tc.pod); got == nil || got.Error() != tc.want+remedy {
			t.Errorf("got %q", got)
		}
	}
	if err := ModifiedError(set, "x", testutil.MakePod("x").OwnedBy(set).Label("sidecar", "injected").Obj()); err != nil {
		t.Errorf("a pod with another label: %v", err)
	}
}
