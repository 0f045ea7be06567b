// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Without OLM, `make deploy` installs the operator and `make undeploy` removes it completely. The operator works with the permissions of
// its own service account.
func TestDeploy(t *testing.T) {
	p := newProject(t)
	system := p.newSystem("make undeploy")
	system.types("make deploy IMG=" + next.manager)
	eventually(t, "the manager runs", func(g gomega.Gomega) { system.runs(t.Context(), g, next) })
	system.types("kubectl get all -n podset-operator-system")

	t.Run("the tutorial", func(t *testing.T) { newProject(t).followsTheTutorial() })
	t.Run("the plugin kubectl at", func(t *testing.T) { newProject(t).usesThePlugin() })
	t.Run("deletion", func(t *testing.T) { newProject(t).deletes() })
	t.Run("a namespace for restricted pods", func(t *testing.T) { newProject(t, restricted).isRestricted() })
	t.Run("a user without permission to create pods", func(t *testing.T) { newProject(t).rejectsUsersWithoutPodPermission() })
	t.Run("metrics", func(t *testing.T) { newProject(t).showsMetrics(system) })

	system.types("make undeploy")
	gone(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system.name}})
	p.leavesNothing()
}

// isRestricted checks that pods without a template run under the restricted Pod Security Standard.
func (p *project) isRestricted() {
	settled(p.t, p.newPodSet("web", 2))
	done(p.t, p.newAt("hello", "now", "echo hello"))
}

// leader returns the pod that holds the lease.
func (p *project) leader(g gomega.Gomega) string {
	lease := &coordinationv1.Lease{}
	g.Expect(admin.Get(context.Background(), client.ObjectKey{Namespace: p.name, Name: operatorName}, lease)).To(gomega.Succeed())
	g.Expect(lease.Spec.HolderIdentity).NotTo(gomega.BeNil())
	pod, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return pod
}
