// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/redhat/podset-operator/test/openshift"
)

// OpenShift chooses the user of a pod, and its SecurityContextConstraints restricted-v2 reject any other user. On a cluster without
// SecurityContextConstraints, the pods without a template run as a fixed user.
func TestOpenShift(t *testing.T) {
	t.Parallel()
	crds, err := openshift.CRDs(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for title, test := range map[string]struct {
		crds      []string
		fixedUser bool
	}{
		"OpenShift":       {append([]string{root + "/config/crd/bases"}, crds...), false},
		"another cluster": {[]string{root + "/config/crd/bases"}, true},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			server, admin := startServer(t, test.crds...)
			shop := namespace(t, admin)
			podSet, at := samples(t, shop)
			create(t, admin, podSet, at)
			p := start(t, nil, append(noPorts, "--kubeconfig="+administrator(t, server))...)
			list := &corev1.PodList{}
			NewWithT(t).Eventually(func() ([]corev1.Pod, error) {
				err := admin.List(t.Context(), list, client.InNamespace(shop))
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
