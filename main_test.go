// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/redhat/podset-operator/internal/watchnamespace"
)

// cluster is an API server without CRDs, and users of it by the paths of their kubeconfigs.
type cluster struct {
	t           *testing.T
	environment *envtest.Environment
	config      *rest.Config
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, environment: &envtest.Environment{}}
	config, err := c.environment.Start()
	if err != nil {
		t.Fatal("starting etcd and kube-apiserver: ", err)
	}
	t.Cleanup(func() { _ = c.environment.Stop() })
	c.config = config
	return c
}

// kubeconfig is the path of a kubeconfig for a user.
func (c *cluster) kubeconfig(user string, groups ...string) string {
	c.t.Helper()
	added, err := c.environment.AddUser(envtest.User{Name: user, Groups: groups}, c.config)
	if err != nil {
		c.t.Fatal(err)
	}
	data, err := added.KubeConfig()
	if err != nil {
		c.t.Fatal(err)
	}
	path := filepath.Join(c.t.TempDir(), user)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// quickly runs the operator and expects it to give up.
func quickly(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := run(ctx, append(args, "--metrics-bind-address=0", "--health-probe-bind-address=0"))
	if err == nil {
		t.Fatal("the operator started")
	}
	return err.Error()
}

func TestMistakesAtTheStartAreOneClearLine(t *testing.T) {
	c := startCluster(t)
	admin, nobody := c.kubeconfig("admin", "system:masters"), c.kubeconfig("nobody")
	refused := filepath.Join(t.TempDir(), "refused")
	data, err := os.ReadFile(admin)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := regexp.MustCompile(`server: .*`).ReplaceAll(data, []byte("server: https://"+freeAddress(t)))
	if err := os.WriteFile(refused, elsewhere, 0o600); err != nil {
		t.Fatal(err)
	}
	expect := func(title, got string, want ...string) {
		t.Helper()
		t.Logf("%s: podset-operator: %s", title, got)
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q does not say %q", title, got, part)
			}
		}
		if strings.Contains(got, "\n") {
			t.Errorf("%s: more than one line: %q", title, got)
		}
	}
	expect("an unknown argument", quickly(t, "start"), `unexpected argument "start"`, "-help")
	t.Setenv(watchnamespace.EnvVar, "Not_Valid")
	expect("a namespace that cannot be", quickly(t), `WATCH_NAMESPACE: "Not_Valid" cannot be a namespace`, "comma-separated")
	t.Setenv(watchnamespace.EnvVar, "")
	expect("no kubeconfig", quickly(t, "--kubeconfig=/does/not/exist"), "no cluster to work on", "/does/not/exist", "KUBECONFIG")
	expect("no API server", quickly(t, "--kubeconfig="+refused), "cannot reach the API server at", "connection refused")
	expect("no CRDs", quickly(t, "--kubeconfig="+admin), "podsets.app.example.com is not installed", "make install")

	if _, err := envtest.InstallCRDs(c.config, envtest.CRDInstallOptions{Paths: []string{"config/crd/bases"}}); err != nil {
		t.Fatal(err)
	}
	expect("no rights", quickly(t, "--kubeconfig="+nobody), "not allowed to list podsets.app.example.com in all namespaces", "WATCH_NAMESPACE")
	t.Setenv(watchnamespace.EnvVar, "shop,bank")
	expect("no rights in a namespace", quickly(t, "--kubeconfig="+nobody), "in namespace bank")
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func TestTheManagerServesItsNamespacesItsProbesAndItsMetrics(t *testing.T) {
	c := startCluster(t)
	if _, err := envtest.InstallCRDs(c.config, envtest.CRDInstallOptions{Paths: []string{"config/crd/bases"}}); err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(c.config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shop", "bank", "elsewhere"} {
		if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(watchnamespace.EnvVar, "shop,bank")
	probes, metrics := freeAddress(t), freeAddress(t)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() {
		stopped <- run(ctx, []string{
			"--kubeconfig=" + c.kubeconfig("admin", "system:masters"),
			"--health-probe-bind-address=" + probes, "--metrics-bind-address=" + metrics,
		})
	}()
	g := NewWithT(t)
	web := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the certificate signs itself
	}}
	get := func(url, token string) (int, string) {
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
	for _, probe := range []string{"healthz", "readyz"} {
		g.Eventually(func() int { code, _ := get("http://"+probes+"/"+probe, ""); return code }).WithTimeout(30 * time.Second).Should(Equal(http.StatusOK))
	}

	for _, name := range []string{"elsewhere", "shop", "bank"} {
		set, at := sample(t, "app_v1alpha1_podset.yaml", name), sample(t, "cnat_v1alpha1_at.yaml", name)
		for _, obj := range []client.Object{set, at} {
			if err := admin.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
	}
	pods := func(namespace string) int {
		list := &corev1.PodList{}
		g.Expect(admin.List(t.Context(), list, client.InNamespace(namespace))).To(Succeed())
		return len(list.Items)
	}
	for _, served := range []string{"shop", "bank"} {
		g.Eventually(func() int { return pods(served) }).WithTimeout(30 * time.Second).Should(Equal(4))
	}
	g.Expect(pods("elsewhere")).To(BeZero())

	if code, _ := get("https://"+metrics+"/metrics", ""); code != http.StatusUnauthorized {
		t.Errorf("metrics without a token: %d", code)
	}
	token := scraper(t, admin)
	g.Eventually(func() string { _, body := get("https://"+metrics+"/metrics", token); return body }).WithTimeout(30 * time.Second).Should(And(
		ContainSubstring("podset_operator_podsets 2\n"),
		ContainSubstring("podset_operator_podset_desired_pods 6\n"),
		ContainSubstring("podset_operator_podset_ready_pods 0\n"),
		ContainSubstring(`podset_operator_ats{phase="RUNNING"} 2`),
		ContainSubstring("podset_operator_at_start_delay_seconds_count 2\n"),
	))
	cancel()
	g.Eventually(stopped).WithTimeout(30 * time.Second).Should(Receive(BeNil()))
}

// scraper makes a service account that may read metrics, and returns a token of it.
func scraper(t *testing.T, admin client.Client) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "scraper"}}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "scraper"},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "scraper"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
	for _, obj := range []client.Object{account, role, binding} {
		if err := admin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	request := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// sample reads an object from config/samples into a namespace.
func sample(t *testing.T, file, namespace string) client.Object {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("config", "samples", file))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &obj.Object); err != nil {
		t.Fatal(err)
	}
	obj.SetNamespace(namespace)
	return obj
}
