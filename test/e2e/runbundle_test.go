// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// operator-sdk runs the bundle, the operator serves the samples, the scorecard passes, the bundle is upgraded, and cleanup removes
// the operator and the CRDs.
func TestRunBundle(t *testing.T) {
	home, p := newProject(t), newProject(t, restricted) // the catalog pod of operator-sdk does not comply with the restricted standard
	t.Cleanup(func() { home.removeRest() })
	home.types("operator-sdk run bundle %s --timeout 3m --security-context-config restricted%s", previous.bundle, flag("--index-image", "E2E_INDEX_IMAGE"))
	home.succeeded(previous)

	t.Run("the samples", func(t *testing.T) {
		p := p.of(t)
		p.runsTheSamples()
		p.types("kubectl get csv,podset,at,pods")
	})
	t.Run("the scorecard", func(t *testing.T) { p.of(t).passesTheScorecard(previous) })
	t.Run("the admission policy, which a bundle cannot contain", func(t *testing.T) {
		home.of(t).types("make deploy-policy")
		defer home.of(t).types("make undeploy-policy")
		newProject(t).rejectsUsersWithoutPodPermission()
	})
	t.Run("the upgrade", func(t *testing.T) {
		home, p := home.of(t), p.of(t)
		waiting := p.newAt("waiting", "2099-01-01T00:00:00Z", "echo once")
		pending(t, waiting)
		kept := newRecord(p)
		home.types("operator-sdk run bundle-upgrade %s --timeout 3m --security-context-config restricted", next.bundle)
		home.succeeded(next)
		kept.compare(t)
		pending(t, waiting)
		change(t, waiting, dueNow)
		done(t, waiting)
		p.types("kubectl get podset,at,pods -o custom-columns=KIND:.kind,NAME:.metadata.name,UID:.metadata.uid,PHASE:.status.phase")
	})
	t.Run("the cleanup", func(t *testing.T) {
		home, p := home.of(t), p.of(t)
		home.deletesObjects()
		home.types("operator-sdk cleanup %s", operatorName)
		for _, name := range crdNames {
			gone(t, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		gone(t, home.csv(next))
		p.hasNoPods()
		home.removeRest()
		home.leavesNothing()
	})
}

// runsTheSamples creates the samples, and checks that the operator serves them.
func (p *project) runsTheSamples() {
	p.t.Helper()
	p.types("kubectl apply -k config/samples")
	settled(p.t, p.podSet("podset-sample"))
	done(p.t, p.at("at-sample"))
	if got := p.types("kubectl logs at-sample-pod"); got != "YAY\n" {
		p.t.Errorf("the At printed %q", got)
	}
}

// flag returns a flag with the value of an environment variable, or nothing if the variable is empty.
func flag(name, variable string) string {
	if value := os.Getenv(variable); value != "" {
		return " " + name + " " + value
	}
	return ""
}

// passesTheScorecard runs every scorecard test of a release in the project.
func (p *project) passesTheScorecard(r release) {
	p.t.Helper()
	output := p.types("operator-sdk scorecard %s/bundle --namespace %s --pod-security restricted --wait-time 180s --output json%s%s 2>/dev/null",
		r.dir, p.name, flag("--untar-image", "E2E_SCORECARD_UNTAR_IMAGE"), flag("--storage-image", "E2E_SCORECARD_STORAGE_IMAGE"))
	var list v1alpha3.TestList
	if err := json.Unmarshal([]byte(output), &list); err != nil {
		p.t.Fatal(err)
	}
	passed := 0
	for _, test := range list.Items {
		for _, result := range test.Status.Results {
			if result.State == v1alpha3.PassState {
				passed++
			} else {
				p.t.Errorf("%s: %s: %q", result.Name, result.State, result.Errors)
			}
		}
	}
	if passed != 6 {
		p.t.Errorf("%d tests passed, want 6", passed)
	}
}
