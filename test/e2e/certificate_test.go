// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/redhat/podset-operator/test/openshift"
)

// With config/monitoring, the manager starts when its certificate exists, and a client with the CA, the name, and the token of the
// ServiceMonitor can read the metrics. The cluster has the CRDs of cert-manager and of the Prometheus operator. The test stands in for both
// operators.
func TestDeploy_certificate(t *testing.T) {
	installCRDs(t)
	p := newProject(t)
	system := p.newSystem("make undeploy DEPLOY=config/monitoring")
	system.types("make deploy DEPLOY=config/monitoring IMG=" + next.manager)
	eventually(t, "the manager waits for its certificate", func(g gomega.Gomega) {
		g.Expect(execute(system.kubeconfig, "kubectl get events -n "+system.name)).To(gomega.ContainSubstring(`secret "podset-operator-metrics-cert" not found`))
	})
	system.issueCertificate()
	eventually(t, "the manager runs", func(g gomega.Gomega) { system.runs(t.Context(), g, next) })

	monitor := system.read("monitoring.coreos.com/v1", "ServiceMonitor", "podset-operator-metrics")
	endpoints, _, _ := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	endpoint := endpoints[0].(map[string]any)
	name, _, _ := unstructured.NestedString(endpoint, "tlsConfig", "serverName")
	ca := x509.NewCertPool()
	if !ca.AppendCertsFromPEM(system.selected(endpoint, "tlsConfig", "ca", "secret")) {
		t.Fatal("there is no CA")
	}
	token := string(system.selected(endpoint, "authorization", "credentials"))
	address := system.forward(system.name, "service/podset-operator-controller-manager-metrics-service", "8443")
	eventually(t, "the metrics", func(g gomega.Gomega) {
		status, body := get(t.Context(), g, "https://"+address+"/metrics", token, &tls.Config{RootCAs: ca, ServerName: name, MinVersion: tls.VersionTLS12})
		g.Expect(status).To(gomega.Equal(http.StatusOK), body)
		g.Expect(body).To(gomega.ContainSubstring("podset_operator_"))
	})
	system.types("kubectl get certificates,issuers,servicemonitors,secrets,pods -n " + system.name)
	system.types("make undeploy DEPLOY=config/monitoring")
	gone(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system.name}})
	p.leavesNothing()
}

// installCRDs creates the CRDs that config/monitoring needs, until the end of the test.
func installCRDs(t *testing.T) {
	t.Helper()
	paths, err := openshift.CRDs(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(content, crd); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(crd.Name, ".openshift.io") {
			continue
		}
		crd.Labels = labelled(partOf)
		if err := admin.Create(t.Context(), crd); apierrors.IsAlreadyExists(err) {
			t.Skip("the cluster has the CRD " + crd.Name + ", and perhaps what serves it")
		} else if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = admin.Delete(context.Background(), crd) })
	}
}

// issueCertificate creates the Secret of the Certificate as a self-signed issuer of cert-manager does.
func (p *project) issueCertificate() {
	p.t.Helper()
	certificate := p.read("cert-manager.io/v1", "Certificate", "podset-operator-metrics")
	names, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	secret, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		p.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: names, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		p.t.Fatal(err)
	}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
	create(p.t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secret, Namespace: p.name},
		Type:       corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey: chain, "ca.crt": chain,
			corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
		},
	})
}

// read reads an object of a kind that is not in the scheme.
func (p *project) read(apiVersion, kind, name string) *unstructured.Unstructured {
	p.t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
	if err := admin.Get(p.t.Context(), client.ObjectKey{Namespace: p.name, Name: name}, obj); err != nil {
		p.t.Fatal(err)
	}
	return obj
}

// selected returns the value in a Secret that a selector of a name and a key refers to. fields is the path of the selector.
func (p *project) selected(obj map[string]any, fields ...string) []byte {
	p.t.Helper()
	selector, _, err := unstructured.NestedStringMap(obj, fields...)
	if err != nil {
		p.t.Fatal(err)
	}
	secret := &corev1.Secret{}
	if err := admin.Get(p.t.Context(), client.ObjectKey{Namespace: p.name, Name: selector["name"]}, secret); err != nil {
		p.t.Fatal(err)
	}
	return secret.Data[selector["key"]]
}
