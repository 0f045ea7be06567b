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

// OpenShift chooses the user of a pod, and its SecurityContextConstraints restricted-v2 reject any other user. On a cluster without
// SecurityContextConstraints, the pods without a template run as a fixed user.
func TestOpenShiftChoosesTheUserOfThePods(t *testing.T) {
	crds, err := openshift.CRDs(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	for title, test := range map[string]struct {
		crds      []string
		fixedUser bool
	}{
		"OpenShift":       {append([]string{"config/crd/bases"}, crds...), false},
		"another cluster": {[]string{"config/crd/bases"}, true},
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
			for _, pod := range list.Items {
				if fixed := pod.Spec.SecurityContext.RunAsUser != nil; fixed != test.fixedUser {
					t.Errorf("%s has a fixed user: %t, want %t", pod.Name, fixed, test.fixedUser)
				}
			}
			p.terminate(t)
		})
	}
}
