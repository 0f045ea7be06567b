// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/redhat/podset-operator/test/openshift"
)

// On a cluster with the API group of SecurityContextConstraints, restricted-v2 admits the pods without a template. On other clusters they
// run as a fixed user, which restricted-v2 rejects.
func TestOpenShiftAdmitsThePods(t *testing.T) {
	constraints, err := openshift.RestrictedV2()
	if err != nil {
		t.Fatal(err)
	}
	crds, err := openshift.CRDs(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	for title, test := range map[string]struct {
		crds     []string
		admitted bool
	}{
		"OpenShift":       {append([]string{"config/crd/bases"}, crds...), true},
		"another cluster": {[]string{"config/crd/bases"}, false},
	} {
		t.Run(title, func(t *testing.T) {
			c := startCluster(t)
			if _, err := envtest.InstallCRDs(c.config, envtest.CRDInstallOptions{Paths: test.crds, ErrorIfPathMissing: true, MaxTime: patience}); err != nil {
				t.Fatal(err)
			}
			admin, err := client.New(c.config, client.Options{Scheme: newScheme()})
			if err != nil {
				t.Fatal(err)
			}
			create(t, admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
				sample(t, "app_v1alpha1_podset.yaml", "shop"), sample(t, "cnat_v1alpha1_at.yaml", "shop"))
			p := start(t, "--kubeconfig="+c.kubeconfig("admin", "system:masters"), "--health-probe-bind-address=0", "--metrics-bind-address=0")
			list := &corev1.PodList{}
			NewWithT(t).Eventually(func() ([]corev1.Pod, error) {
				err := admin.List(t.Context(), list, client.InNamespace("shop"))
				return list.Items, err
			}).WithTimeout(time.Minute).Should(HaveLen(4))
			allocated := openshift.Namespace{FirstUser: 1000650000, Users: 10000, Group: 1000650000, Level: "s0:c26,c0"}
			for _, pod := range list.Items {
				if reasons := constraints.Reject(allocated, &pod.Spec); test.admitted != (len(reasons) == 0) {
					t.Errorf("%s: rejected for %q", pod.Name, reasons)
				}
			}
			p.terminate(t)
		})
	}
}
