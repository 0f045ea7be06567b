// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/redhat/podset-operator/test/apiserver"
)

func TestManager(t *testing.T) {
	t.Parallel()
	shop, bank, elsewhere := namespace(t, admin), namespace(t, admin), namespace(t, admin)
	probes, metrics, profiles := apiserver.FreeAddress(t), apiserver.FreeAddress(t), apiserver.FreeAddress(t)
	p := start(t, []string{"WATCH_NAMESPACE=" + shop + "," + bank, "RELATED_IMAGE_BUSYBOX=registry.example.com/busybox:1", "PODSET_OPERATOR_DEFAULT_IMAGE_PULL_SECRETS=mirror", "NO_PROXY=.svc"},
		"--kubeconfig="+administrator(t, cluster),
		"--health-probe-bind-address="+probes, "--metrics-bind-address="+metrics, "--pprof-bind-address="+profiles, "--metrics-tls-min-version=VersionTLS13")
	g := NewWithT(t)
	web := insecure()
	get := func(url, token string) (int, string) { return get(t, web, url, token) }
	for _, url := range []string{probes + "/healthz", probes + "/readyz", profiles + "/debug/pprof/cmdline"} {
		g.Eventually(func() int { code, _ := get("http://"+url, ""); return code }).WithTimeout(time.Minute).Should(Equal(http.StatusOK), url)
	}

	for _, name := range []string{elsewhere, shop, bank} {
		podSet, at := samples(t, name)
		create(t, admin, podSet, at)
	}
	for _, served := range []string{shop, bank} {
		g.Eventually(pods(t, admin, served)).WithTimeout(30 * time.Second).Should(Equal(4))
	}
	g.Expect(pods(t, admin, elsewhere)()).To(BeZero())
	pod := &corev1.Pod{}
	g.Expect(admin.Get(t.Context(), client.ObjectKey{Namespace: shop, Name: "at-sample-pod"}, pod)).To(Succeed())
	g.Expect(pod.Spec.Containers[0].Image).To(Equal("registry.example.com/busybox:1"))
	g.Expect(pod.Spec.SecurityContext.RunAsUser).NotTo(BeNil(), "this is not OpenShift")
	g.Expect(pod.Spec.ImagePullSecrets).To(Equal([]corev1.LocalObjectReference{{Name: "mirror"}}))
	g.Expect(pod.Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "NO_PROXY", Value: ".svc"}))

	unauthorized := func() int { code, _ := get("https://"+metrics+"/metrics", ""); return code }
	g.Eventually(unauthorized).WithTimeout(30*time.Second).Should(Equal(http.StatusUnauthorized), "metrics without a token")
	code, _ := get("https://"+metrics+"/metrics", serviceAccount(t, admin, shop))
	g.Expect(code).To(Equal(http.StatusForbidden), "metrics without the permission")
	token := scraper(t, admin)
	g.Eventually(func() string { _, body := get("https://"+metrics+"/metrics", token); return body }).WithTimeout(30 * time.Second).Should(And(
		ContainSubstring("podset_operator_podsets 2\n"),
		ContainSubstring("podset_operator_podset_desired_pods 6\n"),
		ContainSubstring("podset_operator_podset_ready_pods 0\n"),
		ContainSubstring(`podset_operator_ats{phase="RUNNING"} 2`),
		ContainSubstring("podset_operator_at_start_delay_seconds_count 2\n"),
		ContainSubstring(`podset_operator_at_runs_total{reason="PodLost",result="Failed"} 0`),
		ContainSubstring(`podset_operator_rejected_creates_total{kind="At"} 0`),
		ContainSubstring(`podset_operator_rejected_creates_total{kind="PodSet"} 0`),
		ContainSubstring(`podset_operator_stale_cache_conflicts_total{kind="PodSet"} 0`),
		ContainSubstring(`podset_operator_pod_name_collisions_total{kind="At"} 0`),
	))
	checkTLS(t, metrics)
	get("http://"+metrics, "") // Any pod can connect without TLS, or with a wrong token.
	get("https://"+metrics+"/metrics", "wrong")
	if log := p.terminate(t); strings.Contains(log, "TLS handshake") || strings.Contains(log, "bearer token") {
		t.Error(log)
	}
}

// checkTLS checks that a client that prefers HTTP/2 cannot use it, and that one that knows only TLS 1.2 is rejected.
func checkTLS(t *testing.T, address string) {
	t.Helper()
	for _, newest := range []uint16{tls.VersionTLS13, tls.VersionTLS12} {
		dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}, MaxVersion: newest}} //nolint:gosec // the certificate is self-signed
		connection, err := dialer.DialContext(t.Context(), "tcp", address)
		if accepted := err == nil; accepted != (newest == tls.VersionTLS13) {
			t.Fatalf("%s is accepted: %t, %v", tls.VersionName(newest), accepted, err)
		}
		if err != nil {
			continue
		}
		if got := connection.(*tls.Conn).ConnectionState().NegotiatedProtocol; got != "http/1.1" {
			t.Errorf("metrics are served with %q", got)
		}
		_ = connection.Close()
	}
}

// insecure returns a client that accepts every certificate, because the certificate of the metrics is self-signed.
func insecure() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the certificate is self-signed
	}}
}

// get returns the status code and the body of a response.
func get(t *testing.T, web *http.Client, url, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := web.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

// scraper creates a service account with permission to read metrics, and returns its token.
func scraper(t *testing.T, admin client.Client) string {
	t.Helper()
	home := namespace(t, admin)
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "scraper-" + home},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: home, Name: "scraper"}},
	}
	create(t, admin, role, binding)
	return serviceAccount(t, admin, home)
}

// serviceAccount creates the service account scraper in a namespace, and returns its token.
func serviceAccount(t *testing.T, admin client.Client, namespace string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scraper"}}
	create(t, admin, account)
	request := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}
