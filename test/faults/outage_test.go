// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	cnatv1alpha1 "github.com/redhat/podset-operator/api/cnat/v1alpha1"
	"github.com/redhat/podset-operator/controllers"
	"github.com/redhat/podset-operator/test/faults"
)

// outageLengths are those of F26. The operator loses its lease in an outage of more than 10 s.
var outageLengths = flag.String("outages", "5s,20s", "how long the API server is unavailable to the manager (F26), such as 5s,90s,10m")

// recoverWithin is how soon the operator must work after the API server is available again. An idle machine needs 3 s. The margin
// is for a busy one: a crash loop shows in the number of starts.
const recoverWithin = 30 * time.Second

// F26: an outage of the API server. The manager runs in a process of its own, which is restarted as by a kubelet.
func TestProcessSurvivesOutage(t *testing.T) {
	t.Parallel()
	c := ownCluster(t)
	binary := faults.Build(t.Context(), t)
	kubeconfig := writeFile(t, "kubeconfig", c.Environment.KubeConfig)
	for length := range strings.SplitSeq(*outageLengths, ",") {
		down, err := time.ParseDuration(length)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("the API server is unavailable for %v", down), func(t *testing.T) {
			managerOutage(t, c, binary, kubeconfig, down, func(*faults.ManagerProcess) {})
		})
		t.Run(fmt.Sprintf("the API server is unavailable for %v and the manager is killed", down), func(t *testing.T) {
			managerOutage(t, c, binary, kubeconfig, down, func(p *faults.ManagerProcess) {
				if err := p.Kill(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// managerOutage kills the API server and starts it again after a while. An At becomes due meanwhile.
func managerOutage(t *testing.T, c *faults.Cluster, binary, kubeconfig string, down time.Duration, harm func(*faults.ManagerProcess)) {
	e := faults.NewEnv(t, c, "F26", faults.Ours)
	e.Timeout = max(faults.DefaultTimeout, 3*down)
	e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
	p := e.RunManager(binary, kubeconfig, managerEnv(e.Namespace), "--health-probe-bind-address=0", "--leader-elect", "--leader-elect-resource-namespace="+e.Namespace)
	e.Create(podSet("a", 3))
	e.Settle()
	e.Create(at("due", "now + 3 seconds", "echo YAY"))
	e.AwaitAt("A4", "due", func(a *cnatv1alpha1.At) bool { return a.Status.ObservedGeneration == a.Generation })

	again, err := c.KillAPIServer()
	e.Must(err)
	harm(p)
	e.Wait(down)
	e.Must(again())
	checkRecovery(e, p, time.Now())
}

// checkRecovery checks that the At that became due in the outage runs once, and soon after the API server is available again.
func checkRecovery(e *faults.Env, p *faults.ManagerProcess, back time.Time) {
	took, err := e.PodAfter(back, "due-pod", e.Timeout+2*time.Minute)
	e.Must(err)
	e.Logf("the pod of the due At was created %v after the API server was available; the manager was started %d times", took.Round(10*time.Millisecond), p.Starts())
	e.Check("A3", took <= recoverWithin, "the At that became due in the outage ran %v after its end", took)
	e.Create(podSet("b", 1))
	e.Settle()
	e.Check("A3", ranOnce(e) == 1, "the At did not run")
	e.Check("P3", p.Starts() <= 2, "the process was started %d times", p.Starts())
	waits, ends := p.Lines("Waiting for the API server"), p.Lines("The API server is back")
	e.Check("P3", waits == p.Starts()-1 && ends == waits, "%d log lines about the begin of a wait and %d about its end, with %d starts", waits, ends, p.Starts())
}

// F26: the manager does not take a denial by an API server that is not ready yet for missing permissions.
func TestStartingAPIServer(t *testing.T) {
	t.Parallel()
	c := ownCluster(t)
	e := faults.NewEnv(t, c, "F26", faults.Ours)
	grant(e, "starter")
	user, err := c.Environment.AddUser(envtest.User{Name: "starter"}, c.Config)
	e.Must(err)
	user.Config().QPS = -1
	reader, err := client.New(user.Config(), client.Options{Scheme: c.Scheme, Mapper: c.Admin.RESTMapper()})
	e.Must(err)
	again, err := c.KillAPIServer()
	e.Must(err)

	ctx, ready := context.WithCancel(e.Context())
	var started sync.WaitGroup
	var responses sync.Map
	started.Go(func() {
		for ctx.Err() == nil {
			started.Go(func() {
				_, err := controllers.Preflight(e.Context(), e.Clock, user.Config(), c.Scheme, []string{e.Namespace})
				e.Check("P3", err == nil, "a process that started while the API server did: %v", err)
			})
			err := reader.List(ctx, &cnatv1alpha1.AtList{}, client.InNamespace(e.Namespace))
			responses.Store(apierrors.ReasonForError(err), true)
			<-time.After(20 * time.Millisecond)
		}
	})
	e.Must(again())
	ready()
	started.Wait()
	responses.Range(func(reason, _ any) bool { t.Logf("a response while the API server started: %q", reason); return true })
}

// F26: the API server responds with an error code while the manager starts.
func TestProcessSurvivesFailingServer(t *testing.T) {
	t.Parallel()
	binary := faults.Build(t.Context(), t)
	for _, code := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			t.Parallel()
			var failing atomic.Bool
			failing.Store(true)
			kubeconfig := proxied(t, cluster.Config, &failing, code)
			e := faults.NewEnv(t, cluster, "F26", faults.Ours)
			e.RunKubelet(&faults.Kubelet{Exit: faults.ExitWith(0)})
			e.Create(podSet("a", 3), at("due", "now + 3 seconds", "echo YAY"))
			p := e.RunManager(binary, kubeconfig, managerEnv(e.Namespace), "--health-probe-bind-address=0", "--leader-elect", "--leader-elect-resource-namespace="+e.Namespace)
			e.Wait(12 * time.Second)
			failing.Store(false)
			took, err := e.PodAfter(time.Now(), "due-pod", 2*time.Minute)
			e.Must(err)
			e.Check("A3", took <= recoverWithin, "the At that became due in the outage ran %v after its end", took)
			e.Settle()
			e.Check("A3", ranOnce(e) == 1, "the At did not run")
			e.Check("P3", p.Starts() == 1, "the process was started %d times", p.Starts())
		})
	}
}

// proxied returns a kubeconfig for a proxy that passes requests on to the API server, or responds to all with a code.
func proxied(t *testing.T, config *rest.Config, failing *atomic.Bool, code int) string {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, req *http.Request) {
		if failing.Load() {
			http.Error(writer, "failing", code)
			return
		}
		proxy.ServeHTTP(writer, req)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return writeFile(t, "proxied", []byte(`apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "`+server.URL+`"}}]
users: [{name: u, user: {}}]
`))
}

// managerEnv is the environment of a container of the Deployment.
func managerEnv(namespaces ...string) []string {
	return []string{"WATCH_NAMESPACE=" + strings.Join(namespaces, ","), "POD_UID=" + namespaces[0]}
}

func writeFile(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
