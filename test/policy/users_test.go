// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// The policies of examples/user-policies.yaml work as docs/security.md describes. They apply to one namespace here, because other tests share
// the cluster.
func TestPoliciesByUser(t *testing.T) {
	const ns = "policies-by-user"
	namespace(t, ns, map[string]string{"policies": "by-user"})
	allow(t, ns, "dev", []string{"*"}, "podsets", "ats", "pods")
	policies, err := os.ReadFile(root + "/examples/user-policies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(policies), "\n---\n") {
		document = strings.Replace(document, `'devs' in request.userInfo.groups`, `request.userInfo.username == 'dev'`, 1)
		document = strings.Replace(document, "validationActions: [Deny]", "validationActions: [Deny]\n  matchResources: {namespaceSelector: {matchLabels: {policies: by-user}}}", 1)
		policy := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), policy); err != nil {
			t.Fatal(err)
		}
		create(t, policy)
	}
	const (
		container = `template: {spec: {containers: [{name: c, image: "IMAGE", command: ["true"]}]}}`
		named     = `metadata: {annotations: {cnat.d2iq.com/requested-by: dev}}`
		own       = `{apiVersion: cnat.d2iq.com/v1alpha1, kind: At, ` + named + `, spec: {schedule: "2030-01-30T02:00:00Z", command: "true"}}`
		run       = `{apiVersion: cnat.d2iq.com/v1alpha1, kind: At, ` + named + `, spec: {schedule: "2030-01-30T02:00:00Z", ` + container + `}}`
		set       = `{apiVersion: app.example.com/v1alpha1, kind: PodSet, spec: {replicas: 1, ` + container + `}}`
	)
	good, bad := strings.NewReplacer("IMAGE", "registry.example.com/a"), strings.NewReplacer("IMAGE", "nginx")
	enforced(t, func(ctx context.Context) error {
		return as(t, "dev").Create(ctx, object(t, ns, "probe", bad.Replace(set)), client.DryRunAll)
	})
	enforced(t, func(ctx context.Context) error {
		return as(t, "dev").Create(ctx, object(t, ns, "probe", at), client.DryRunAll)
	})
	const image, name = "devs use images of registry.example.com", "requested-by: dev"
	for title, c := range map[string]struct{ text, want string }{
		"an At with another image":         {bad.Replace(run), image},
		"an At with an image of theirs":    {good.Replace(run), ""},
		"an At without a template":         {own, ""},
		"an At without a name":             {at, name},
		"an At with another name":          {strings.Replace(own, "by: dev", "by: boss", 1), name},
		"a PodSet with another image":      {bad.Replace(set), image},
		"a PodSet with an image of theirs": {good.Replace(set), ""},
	} {
		t.Run(title, func(t *testing.T) {
			compare(t, as(t, "dev").Create(t.Context(), object(t, ns, "new", c.text), client.DryRunAll), c.want)
		})
	}
	existing := object(t, ns, "existing", own)
	if err := as(t, "dev").Create(t.Context(), existing); err != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"cnat.d2iq.com/requested-by":"boss"}}}`))
	compare(t, as(t, "dev").Patch(t.Context(), existing, patch), "does not change")
}
