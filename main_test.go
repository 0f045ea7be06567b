// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/redhat/podset-operator/controllers"
	"github.com/redhat/podset-operator/internal/watchnamespace"
	"github.com/redhat/podset-operator/test/apiserver"
)

// cluster is an API server without CRDs that can create kubeconfigs for users.
type cluster struct {
	t           *testing.T
	environment *envtest.Environment
	config      *rest.Config
}

// asManager is the environment variable that makes the test binary run the manager. The tests need a process for each manager, because
// they check its exit code.
const asManager = "RUN_AS_MANAGER"

func TestMain(m *testing.M) {
	if os.Getenv(asManager) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// operator is a running manager.
type operator struct {
	*exec.Cmd
	log   *bytes.Buffer // complete when the process has ended
	ended chan error
}

// start starts the manager. It ends when the test ends, or earlier.
func start(t *testing.T, args ...string) *operator {
	t.Helper()
	p := &operator{Cmd: exec.CommandContext(t.Context(), os.Args[0], args...), log: &bytes.Buffer{}, ended: make(chan error, 1)}
	p.Env = append(os.Environ(), asManager+"=yes")
	p.Stdout, p.Stderr = p.log, p.log
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.Wait() }()
	t.Cleanup(func() {
		if t.Failed() && p.ProcessState == nil {
			_ = p.Process.Kill()
			t.Logf("the manager ended: %v; its output:\n%s", <-p.ended, p.log)
		}
	})
	return p
}

// terminate ends the process with the signal that the kubelet sends, and returns its output.
func (p *operator) terminate(t *testing.T) string {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.ended:
		if err != nil {
			t.Errorf("the manager did not end cleanly: %v\n%s", err, p.log)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the manager did not end")
	}
	return p.log.String()
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, environment: &envtest.Environment{ControlPlaneStartTimeout: 3 * time.Minute}}
	t.Cleanup(func() { _ = c.environment.Stop() })
	config, err := c.environment.Start()
	if err != nil {
		t.Fatal("starting etcd and kube-apiserver: ", err)
	}
	c.config = config
	return c
}

// startClusterWithCRDs starts a cluster that has both kinds, and returns it with a client that may do everything.
func startClusterWithCRDs(t *testing.T) (*cluster, client.Client) {
	t.Helper()
	c := startCluster(t)
	if _, err := envtest.InstallCRDs(c.config, envtest.CRDInstallOptions{Paths: []string{"config/crd/bases"}, MaxTime: patience}); err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(c.config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c, admin
}

// address returns the address of the API server.
func (c *cluster) address() string {
	serving := c.environment.ControlPlane.APIServer.SecureServing
	return net.JoinHostPort(serving.Address, serving.Port)
}

// kubeconfig returns the path of a new kubeconfig for a user.
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

// quickly runs the operator, expects it to fail, and returns the error.
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

func TestAMistakeEndsTheProcess(t *testing.T) {
	for arg, want := range map[string]string{"start": "podset-operator: unexpected argument", "-help": "Usage of podset-operator"} {
		p := start(t, arg)
		var exit *exec.ExitError
		if err := <-p.ended; !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.HasPrefix(p.log.String(), want) || strings.Contains(p.log.String(), "help requested") {
			t.Errorf("%s: %v\n%s", arg, err, p.log)
		}
	}
	t.Setenv("MEMORY_LIMIT", "512Mi")
	if got := quickly(t, "--kubeconfig=/does/not/exist"); !strings.Contains(got, "MEMORY_LIMIT") {
		t.Error(got)
	}
}

// fill sets a pointer to a zero value, also of a type that this package cannot name.
func fill[T any](p **T) { *p = new(T) }

func TestManagerOptions(t *testing.T) {
	o, err := parse([]string{"--leader-elect", "--leader-elect-resource-namespace=home", "--pprof-bind-address=:6060"})
	if err != nil {
		t.Fatal(err)
	}
	cluster := &controllers.PreflightResult{}
	fill(&cluster.Namespaces)
	got := managerOptions(o, newScheme(), cluster, nil)
	if !got.LeaderElection || !got.LeaderElectionReleaseOnCancel || got.LeaderElectionID != "podset-operator" || got.LeaderElectionNamespace != "home" ||
		ptr.Deref(got.RetryPeriod, 0) != time.Second || got.PprofBindAddress != ":6060" {
		t.Errorf("%+v", got)
	}
	c := &tls.Config{NextProtos: []string{"h2"}}
	for _, change := range got.Metrics.TLSOpts {
		change(c)
	}
	if !slices.Equal(c.NextProtos, []string{"http/1.1"}) {
		t.Errorf("metrics are served with %v", c.NextProtos)
	}
}

func TestMistakesAtTheStartAreOneClearLine(t *testing.T) {
	c := startCluster(t)
	admin, nobody := c.kubeconfig("admin", "system:masters"), c.kubeconfig("nobody")
	other := startCluster(t)
	foreign := redirect(t, other.kubeconfig("admin", "system:masters"), c.address())
	expect := func(title, got string, want ...string) {
		t.Helper()
		t.Logf("%s: podset-operator: %s", title, got)
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q does not contain %q", title, got, part)
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
	expect("another authority", quickly(t, "--kubeconfig="+foreign), "cannot reach the API server", "certificate signed by unknown authority")
	expect("no CRDs", quickly(t, "--kubeconfig="+admin), "podsets.app.example.com is not installed", "make install")

	if _, err := envtest.InstallCRDs(c.config, envtest.CRDInstallOptions{Paths: []string{"config/crd/bases"}, MaxTime: patience}); err != nil {
		t.Fatal(err)
	}
	expect("no permissions", quickly(t, "--kubeconfig="+nobody), "not allowed to list podsets.app.example.com in all namespaces", "WATCH_NAMESPACE")
	t.Setenv(watchnamespace.EnvVar, "shop,bank")
	expect("no permissions in a namespace", quickly(t, "--kubeconfig="+nobody), "in namespace bank")
}

func TestResponsesAreNotCompressed(t *testing.T) {
	var mu sync.Mutex
	var encodings []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		encodings = append(encodings, req.Header.Get("Accept-Encoding"))
		if req.URL.Path != "/readyz" {
			http.NotFound(w, req)
		}
	})) // Without TLS, client-go ignores the setting.
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	cluster := api.Config{
		CurrentContext: "test",
		Contexts:       map[string]*api.Context{"test": {Cluster: "test"}},
		Clusters:       map[string]*api.Cluster{"test": {Server: server.URL, InsecureSkipTLSVerify: true}},
	}
	if err := clientcmd.WriteToFile(cluster, kubeconfig); err != nil {
		t.Fatal(err)
	}
	quickly(t, "--kubeconfig="+kubeconfig)
	server.Close() // No handler runs any more.
	if len(encodings) == 0 || slices.ContainsFunc(encodings, func(encoding string) bool { return encoding != "" }) {
		t.Errorf("the requests accept the encodings %q, want none", encodings)
	}
}

// redirect returns the path of a copy of a kubeconfig with another server.
func redirect(t *testing.T, kubeconfig, address string) string {
	t.Helper()
	data, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "redirected")
	data = regexp.MustCompile(`server: .*`).ReplaceAll(data, []byte("server: https://"+address))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnAPIServerThatIsAwayIsWaitedFor(t *testing.T) {
	c, _ := startClusterWithCRDs(t)
	away, probes := apiserver.FreeAddress(t), apiserver.FreeAddress(t)
	kubeconfig := redirect(t, c.kubeconfig("admin", "system:masters"), away)
	probe := func(path string) (int, string) { return get(t, http.DefaultClient, "http://"+probes+path, "") }
	manager := func() *operator {
		return start(t, "--kubeconfig="+kubeconfig, "--health-probe-bind-address="+probes, "--metrics-bind-address=0")
	}
	g := NewWithT(t)
	isWaiting := func() {
		t.Helper()
		g.Eventually(func() string { _, body := probe("/readyz"); return body }).WithTimeout(10 * time.Second).Should(ContainSubstring("waiting for the API server"))
		code, _ := probe("/healthz")
		g.Expect(code).To(Equal(http.StatusOK), "the kubelet would kill the process")
	}

	p := manager()
	isWaiting()
	p.terminate(t)

	p = manager()
	isWaiting()
	g.Consistently(p.ended).WithTimeout(3 * time.Second).ShouldNot(Receive())
	forward(t, away, c.address())
	g.Eventually(func() int { code, _ := probe("/readyz"); return code }).WithTimeout(10 * time.Second).Should(Equal(http.StatusOK))
	log := p.terminate(t)
	for _, line := range []string{"Waiting for the API server", "The API server is back"} {
		g.Expect(strings.Count(log, line)).To(Equal(1), "%s", log)
	}
}

// forward forwards connections from one address to another until the test ends.
func forward(t *testing.T, from, to string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := (&net.Dialer{}).Dial("tcp", to)
			if err != nil {
				t.Errorf("forwarding to %s: %v", to, err)
				_ = in.Close()
				return
			}
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		}
	}()
}

func TestANamespaceThatCannotBeReadDoesNotStopTheOthers(t *testing.T) {
	c, admin := startClusterWithCRDs(t)
	serve := func(namespace string) {
		t.Helper()
		create(t, admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, managerBinding(namespace, "operator"))
		create(t, admin, sample(t, "app_v1alpha1_podset.yaml", namespace), sample(t, "cnat_v1alpha1_at.yaml", namespace))
	}
	create(t, admin, managerRole(t))
	serve("shop")
	t.Setenv(watchnamespace.EnvVar, "shop,bank") // There is no namespace bank.
	metrics := apiserver.FreeAddress(t)
	p := start(t, "--kubeconfig="+c.kubeconfig("operator"), "--health-probe-bind-address=0", "--metrics-bind-address="+metrics)
	g := NewWithT(t)
	pods := func(namespace string) int {
		list := &corev1.PodList{}
		g.Expect(admin.List(t.Context(), list, client.InNamespace(namespace))).To(Succeed())
		return len(list.Items)
	}
	g.Eventually(func() int { return pods("shop") }).WithTimeout(10 * time.Second).Should(Equal(4))
	create(t, admin, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "auth"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:auth-delegator"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "operator"}},
	})
	token := scraper(t, admin)
	scraped := func() string { _, body := get(t, insecure(), "https://"+metrics+"/metrics", token); return body }
	unreadable := func(value string) types.GomegaMatcher {
		return And(ContainSubstring(`podset_operator_namespace_unreadable{target_namespace="bank"} `+value+"\n"),
			ContainSubstring(`podset_operator_namespace_unreadable{target_namespace="shop"} 0`+"\n"))
	}
	g.Eventually(scraped).WithTimeout(30 * time.Second).Should(unreadable("1"))
	serve("bank")
	g.Eventually(func() int { return pods("bank") }).WithTimeout(time.Minute).Should(Equal(4))
	g.Eventually(scraped).WithTimeout(30 * time.Second).Should(unreadable("0"))
	g.Expect(pods("shop")).To(Equal(4))
	log := p.terminate(t)
	for _, line := range []string{"cannot be read and is not served", "can be read again"} {
		g.Expect(strings.Count(log, line)).To(Equal(1), "%s", log)
	}
}

func create(t *testing.T, admin client.Client, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		if err := admin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
}

func managerRole(t *testing.T) *rbacv1.ClusterRole {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("config", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(data, role); err != nil {
		t.Fatal(err)
	}
	return role
}

// managerBinding grants the role of the manager to a user in a namespace.
func managerBinding(namespace, user string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "manager"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "manager-role"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
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

func TestTheManagerServesItsNamespacesItsProbesAndItsMetrics(t *testing.T) {
	c, admin := startClusterWithCRDs(t)
	for _, name := range []string{"shop", "bank", "elsewhere"} {
		if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(watchnamespace.EnvVar, "shop,bank")
	t.Setenv("RELATED_IMAGE_BUSYBOX", "registry.example.com/busybox:1")
	t.Setenv("NO_PROXY", ".svc")
	probes, metrics := apiserver.FreeAddress(t), apiserver.FreeAddress(t)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() {
		stopped <- run(ctx, []string{
			"--kubeconfig=" + c.kubeconfig("admin", "system:masters"),
			"--health-probe-bind-address=" + probes, "--metrics-bind-address=" + metrics,
		})
	}()
	g := NewWithT(t)
	web := insecure()
	get := func(url, token string) (int, string) { return get(t, web, url, token) }
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
	pod := &corev1.Pod{}
	g.Expect(admin.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "at-sample-pod"}, pod)).To(Succeed())
	g.Expect(pod.Spec.Containers[0].Image).To(Equal("registry.example.com/busybox:1"))
	g.Expect(pod.Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "NO_PROXY", Value: ".svc"}))

	unauthorized := func() int { code, _ := get("https://"+metrics+"/metrics", ""); return code }
	g.Eventually(unauthorized).WithTimeout(30*time.Second).Should(Equal(http.StatusUnauthorized), "metrics without a token")
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
	cancel()
	g.Eventually(stopped).WithTimeout(30 * time.Second).Should(Receive(BeNil()))
}

// scraper creates a service account with permission to read metrics, and returns its token.
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
