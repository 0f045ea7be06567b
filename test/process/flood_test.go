// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/redhat/podset-operator/test/apiserver"
)

// Every pod of the cluster can connect to the ports of the operator.
func TestFlood(t *testing.T) {
	t.Parallel()
	probes, metrics := apiserver.FreeAddress(t), apiserver.FreeAddress(t)
	p := start(t, managerEnv(namespace(t, cluster.Admin)), "--kubeconfig="+administrator(t, cluster.Environment),
		"--health-probe-bind-address="+probes, "--metrics-bind-address="+metrics)
	token, web := scraper(t, cluster.Admin), insecure()
	web.Timeout = 10 * time.Second // that of Prometheus
	scrape := func() int { code, _ := get(t, web, "https://"+metrics+"/metrics", token); return code }
	unknown := scraper(t, cluster.Admin) // The manager has not seen this token.
	g := NewWithT(t)
	g.Eventually(scrape).WithTimeout(time.Minute).Should(Equal(http.StatusOK))

	t.Run("unfinished headers", func(t *testing.T) {
		const clients, limit = 600, 150 << 20 // bytes; the sample deployment has 512 MiB
		for _, dial := range []func() (net.Conn, error){
			func() (net.Conn, error) { return (&net.Dialer{}).DialContext(t.Context(), "tcp", probes) },
			func() (net.Conn, error) {
				dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Second}, Config: insecure().Transport.(*http.Transport).TLSClientConfig}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // A connection above the limit waits.
				defer cancel()
				return dialer.DialContext(ctx, "tcp", metrics)
			},
		} {
			header := append([]byte("GET /healthz HTTP/1.1\r\nHost: a\r\nX-Large: "), bytes.Repeat([]byte("a"), 1<<20)...)
			var senders sync.WaitGroup
			for range clients {
				senders.Go(func() {
					connection, err := dial()
					if err != nil {
						return
					}
					t.Cleanup(func() { _ = connection.Close() })
					_ = connection.SetDeadline(time.Now().Add(3 * time.Second))
					_, _ = connection.Write(header) // The manager closes the connection.
				})
			}
			senders.Wait()
			if resident := residentBytes(t, p.Process.Pid); resident > limit {
				t.Errorf("the manager has %d MiB", resident>>20)
			}
		}
	})
	t.Run("invalid tokens", func(t *testing.T) {
		const clients = 200 // below the limit of connections: a connection above it can replace another one
		ctx, stop := context.WithCancel(t.Context())
		var senders sync.WaitGroup
		for n := range clients {
			senders.Go(func() {
				sender := insecure()
				defer sender.CloseIdleConnections()
				for i := 0; ctx.Err() == nil; i++ {
					req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+metrics+"/metrics", http.NoBody)
					req.Header.Set("Authorization", fmt.Sprintf("Bearer invalid-%d-%d", n, i))
					if resp, err := sender.Do(req); err == nil {
						_ = resp.Body.Close()
					}
				}
			})
		}
		<-time.After(2 * time.Second) // All of them send requests.
		for _, token := range []string{token, unknown} {
			if code, body := get(t, web, "https://"+metrics+"/metrics", token); code != http.StatusOK {
				t.Errorf("a permitted client gets the status code %d: %s", code, body)
			}
		}
		stop()
		senders.Wait()
		if n := p.log.Lines(`"level":"error"`); n > 1 {
			t.Errorf("%d errors in the log", n)
		}
	})
	p.terminate(t)
}

func residentBytes(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
