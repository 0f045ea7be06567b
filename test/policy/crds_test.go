// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Even an administrator deletes the CRDs of the operator only after an annotation allows it, alone and in a collection.
func TestKeepCRDs(t *testing.T) {
	apply(t, "", overlay(t, "resources", "config/components/keep-crds", ""))
	crd := func(name string) *unstructured.Unstructured {
		return object(t, "", name, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}")
	}
	remove := func(ctx context.Context, name string) error {
		return as(t, "").Delete(ctx, crd(name), client.DryRunAll)
	}
	enforced(t, func(ctx context.Context) error { return remove(ctx, "ats.cnat.d2iq.com") })
	compare(t, remove(t.Context(), "ats.cnat.d2iq.com"), "would delete all ats of the cluster")
	compare(t, as(t, "").DeleteAllOf(t.Context(), crd(""), client.DryRunAll), "of the cluster; to allow it, run: kubectl annotate crd ")

	other := object(t, "", "things.example.com", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {
		group: example.com, scope: Namespaced, names: {kind: Thing, plural: things},
		versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`)
	create(t, other)
	compare(t, remove(t.Context(), "things.example.com"), "")

	compare(t, remove(t.Context(), "podsets.app.example.com"), "would delete all podsets of the cluster")
	allow := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"cnat.d2iq.com/allow-deletion":"true"}}}`))
	if err := as(t, "").Patch(t.Context(), crd("podsets.app.example.com"), allow); err != nil {
		t.Fatal(err)
	}
	compare(t, remove(t.Context(), "podsets.app.example.com"), "")
}
