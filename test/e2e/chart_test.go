// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/redhat/podset-operator/test/repository"
)

// helmFlags are the values of the chart for the images of these tests.
func helmFlags(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("helm"); err != nil {
		t.Skip("helm is not installed")
	}
	flags := "--set test.enabled=true,test.image=" + kubectlImage
	if busybox := os.Getenv("BUSYBOX_IMG"); busybox != "" {
		flags += ",busyboxImage=" + busybox
	}
	return flags
}

// imageAndTag separates the repository of an image and its tag.
func imageAndTag(image string) (repository, tag string) {
	n := strings.LastIndex(image, ":")
	return image[:n], image[n+1:]
}

// The chart installs the operator, tests it, upgrades it without a restart of a pod, and uninstalls it without losing an object.
func TestChart(t *testing.T) {
	skipInShortMode(t)
	p := newProject(t)
	flags := helmFlags(t)
	system := p.newSystem("helm uninstall podset-operator -n podset-operator-system --ignore-not-found; kubectl delete namespace --ignore-not-found podset-operator-system chart-check; make uninstall")
	image, tag := imageAndTag(next.manager)
	system.types("hack/chart-check.sh %s %s %s", image, tag, flags)
	p.leavesNothing()
}

// Two operators for disjoint namespaces, installed in each documented way, both lead and serve their own namespaces.
func TestChart_two(t *testing.T) {
	skipInShortMode(t)
	homes := [2]*project{newProject(t), newProject(t)}
	teams := [2]*project{newProject(t), newProject(t)}
	of := func(t *testing.T, projects [2]*project) [2]*project {
		return [2]*project{projects[0].of(t), projects[1].of(t)}
	}
	t.Cleanup(func() { homes[0].types("make uninstall") })

	t.Run("Helm", func(t *testing.T) {
		flags := helmFlags(t)
		homes, teams := of(t, homes), of(t, teams)
		image, tag := imageAndTag(next.manager)
		for n, release := range []string{"podset-operator", "team-b"} {
			home := homes[n]
			if n == 1 {
				flags += ",crds.install=false,rbac.userRoles=false"
			}
			t.Cleanup(func() { home.types("helm uninstall %s --wait", release) })
			home.types("helm install %s charts/podset-operator --wait --timeout 2m --set image.repository=%s,image.tag=%s,watchNamespaces={%s} %s",
				release, image, tag, teams[n].name, flags)
			home.types("helm test %s --timeout 2m", release)
		}
		serveSideBySide(t, homes, teams)
		for n, account := range []string{"podset-operator", "team-b-podset-operator"} {
			for m, team := range teams {
				output, _ := execute(team.kubeconfig, "kubectl auth can-i create pods --as system:serviceaccount:"+homes[n].name+":"+account+"-controller-manager")
				if allowed := strings.TrimSpace(output) == "yes"; allowed != (n == m) {
					t.Errorf("operator %d may create pods in namespace %d: %s", n, m, output)
				}
			}
		}
	})

	t.Run("kustomize", func(t *testing.T) {
		teams := of(t, teams)
		system := homes[0].of(t)
		system.name = "podset-operator-system"
		second := homes[1].of(t)
		second.name = "podset-operator-b"
		t.Cleanup(func() { teams[0].types("make undeploy DEPLOY=bin/e2e/team-b; make undeploy") })
		teams[0].types("make deploy IMG=%s && kubectl -n %s set env deployment/%s WATCH_NAMESPACE=%s",
			next.manager, system.name, deploymentName, teams[0].name)
		writeSecondInstallation(t, teams[1].name)
		teams[1].types("make deploy DEPLOY=bin/e2e/team-b IMG=" + next.manager)
		teams[1].types("kubectl create rolebinding podset-operator --clusterrole team-b-podset-operator-manager-role " +
			"--serviceaccount podset-operator-b:team-b-podset-operator-controller-manager")
		serveSideBySide(t, [2]*project{system, second}, teams)
	})

	t.Run("OLM v0", func(t *testing.T) {
		homes, teams := of(t, homes), of(t, teams)
		for n, home := range homes {
			home.offer(next)
			t.Cleanup(home.unsubscribe)
			home.subscribe(next, teams[n].name)
		}
		serveSideBySide(t, homes, teams)
	})
	if !t.Failed() {
		for _, home := range homes {
			home.removeRest()
		}
	}
}

// writeSecondInstallation writes the kustomization of docs/install.md for a namespace to bin/e2e/team-b.
func writeSecondInstallation(t *testing.T, namespace string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs/install.md"))
	if err != nil {
		t.Fatal(err)
	}
	documents := repository.Manifests(string(page))
	n := slices.IndexFunc(documents, func(document string) bool { return strings.Contains(document, "namePrefix: team-b-\n") })
	if n < 0 {
		t.Fatal("docs/install.md has no second installation")
	}
	overlay := strings.NewReplacer("../../config", "../../../config", "value: team-b", "value: "+namespace).Replace(documents[n])
	dir := filepath.Join(root, "bin/e2e/team-b")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serveSideBySide checks that each of two operators leads with its own lease, and that each namespace is served once.
func serveSideBySide(t *testing.T, homes, teams [2]*project) {
	t.Helper()
	for _, team := range teams {
		team.ask()
	}
	for n, team := range teams {
		settled(t, team.podSet("web"))
		done(t, team.at("hello"))
		leader := ""
		eventually(t, "one manager leads", func(g gomega.Gomega) {
			leader = homes[n].leader(g)
			g.Expect(leader).NotTo(gomega.BeEmpty())
		})
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: homes[n].name, Name: leader}}
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			t.Errorf("the leader in %s is not a pod there: %v", homes[n].name, err)
		}
	}
	teams[0].types("kubectl get podsets,ats,pods,leases -A -l '!component' | grep -E 'NAME|podset|web|hello'")
	for _, team := range teams {
		team.types("kubectl delete podset,at --all")
		team.hasNoPods()
	}
}
