// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package podsecurity

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// That an API server which enforces "restricted" takes such a pod is shown by a test of the package controllers.
func TestRestrict(t *testing.T) {
	for title, tc := range map[string]struct {
		fixedUser bool
		user      *int64
	}{
		"on plain Kubernetes the pod runs as nobody":     {true, ptr.To[int64](65534)},
		"on OpenShift the namespace decides on the user": {false, nil},
	} {
		got := corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}}
		Restrict(&got, tc.fixedUser)

		restricted := &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
		want := corev1.PodSpec{
			AutomountServiceAccountToken: ptr.To(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: tc.user,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{Name: "a", SecurityContext: restricted}, {Name: "b", SecurityContext: restricted}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got): %s", title, diff)
		}
	}
}
