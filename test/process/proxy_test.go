// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/redhat/podset-operator/test/apiserver"
)

// A manager that starts while the API server is unreachable or responds with errors waits for it, is not Ready, and is not killed by its
// liveness probe.
func TestOutage_start(t *testing.T) {
	t.Parallel()
	for title, code := range map[string]int{
		"unreachable": 0, "429": http.StatusTooManyRequests, "500": http.StatusInternalServerError, "503": http.StatusServiceUnavailable,
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			g, shop, probes := NewWithT(t), namespace(t, admin), apiserver.FreeAddress(t)
			server := newProxy(t, code)
			probe := func(path string) (int, string) { return get(t, http.DefaultClient, "http://"+probes+path, "") }
			begin := func() *operator {
				p := start(t, managerEnv(shop), "--kubeconfig="+server.kubeconfig, "--health-probe-bind-address="+probes, "--metrics-bind-address=0")
				g.Eventually(func() string { _, body := probe("/readyz"); return body }).WithTimeout(30 * time.Second).Should(ContainSubstring("waiting for the API server"))
				code, _ := probe("/healthz")
				g.Expect(code).To(Equal(http.StatusOK), "the kubelet would kill the process")
				return p
			}
			begin().terminate(t)
			p := begin()
			g.Consistently(p.ended).WithTimeout(3 * time.Second).ShouldNot(Receive())
			server.back(t)
			g.Eventually(func() int { code, _ := probe("/readyz"); return code }).WithTimeout(30 * time.Second).Should(Equal(http.StatusOK))
			p.terminate(t)
			for _, line := range []string{"Waiting for the API server", "The API server is back"} {
				g.Expect(p.log.Lines(line)).To(Equal(1), line)
			}
		})
	}
}

// The API server would compress each event of a watch separately, which slows it down.
func TestCompression(t *testing.T) {
	t.Parallel()
	server := newProxy(t, http.StatusOK)
	server.back(t)
	p := start(t, managerEnv(namespace(t, admin)), append(noPorts, "--kubeconfig="+server.kubeconfig)...)
	NewWithT(t).Eventually(func() int { return p.log.Lines("Starting workers") }).WithTimeout(time.Minute).Should(Equal(2))
	p.terminate(t)
	server.encodings.Range(func(encoding, _ any) bool {
		if encoding != "" {
			t.Errorf("a request accepts the encoding %q", encoding)
		}
		return true
	})
}

// proxy forwards requests to an API server. It can be away, as during an outage.
type proxy struct {
	kubeconfig string
	encodings  sync.Map // the keys are the encodings that requests have accepted

	code    int // the response while the API server is away, or 0 if nothing listens
	isAway  atomic.Bool
	handler http.Handler
	server  *httptest.Server
}

// newProxy returns a proxy that is away. Then it responds with a code, or does not listen if that is 0.
func newProxy(t *testing.T, code int) *proxy {
	t.Helper()
	transport, err := rest.TransportFor(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(cluster.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{code: code}
	reverse := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}
	p.handler = http.HandlerFunc(func(writer http.ResponseWriter, req *http.Request) {
		p.encodings.Store(req.Header.Get("Accept-Encoding"), true)
		if p.isAway.Load() {
			http.Error(writer, "failing", code)
			return
		}
		reverse.ServeHTTP(writer, req)
	})
	p.listen(t, "127.0.0.1:0")
	t.Cleanup(p.close)
	p.kubeconfig = writeFile(t, "proxied", []byte(`apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "`+p.server.URL+`", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {}}]
`))
	p.leave()
	return p
}

func (p *proxy) listen(t *testing.T, address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	p.server = httptest.NewUnstartedServer(p.handler)
	_ = p.server.Listener.Close()
	p.server.Listener = listener
	p.server.StartTLS() // Without TLS, client-go ignores whether to compress.
}

// close ends all connections, such as those of watches.
func (p *proxy) close() {
	_ = p.server.Listener.Close()
	p.server.CloseClientConnections()
	p.server.Close()
}

// leave begins an outage.
func (p *proxy) leave() {
	p.isAway.Store(true)
	if p.code == 0 {
		p.close()
	}
}

// back ends the outage.
func (p *proxy) back(t *testing.T) {
	t.Helper()
	p.isAway.Store(false)
	if p.code == 0 {
		p.listen(t, p.server.Listener.Addr().String())
	}
}
