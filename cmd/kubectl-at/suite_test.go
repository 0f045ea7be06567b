// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	utilexec "k8s.io/client-go/util/exec"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/test/apiserver"
)

// The tests share one API server. Each has a namespace of its own, and is the operator and the kubelet itself.
var (
	update          = flag.Bool("update", false, "write the golden files")
	admin           client.Client // of a cluster administrator
	kubeconfig      string        // of a user with the permissions that the documentation names
	adminKubeconfig string        // of the cluster administrator
	// addUser returns the kubeconfig of a new user.
	addUser func(name string) (string, error)
	kubelet = &logServer{logs: map[string]containerLog{}}
)

func TestMain(m *testing.M) {
	flag.Parse()
	answerTime = 0 // No operator runs.
	operatorPatience = 300 * time.Millisecond
	apiserver.Main(func() (int, error) { return runSuite(m) })
}

func runSuite(m *testing.M) (int, error) {
	ctrl.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	environment := apiserver.New("../..")
	defer func() { _ = environment.Stop() }()
	config, err := environment.Start()
	if err != nil {
		return 1, fmt.Errorf("starting etcd and kube-apiserver: %w", err)
	}
	if admin, err = client.New(config, client.Options{Scheme: apiserver.Scheme()}); err != nil {
		return 1, err
	}
	server := httptest.NewTLSServer(kubelet)
	defer server.Close()
	if err := errors.Join(addNode(server.Listener.Addr()), grantPermissions("person")); err != nil {
		return 1, err
	}
	directory, err := os.MkdirTemp("", "kubectl-at")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	addUser = func(name string) (string, error) {
		user, err := apiserver.AddUser(environment, name)
		if err != nil {
			return "", err
		}
		data, err := user.KubeConfig()
		if err != nil {
			return "", err
		}
		file := filepath.Join(directory, name)
		return file, os.WriteFile(file, data, 0o600)
	}
	adminKubeconfig = filepath.Join(directory, "admin")
	if err := os.WriteFile(adminKubeconfig, environment.KubeConfig, 0o600); err != nil {
		return 1, err
	}
	if kubeconfig, err = addUser("person"); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// grantPermissions gives a user what the plugin needs: see docs/how-to/ci.md.
func grantPermissions(user string) error {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "kubectl-at"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"cnat.d2iq.com"}, Resources: []string{"ats"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments", "statefulsets"}, Verbs: []string{"get"}}, // for --from
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list"}},                     // to complete -n
	}}
	return errors.Join(
		admin.Create(context.Background(), role),
		admin.Create(context.Background(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "kubectl-at"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
		}))
}

// logServer is a kubelet that has logs and nothing else, by namespace/pod/container. Each line is a second after the
// one before.
type logServer struct {
	mutex sync.Mutex
	logs  map[string]containerLog
}

// containerLog is what arrives of the log of a container that is followed, and all of it.
type containerLog struct{ followed, whole string }

// lostContainer is the log of a container that the node has lost, and evicted that of one that it has removed.
const (
	lostContainer = "container is terminated"
	evicted       = "unable to retrieve container logs"
)

func (s *logServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	log, found := s.logs[strings.TrimPrefix(r.URL.Path, "/containerLogs/")]
	s.mutex.Unlock()
	if !found {
		http.NotFound(w, r)
		return
	}
	if log.whole == lostContainer {
		http.Error(w, log.whole, http.StatusBadRequest)
		return
	}
	if log.whole == evicted {
		_, _ = io.WriteString(w, log.whole)
		return
	}
	query, text := r.URL.Query(), log.whole
	if query.Get("follow") == "true" {
		text = log.followed
	}
	lines, first := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n"), 0
	if tail, err := strconv.Atoi(query.Get("tailLines")); err == nil {
		first = max(len(lines)-tail, 0)
	}
	since, _ := time.Parse(time.RFC3339, query.Get("sinceTime"))
	for i, line := range lines {
		if at := saturday().Add(time.Duration(i) * time.Second); text != "" && i >= first && !at.Before(since) {
			_, _ = io.WriteString(w, at.Format(time.RFC3339Nano)+" "+strings.TrimSuffix(line, "\n")+"\n")
		}
	}
}

func (s *logServer) set(pod, followed, whole string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.logs[pod] = containerLog{followed, whole}
}

func (s *logServer) remove(pod string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.logs, pod)
}

// addNode makes a node whose kubelet listens at an address.
func addNode(address net.Addr) error {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return err
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return err
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	if err := admin.Create(context.Background(), node); err != nil {
		return err
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
	return admin.Status().Update(context.Background(), node)
}

// shell runs "kubectl at" in a namespace of its own.
type shell struct {
	*testing.T
	namespace  string
	kubeconfig string
	now        time.Time
}

// newShell returns a shell on a Saturday in Berlin.
func newShell(t *testing.T) *shell {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := admin.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return &shell{T: t, namespace: namespace.Name, kubeconfig: kubeconfig, now: saturday()}
}

func saturday() time.Time { return time.Date(2026, 11, 21, 15, 48, 0, 0, time.UTC) }

// result is what a command did.
type result struct {
	out, errOut string
	code        int // of the exit
}

// run runs a command with what is piped into it, to its end. Nothing is piped into it with "".
func (s *shell) run(in string, args ...string) result {
	return execute(s.Context(), s.now, in, append(s.flags(), args...)...)
}

func (s *shell) flags() []string {
	return []string{"--kubeconfig", s.kubeconfig, "--namespace", s.namespace, "--tz", "Europe/Berlin"}
}

func execute(ctx context.Context, now time.Time, in string, args ...string) result {
	if in == "" {
		return executeFrom(ctx, now, nil, args...)
	}
	return executeFrom(ctx, now, strings.NewReader(in), args...)
}

func executeFrom(ctx context.Context, now time.Time, in io.Reader, args ...string) result {
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: in, Out: &out, ErrOut: &errOut}
	cmd := newCommand(streams, clocktesting.NewFakeClock(now))
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	code := 0
	if err != nil {
		code = 1
		fmt.Fprintln(&errOut, err)
	}
	var exit utilexec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitStatus()
	}
	return result{out.String(), errOut.String(), code}
}

// expect runs a command that must print a text and exit with a code.
func (s *shell) expect(want result, in string, args ...string) {
	s.Helper()
	if diff := cmp.Diff(want, s.run(in, args...), cmp.AllowUnexported(result{})); diff != "" {
		s.Errorf("kubectl at %s\n%s", strings.Join(args, " "), diff)
	}
}

// at returns an At as it is now.
func (s *shell) at(name string) *cnatv1alpha1.At {
	s.Helper()
	at := &cnatv1alpha1.At{}
	if err := admin.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, at); err != nil {
		s.Fatal(err)
	}
	return at
}

// setStatus does what the operator does.
func (s *shell) setStatus(name string, status cnatv1alpha1.AtStatus) {
	s.Helper()
	at := s.at(name)
	at.Status = status
	if err := admin.Status().Update(s.Context(), at); err != nil {
		s.Fatal(err)
	}
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-update writes it)\n%s", path, diff)
	}
}
