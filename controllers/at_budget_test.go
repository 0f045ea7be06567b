// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/internal/at/proof"
	"github.com/redhat/podset-operator/internal/testutil"
)

// withoutBudgets does something while the operator lacks the permission for PodDisruptionBudgets.
func withoutBudgets(t *testing.T, do func()) {
	t.Helper()
	role := refresh(NewWithT(t), t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "manager-role"}})
	granted := role.DeepCopy()
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.APIGroups, policyv1.GroupName) })
	if err := admin.Patch(t.Context(), role, client.MergeFrom(granted)); err != nil {
		t.Fatal(err)
	}
	restore := func() {
		if err := admin.Patch(context.Background(), granted.DeepCopy(), client.RawPatch(types.MergePatchType, rulesOf(t, granted))); err != nil {
			t.Error(err)
		}
	}
	defer restore() // also if the test fails
	expectPermission(t, false)
	do()
	restore()
	expectPermission(t, true)
}

func rulesOf(t *testing.T, role *rbacv1.ClusterRole) []byte {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"rules": role.Rules})
	if err != nil {
		t.Fatal(err)
	}
	return patch
}

// expectPermission waits until the API server has seen a change of the permission.
func expectPermission(t *testing.T, permitted bool) {
	t.Helper()
	NewWithT(t).Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "operator", ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: "default", Verb: "create", Group: policyv1.GroupName, Resource: "poddisruptionbudgets",
		}}}
		g.Expect(admin.Create(ctx, review)).To(Succeed())
		g.Expect(review.Status.Allowed).To(Equal(permitted))
	}).WithTimeout(patience).Should(Succeed())
}

// expectReady waits for a reason of the condition Ready of an At, with a part of its message.
func expectReady(t *testing.T, at *cnatv1alpha1.At, reason, message string) {
	t.Helper()
	NewWithT(t).Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		ready := meta.FindStatusCondition(refresh(g, ctx, at).Status.Conditions, cnatv1alpha1.ConditionReady)
		g.Expect(ready).NotTo(BeNil())
		g.Expect(ready.Reason + " " + ready.Message).To(And(HavePrefix(reason+" "), ContainSubstring(message)))
	}).WithTimeout(patience).Should(Succeed())
}

// The run starts only once its budget exists, and the budget is gone after the end.
func TestAt_uninterrupted(t *testing.T) {
	namespace, g := newNamespace(t), NewWithT(t)
	uninterrupted := func(name, schedule string) *cnatv1alpha1.At {
		at := newAt(namespace, name, schedule, "true")
		at.Spec.Uninterrupted, at.Spec.ActiveDeadlineSeconds = ptr.To(true), ptr.To[int64](3600)
		create(t, at)
		return at
	}
	withoutBudgets(t, func() {
		const forbidden = `User "operator" cannot create resource "poddisruptionbudgets" in API group "policy"`
		expectReady(t, uninterrupted("later", time.Now().Add(time.Hour).UTC().Format(time.RFC3339)), cnatv1alpha1.ReasonWouldBeRejected, forbidden)
		at := uninterrupted("denied", "now")
		expectReady(t, at, cnatv1alpha1.ReasonFailedStart, forbidden)
		if !proof.IsGated(podOf(t, at, "denied-pod")) {
			t.Error("the pod has started without a budget")
		}
	})

	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "long-pod"}}
	create(t, budget)
	at := uninterrupted("long", "now")
	expectReady(t, at, cnatv1alpha1.ReasonFailedStart, "it already exists and does not belong to this At")
	pod := podOf(t, at, "long-pod")
	if !proof.IsGated(pod) {
		t.Error("the pod has started with the budget of another object")
	}
	if err := admin.Delete(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	g.Eventually(t.Context(), func(g Gomega, ctx context.Context) {
		g.Expect(proof.IsGated(refresh(g, ctx, pod))).To(BeFalse())
	}).WithTimeout(patience).Should(Succeed())
	budget = refresh(g, t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "long-pod"}})
	if !metav1.IsControlledBy(budget, at) {
		t.Errorf("the owner of the budget: %v", budget.OwnerReferences)
	}
	refresh(g, t.Context(), at)
	base := at.DeepCopy()
	at.Spec.Uninterrupted = nil
	if err := admin.Patch(t.Context(), at, client.MergeFrom(base)); !apierrors.IsInvalid(err) {
		t.Errorf("an edit after the start: %v", err)
	}

	exit(t, pod, 0, "")
	expectPhase(t, at, cnatv1alpha1.PhaseDone)
	g.Eventually(t.Context(), func(ctx context.Context) bool {
		return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(budget), budget))
	}).WithTimeout(patience).Should(BeTrue())
}

// Only a budget of the At that stays protects its run.
func TestAtReconciler_protect(t *testing.T) {
	budget := func(owner types.UID, deleted bool) *policyv1.PodDisruptionBudget {
		at := testutil.MakeAt("a").Obj()
		at.UID = owner
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{
			Namespace: at.Namespace, Name: "a-pod", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(at, atKind)},
		}}
		if deleted {
			b.DeletionTimestamp, b.Finalizers = ptr.To(metav1.NewTime(testutil.AtDue)), []string{"example.com/keep"}
		}
		return b
	}
	for title, tc := range map[string]struct {
		existing []client.Object
		rejected bool
	}{
		"there is none":              {},
		"that of an earlier process": {existing: []client.Object{budget("a-uid", false)}},
		"that of another At":         {existing: []client.Object{budget("other", false)}, rejected: true},
		"its own is being deleted":   {existing: []client.Object{budget("a-uid", true)}, rejected: true},
	} {
		r, _ := atOn(newStore(t, interceptor.Funcs{}, tc.existing...), testutil.AtDue)
		if got := r.protect(t.Context(), budget("a-uid", false)); (got.Rejected != nil) != tc.rejected || got.Failed != nil {
			t.Errorf("%s: %+v", title, got)
		}
	}
}
