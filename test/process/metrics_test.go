// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/cert"

	"github.com/redhat/podset-operator/test/apiserver"
)

// metricsName is the name that Prometheus verifies: see config/openshift/service-ca and config/components/certificates/cert-manager.
const metricsName = "podset-operator-controller-manager-metrics-service.podset-operator-system.svc"

// A client that verifies the certificate of the metrics can read them, and continues to when the certificate is renewed.
func TestMetrics_certificate(t *testing.T) {
	t.Parallel()
	dir, metrics := t.TempDir(), apiserver.FreeAddress(t)
	first := issue(t, dir)
	p := start(t, []string{"WATCH_NAMESPACE=" + namespace(t, cluster.Admin)}, "--kubeconfig="+administrator(t, cluster.Environment), "--health-probe-bind-address=0",
		"--metrics-bind-address="+metrics, "--metrics-cert-dir="+dir)
	token := scraper(t, cluster.Admin)
	g := NewWithT(t)
	scrape := func(ca *x509.CertPool) func() string {
		web := &http.Client{Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: ca, ServerName: metricsName, MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true,
		}}
		return func() string {
			code, body := get(t, web, "https://"+metrics+"/metrics", token)
			return http.StatusText(code) + ": " + body
		}
	}
	g.Eventually(scrape(first)).WithTimeout(time.Minute).Should(HavePrefix("OK: "), "the first certificate")
	second := issue(t, dir)
	g.Eventually(scrape(second)).WithTimeout(time.Minute).Should(HavePrefix("OK: "), "the renewed certificate")
	g.Expect(scrape(first)()).To(ContainSubstring("certificate signed by unknown authority"))
	p.terminate(t)
}

// issue writes a certificate of a new CA to dir, and returns the CA.
func issue(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	chain, key, err := cert.GenerateSelfSignedCertKey(metricsName, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.key": key, "tls.crt": chain} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(chain) {
		t.Fatal("there is no certificate")
	}
	return pool
}
