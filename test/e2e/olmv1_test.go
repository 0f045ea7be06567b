// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// olmv1 is the version and feature set of OLM v1 on the cluster, from the CRD of ClusterExtensions.
type olmv1 struct {
	needsAccount bool // spec.serviceAccount is required: OLM v1.10 and older
	experimental bool // spec.config exists
}

// needOLMv1 installs OLM v1 with E2E_OLMV1_INSTALL, or uses the OLM v1 of the cluster. Without it, it skips the test.
func needOLMv1(t *testing.T, featureSet string) olmv1 {
	t.Helper()
	if install := os.Getenv("E2E_OLMV1_INSTALL"); install != "" {
		line := strings.TrimSpace(install + " " + featureSet)
		output, err := execute("", line)
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, output)
		}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := admin.Get(t.Context(), client.ObjectKey{Name: "clusterextensions.olm.operatorframework.io"}, crd)
	if apierrors.IsNotFound(err) {
		t.Skip("the cluster has no OLM v1")
	}
	if err != nil {
		t.Fatal(err)
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	_, experimental := spec.Properties["config"]
	found := olmv1{needsAccount: slices.Contains(spec.Required, "serviceAccount"), experimental: experimental}
	if experimental != (featureSet == "experimental") && os.Getenv("E2E_OLMV1_INSTALL") != "" {
		t.Fatalf("%s installed other features", os.Getenv("E2E_OLMV1_INSTALL"))
	}
	output, _ := execute("", "kubectl get deployments -A -o wide | grep -E 'NAMESPACE|operator-controller|catalogd'")
	t.Logf("%+v\n%s", found, output)
	return found
}

// catalog offers the versions of a release to OLM v1.
func (p *project) catalog(r release) {
	p.t.Helper()
	p.types(`kubectl apply -f - <<'END'
apiVersion: olm.operatorframework.io/v1
kind: ClusterCatalog
metadata:
  name: podset-operator
  labels: {%s}
spec:
  source: {type: Image, image: {ref: "%s"}}
END`, strings.Replace(partOf, "=", ": ", 1), r.catalog)
	p.types("kubectl wait --for=condition=Serving clustercatalog/podset-operator --timeout 120s")
}

// extension returns the manifest of the operator in the project, of a version. It watches a namespace, or all if watched is empty.
func (p *project) extension(o olmv1, version, watched string) string {
	options := ""
	if o.needsAccount {
		options += "\n  serviceAccount: {name: podset-operator-installer}"
	}
	if watched != "" {
		options += "\n  config: {configType: Inline, inline: {watchNamespace: " + watched + "}}"
	}
	return fmt.Sprintf(`apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata:
  name: podset-operator
  labels: {%s}
spec:
  namespace: %s%s
  source: {sourceType: Catalog, catalog: {packageName: podset-operator, version: "%s"}}`, strings.Replace(partOf, "=", ": ", 1), p.name, options, version)
}

// extend installs a release with OLM v1, or changes the installation, and waits until it runs.
func (p *project) extend(o olmv1, r release, watched string) {
	p.t.Helper()
	if o.needsAccount {
		p.types("sed 's/podset-operator-system/%s/' config/components/olmv1/installer.yaml | kubectl apply -f -", p.name)
	}
	p.types("kubectl apply -f - <<'END'\n%s\nEND", p.extension(o, r.version, watched))
	eventually(p.t, "OLM v1 has installed "+r.version, func(g gomega.Gomega) {
		extension := p.readExtension(g)
		version, _, _ := unstructured.NestedString(extension.Object, "status", "install", "bundle", "version")
		status, message := conditionOf(extension, "Installed")
		_, progress := conditionOf(extension, "Progressing")
		g.Expect(status+" "+version).To(gomega.Equal("True "+r.version), "%s: %s", message, progress)
		p.runs(p.t.Context(), g, r)
	})
	p.types("kubectl get clusterextension podset-operator; kubectl get deployments,pods -o wide")
}

// rejects requests a version from OLM v1 and checks that OLM v1 reports why it does not install it, and that the installed release
// continues.
func (p *project) rejects(o olmv1, version, why string, installed release) {
	p.t.Helper()
	p.types("kubectl apply -f - <<'END'\n%s\nEND", p.extension(o, version, ""))
	eventually(p.t, "OLM v1 rejects "+version, func(g gomega.Gomega) {
		_, message := conditionOf(p.readExtension(g), "Progressing")
		g.Expect(message).To(gomega.ContainSubstring(why))
		p.t.Logf("%s: %s", version, message)
	})
	p.runs(p.t.Context(), gomega.NewWithT(p.t), installed)
}

func (p *project) readExtension(g gomega.Gomega) *unstructured.Unstructured {
	extension := &unstructured.Unstructured{}
	extension.SetGroupVersionKind(schema.GroupVersionKind{Group: "olm.operatorframework.io", Version: "v1", Kind: "ClusterExtension"})
	extension.SetName(operatorName)
	return refresh(p.t.Context(), g, extension)
}

// conditionOf returns the status and the message of a condition.
func conditionOf(obj *unstructured.Unstructured, conditionType string) (status, message string) {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, each := range conditions {
		if condition := each.(map[string]any); condition["type"] == conditionType {
			return fmt.Sprint(condition["status"]), fmt.Sprint(condition["message"])
		}
	}
	return "", ""
}

// retract removes the operator as docs/uninstall.md describes. The CRDs and every object go with it.
func (p *project) retract() {
	p.t.Helper()
	p.explain()
	p.deletesObjects()
	p.types("kubectl delete clusterextension podset-operator --ignore-not-found --timeout 120s")
	for _, name := range crdNames {
		gone(p.t, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	p.types("kubectl delete lease podset-operator --ignore-not-found")
	p.types("kubectl delete clustercatalog podset-operator --ignore-not-found")
	p.types("sed 's/podset-operator-system/%s/' config/components/olmv1/installer.yaml | kubectl delete --ignore-not-found -f -", p.name)
}

// With the standard API, OLM v1 installs the operator for all namespaces, upgrades it, and rejects an upgrade that would restrict the
// objects on the cluster. Its removal removes every object.
func TestOLMv1(t *testing.T) {
	o := needOLMv1(t, "")
	home, p := newProject(t, restricted), newProject(t, restricted)
	t.Cleanup(home.retract)
	home.catalog(wider)
	if !o.experimental {
		output := home.types("kubectl apply --dry-run=server -f - <<'END' || true\n%s\nEND", home.extension(o, previous.version, p.name))
		gomega.NewWithT(t).Expect(output).To(gomega.ContainSubstring(`unknown field "spec.config"`))
	}
	home.extend(o, previous, "")

	t.Run("the samples", func(t *testing.T) { p.of(t).runsTheSamples() })
	t.Run("the permissions", func(t *testing.T) {
		home := home.of(t)
		g := home.grants(previous)
		home.hasOnly(g.account, home.name, g.everywhere, g.served, g.own, readsNamespaces())
		home.hasOnly(g.account, p.name, g.everywhere, g.served, readsNamespaces())
	})
	t.Run("the upgrade", func(t *testing.T) {
		home, p := home.of(t), p.of(t)
		kept := newRecord(p)
		during, later := p.newAt("during", "now + 5 seconds", "echo once"), p.newAt("later", "2099-01-01T00:00:00Z", "echo once")
		pending(t, later)
		home.extend(o, next, "")
		done(t, during)
		pending(t, later)
		change(t, later, dueNow)
		done(t, later)
		kept.compare(t)
		t.Logf("due %s, started %s", during.Status.ScheduledTime, during.Status.StartTime)
	})
	// TestFreeze_changes of test/bundle has such changes.
	t.Run("a downgrade and the CRDs that OLM v1 rejects and accepts", func(t *testing.T) {
		home := home.of(t)
		home.rejects(o, previous.version, "error upgrading from currently installed version", next)
		home.rejects(o, smaller.version, "maximum", next)
		home.rejects(o, reworded.version, "unhandled", next)
		p.of(t).newPodSet("ten", 10) // The maximum of the rejected CRD is 5.
		home.extend(o, wider, "")
		p.types("kubectl delete podset ten --wait=false")
	})
	t.Run("the removal", func(t *testing.T) {
		home := home.of(t)
		home.retract()
		p.of(t).hasNoPods()
		home.leavesNothing()
	})
}

// With the experimental API, the operator watches its own namespace or another one, and has permissions only there.
func TestOLMv1_watchNamespace(t *testing.T) {
	skipInShortMode(t)
	o := needOLMv1(t, "experimental")
	if !o.experimental {
		t.Skip("this OLM v1 has no spec.config")
	}
	home, watched, outside := newProject(t), newProject(t), newProject(t)
	t.Cleanup(home.retract)
	home.catalog(next)
	for _, p := range []*project{home, watched} {
		ok := t.Run("watchNamespace "+p.name, func(t *testing.T) {
			home, p := home.of(t), p.of(t)
			home.extend(o, next, p.name)
			if p.name == home.name {
				outside.of(t).ask()
			}
			p.ask()
			settled(t, p.podSet("web"))
			done(t, p.at("hello"))
			outside.of(t).isIgnored()
			g := home.grants(next)
			for _, in := range []*project{home, watched, outside} {
				want := []permissionSet{g.everywhere}
				if in.name == p.name {
					want = append(want, g.served)
				}
				if in.name == home.name {
					want = append(want, g.own)
				}
				home.hasOnly(g.account, in.name, want...)
			}
		})
		if !ok {
			return
		}
	}
	home.retract()
	outside.leavesNothing()
}

// An installation moves from OLM v0 to OLM v1 as docs/olm.md describes. No object is lost, no pod is restarted, and a waiting At runs.
func TestOLMv1_migration(t *testing.T) {
	skipInShortMode(t)
	o := needOLMv1(t, "")
	home, p := newProject(t), newProject(t)
	t.Cleanup(home.retract)
	home.offer(previous)
	home.subscribe(previous)
	kept := newRecord(p)
	later := p.newAt("later", "2099-01-01T00:00:00Z", "echo once")
	pending(t, later)

	// OLM v0 creates the cluster roles of the bundle while it executes the plan, and the ClusterServiceVersion may succeed before that.
	home.types("kubectl wait --for=jsonpath='{.status.phase}'=Complete installplan --all --timeout 120s")
	home.types("kubectl delete subscription podset-operator")
	home.types("kubectl delete csv -l " + operatorLabel(home.name))
	home.types("kubectl delete operatorgroup podset-operator")
	home.types("kubectl delete catalogsource podset-operator")
	gone(t, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: deploymentName, Namespace: home.name}})
	home.types("kubectl delete clusterrole -l app.kubernetes.io/name=podset-operator")
	home.types("kubectl delete role,rolebinding -l app.kubernetes.io/name=podset-operator")
	home.types("kubectl label crd %s app.kubernetes.io/managed-by=Helm", strings.Join(crdNames, " "))
	home.types("kubectl annotate crd %s meta.helm.sh/release-name=podset-operator meta.helm.sh/release-namespace=%s", strings.Join(crdNames, " "), home.name)
	home.catalog(next)
	home.extend(o, previous, "")

	kept.compare(t)
	pending(t, later)
	change(t, later, dueNow)
	done(t, later)
	home.retract()
	p.hasNoPods()
	home.leavesNothing()
}
