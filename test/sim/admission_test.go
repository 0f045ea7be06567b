// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	appv1alpha1 "github.com/redhat/podset-operator/api/app/v1alpha1"
	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// BenchmarkRules measures what the rules of a CRD cost the API server when an object with a template is created, and when the status
// of one that has started is written. All rules run each time.
func BenchmarkRules(b *testing.B) {
	template := templateOf("busybox")
	for kind, object := range map[string]any{
		podSets: &appv1alpha1.PodSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appv1alpha1.PodSetSpec{Template: template}},
		ats: &cnatv1alpha1.At{
			Spec:   cnatv1alpha1.AtSpec{Schedule: "now", Command: "true", Template: template},
			Status: cnatv1alpha1.AtStatus{Phase: cnatv1alpha1.PhaseRunning},
		},
	} {
		a := admissions[kind]()
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			b.Fatal(err)
		}
		for what, old := range map[string]any{"create": nil, "status": runtime.DeepCopyJSON(content)} {
			b.Run(kind+"/"+what, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if errs, _ := a.rules.Validate(context.Background(), nil, a.schema, content, old, celconfig.RuntimeCELCostBudget); len(errs) > 0 {
						b.Fatal(errs)
					}
				}
			})
		}
	}
}
