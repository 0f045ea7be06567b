// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"

	"github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
)

// rejectsUsersWithoutPodPermission checks that a user without permission to create pods cannot create PodSets or Ats either, even if a
// role allows it.
func (p *project) rejectsUsersWithoutPodPermission() {
	as := rest.CopyConfig(cluster)
	as.Impersonate = rest.ImpersonationConfig{UserName: "somebody"}
	somebody, err := client.New(as, client.Options{Scheme: scheme})
	if err != nil {
		p.t.Fatal(err)
	}
	p.types("kubectl create role writer --verb=create --resource=podsets.app.example.com,ats.cnat.d2iq.com; kubectl create rolebinding writer --role writer --user somebody")
	at := p.at("hello")
	at.Spec = cnatv1alpha1.AtSpec{Schedule: "now", Command: "true"}
	for _, obj := range []client.Object{p.podSet("web"), at} {
		eventually(p.t, "the policy rejects the object", func(g gomega.Gomega) {
			err := somebody.Create(p.t.Context(), obj.DeepCopyObject().(client.Object), client.DryRunAll) // the policy may not be in effect yet
			g.Expect(apierrors.IsForbidden(err)).To(gomega.BeTrue(), "%v", err)
			g.Expect(err.Error()).To(gomega.ContainSubstring("somebody may not create pods in the namespace " + p.name))
		})
	}
}

// showsMetrics reads the metrics with permission, without permission, and without a token.
func (p *project) showsMetrics(system *project) {
	settled(p.t, p.newPodSet("web", 2))
	create(p.t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: p.name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "podset-operator-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "reader", Namespace: p.name}},
	})
	p.t.Cleanup(func() { _, _ = execute(p.kubeconfig, "kubectl delete clusterrolebinding "+p.name) })
	p.types("kubectl create serviceaccount reader; kubectl create serviceaccount stranger")
	address := p.forward(system.name, "service/podset-operator-controller-manager-metrics-service", "8443")

	for account, want := range map[string]int{"": http.StatusUnauthorized, "stranger": http.StatusForbidden, "reader": http.StatusOK} {
		token := ""
		if account != "" {
			token = p.token(account)
		}
		eventually(p.t, "the metrics for "+account, func(g gomega.Gomega) {
			// The manager creates a new self-signed certificate at each start.
			status, body := get(p.t.Context(), g, "https://"+address+"/metrics", token, &tls.Config{InsecureSkipVerify: true})
			g.Expect(status).To(gomega.Equal(want), body)
			if want == http.StatusOK {
				g.Expect(body).To(gomega.MatchRegexp(`(?m)^podset_operator_podset_ready_pods\S* [1-9]`))
			}
		})
	}
}

// token returns a token of a service account of the project.
func (p *project) token(account string) string {
	output, err := execute(p.kubeconfig, "kubectl create token "+account)
	if err != nil {
		p.t.Fatal(output, err)
	}
	return strings.TrimSpace(output)
}

// forward makes a port of a service reachable for the rest of the test, and returns its address.
func (p *project) forward(namespace, service, port string) string {
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, "kubectl", "--kubeconfig", p.kubeconfig, "port-forward", "-n", namespace, service, ":"+port)
	output, err := command.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { cancel(); _ = command.Wait() })
	line, err := bufio.NewReader(output).ReadString('\n')
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	if address == "" {
		p.t.Fatalf("kubectl port-forward printed %q: %v", line, err)
	}
	return address
}

func get(ctx context.Context, g gomega.Gomega, url, token string, trust *tls.Config) (status int, body string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: trust}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	return response.StatusCode, string(content)
}
