// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy tests the admission policies of config/components with the users of a real API server.
package policy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/redhat/podset-operator/test/apiserver"
	"github.com/redhat/podset-operator/test/repository"
)

const root = "../.."

// config is that of an administrator. A request can impersonate a user.
var config *rest.Config

func TestMain(m *testing.M) {
	apiserver.Main(func() (int, error) {
		environment := apiserver.New(root)
		var err error
		if config, err = environment.Start(); err != nil {
			return 1, errors.Join(err, environment.Stop())
		}
		code := m.Run()
		return code, environment.Stop()
	})
}

// as returns a client of a user, or of an administrator if the name is empty.
func as(t *testing.T, user string) client.Client {
	t.Helper()
	c := rest.CopyConfig(config)
	c.Impersonate = rest.ImpersonationConfig{UserName: user}
	users, err := client.New(c, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return users
}

// apply creates the objects of a kustomization as a user, or as an administrator if the name is empty.
func apply(t *testing.T, user, kustomization string) {
	t.Helper()
	for _, obj := range apiserver.Objects(t, resource.FilenameOptions{Kustomize: kustomization}) {
		if err := as(t, user).Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
}

// create creates an object as an administrator.
func create(t *testing.T, obj client.Object) {
	t.Helper()
	if err := as(t, "").Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

// allow gives a user verbs on the given resources of all groups in a namespace.
func allow(t *testing.T, namespace, user string, verbs []string, resources ...string) {
	t.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: user + "-"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: resources, Verbs: verbs}},
	}
	create(t, role)
	create(t, apiserver.RoleBinding(namespace, user, "Role", role.Name))
}

// overlay returns the directory of a kustomization with a resource or component of this repository, and more lines.
func overlay(t *testing.T, field, path, more string) string {
	t.Helper()
	overlay := t.TempDir()
	absolute, err := filepath.Abs(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(overlay, absolute)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay+"/kustomization.yaml", fmt.Appendf(nil, "%s: [%q]\n%s\n", field, relative, more), 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}

func namespace(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
}

func object(t *testing.T, namespace, name, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), obj); err != nil {
		t.Fatal(err)
	}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// enforced waits until the API server rejects what a new policy does not allow.
func enforced(t *testing.T, rejected func(ctx context.Context) error) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return rejected(ctx) != nil, nil
	})
	if err != nil {
		t.Fatal("the policy is not enforced: ", err)
	}
}

// compare compares the answer of the API server with a part of the wanted message, or with success if it is empty.
func compare(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("the API server answered %v, want %q", err, want)
	}
}

const (
	podSet    = `{apiVersion: app.example.com/v1alpha1, kind: PodSet, spec: {replicas: 1}}`
	paused    = `{apiVersion: app.example.com/v1alpha1, kind: PodSet, metadata: {annotations: {app.example.com/paused: "true"}}, spec: {replicas: 1}}`
	limited   = `{apiVersion: cnat.d2iq.com/v1alpha1, kind: At, spec: {schedule: "2030-01-30T02:00:00Z", command: "true", activeDeadlineSeconds: 60}}`
	suspended = `{apiVersion: cnat.d2iq.com/v1alpha1, kind: At, spec: {schedule: "2030-01-30T02:00:00Z", command: "true", suspend: true}}`
	at        = `{apiVersion: cnat.d2iq.com/v1alpha1, kind: At, spec: {schedule: "2030-01-30T02:00:00Z", command: "true"}}`
)

// The operator can only start and stop a pod. What other admission adds to its request is not a change by the operator.
func TestManagerPods(t *testing.T) {
	const ns, manager = "manager-pods", "system:serviceaccount:podset-operator-system:podset-operator-controller-manager"
	const second = "system:serviceaccount:podset-operator-b:team-b-podset-operator-controller-manager"
	apply(t, "", overlay(t, "components", "config/components/policy", "namePrefix: pods-"))
	namespace(t, ns, nil)
	for _, user := range []string{"other", manager, second} {
		allow(t, ns, user, []string{"*"}, "pods")
	}
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ns, Name: name, Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"changed-by": "alice"},
				Finalizers:      []string{"example.com/keep"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "uid"}},
			},
			Spec: corev1.PodSpec{
				SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/quota"}, {Name: "cnat.d2iq.com/start"}},
				Containers:      []corev1.Container{{Name: "main", Image: "a"}},
			},
		}
	}
	patch := func(ctx context.Context, user, name, operations string, options ...client.PatchOption) error {
		return as(t, user).Patch(ctx, pod(name), client.RawPatch(types.JSONPatchType, []byte(operations)), options...)
	}
	const (
		image   = `{"op":"replace","path":"/spec/containers/0/image","value":"b"}`
		start   = `{"op":"remove","path":"/spec/schedulingGates/1"}`
		stop    = `{"op":"add","path":"/spec/activeDeadlineSeconds","value":1}`
		nothing = "the podset-operator may only start or stop a pod, but its request, after admission by others, would change spec.containers"
		removes = "may not remove a label, an annotation, an owner, or a finalizer"
	)
	create(t, pod("probe"))
	enforced(t, func(ctx context.Context) error { return patch(ctx, manager, "probe", "["+image+"]", client.DryRunAll) })
	for name, test := range map[string]struct{ user, operations, want string }{
		"start":                {manager, start, ""},
		"stop":                 {manager, stop, ""},
		"an added annotation":  {manager, start + `,{"op":"add","path":"/metadata/annotations/mesh","value":"on"}`, ""},
		"another annotation":   {manager, start + `,{"op":"replace","path":"/metadata/annotations/changed-by","value":"manager"}`, ""},
		"an added label":       {manager, stop + `,{"op":"add","path":"/metadata/labels/team","value":"a"}`, ""},
		"an added finalizer":   {manager, start + `,{"op":"add","path":"/metadata/finalizers/-","value":"example.com/more"}`, ""},
		"an added toleration":  {manager, start + `,{"op":"add","path":"/spec/tolerations/-","value":{"key":"spot","operator":"Exists"}}`, ""},
		"an added selector":    {manager, start + `,{"op":"add","path":"/spec/nodeSelector","value":{"zone":"a"}}`, ""},
		"another gate":         {manager, `{"op":"remove","path":"/spec/schedulingGates/0"}`, "no gate of a pod but its own"},
		"all gates":            {manager, `{"op":"remove","path":"/spec/schedulingGates"}`, "no gate of a pod but its own"},
		"the image":            {manager, image, nothing},
		"start with an image":  {manager, start + "," + image, nothing},
		"a removed label":      {manager, `{"op":"remove","path":"/metadata/labels"}`, removes},
		"a removed annotation": {manager, `{"op":"remove","path":"/metadata/annotations/changed-by"}`, removes},
		"a removed owner":      {manager, `{"op":"remove","path":"/metadata/ownerReferences"}`, removes},
		"a removed finalizer":  {manager, `{"op":"remove","path":"/metadata/finalizers/0"}`, removes},
		"another client":       {"other", image, ""},
		"a second manager":     {second, image, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			name := strings.ReplaceAll(name, " ", "-")
			create(t, pod(name))
			compare(t, patch(t.Context(), test.user, name, "["+test.operations+"]"), test.want)
		})
	}
}

// A user without permission to create pods cannot make the operator create pods.
func TestPodCreators(t *testing.T) {
	const ns, refused = "pod-creators", "writer may not create pods in the namespace pod-creators"
	apply(t, "", overlay(t, "components", "config/components/policy", ""))
	namespace(t, ns, nil)
	allow(t, ns, "writer", []string{"*"}, "podsets", "podsets/scale", "ats")
	allow(t, ns, "creator", []string{"*"}, "podsets", "ats", "pods")
	enforced(t, func(ctx context.Context) error {
		return as(t, "writer").Create(ctx, object(t, ns, "probe", podSet), client.DryRunAll)
	})

	for name, c := range map[string]struct{ existing, user, create, patch, want string }{
		"a PodSet of a user without the permission": {user: "writer", create: podSet, want: refused},
		"a paused PodSet of such a user":            {user: "writer", create: paused, want: refused},
		"an At of such a user":                      {user: "writer", create: at, want: refused},
		"a PodSet of a user with the permission":    {user: "creator", create: podSet},
		"an At of a user with the permission":       {user: "creator", create: at},
		"an edited spec":                            {existing: podSet, user: "writer", patch: `{"spec":{"replicas":2}}`, want: refused},
		"an edited At":                              {existing: at, user: "writer", patch: `{"spec":{"command":"false"}}`, want: refused},
		"an At without a field that it had":         {existing: at, user: "writer", patch: `{"spec":{"command":null,"template":{"spec":{"containers":[{"name":"c","image":"i","command":["true"]}]}}}}`, want: refused},
		"a field that is only removed":              {existing: limited, user: "writer", patch: `{"spec":{"activeDeadlineSeconds":null}}`, want: refused},
		"another time":                              {existing: at, user: "writer", patch: `{"spec":{"schedule":"2031-01-30T02:00:00Z"}}`, want: refused},
		"a suspended At":                            {existing: at, user: "writer", patch: `{"spec":{"suspend":true}}`},
		"a released At":                             {existing: suspended, user: "writer", patch: `{"spec":{"suspend":null}}`},
		"a released At with another command":        {existing: suspended, user: "writer", patch: `{"spec":{"suspend":null,"command":"false"}}`, want: refused},
		"a canceled At":                             {existing: at, user: "writer", patch: `{"spec":{"cancel":true}}`},
		"an edited spec, by a user with permission": {existing: podSet, user: "creator", patch: `{"spec":{"replicas":2}}`},
		"a label":                                  {existing: podSet, user: "writer", patch: `{"metadata":{"labels":{"a":"b"}}}`},
		"another annotation":                       {existing: paused, user: "writer", patch: `{"metadata":{"annotations":{"a":"b"}}}`},
		"a pause that is removed":                  {existing: paused, user: "writer", patch: `{"metadata":{"annotations":{"app.example.com/paused":null}}}`, want: refused},
		"all annotations, with the pause":          {existing: paused, user: "writer", patch: `{"metadata":{"annotations":null}}`, want: refused},
		"a pause that ends with another value":     {existing: paused, user: "writer", patch: `{"metadata":{"annotations":{"app.example.com/paused":"false"}}}`, want: refused},
		"a pause that a user with permission ends": {existing: paused, user: "creator", patch: `{"metadata":{"annotations":{"app.example.com/paused":null}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if c.existing == "" {
				compare(t, as(t, c.user).Create(t.Context(), object(t, ns, "new", c.create), client.DryRunAll), c.want)
				return
			}
			obj := object(t, ns, "", c.existing)
			obj.SetGenerateName("existing-")
			create(t, obj)
			compare(t, as(t, c.user).Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(c.patch)), client.DryRunAll), c.want)
		})
	}
}

// approver gives a user the role that docs/how-to/two-keys.md prints, in a namespace.
func approver(t *testing.T, namespace, user string) {
	t.Helper()
	page, err := os.ReadFile(root + "/docs/how-to/two-keys.md")
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{}
	if err := yaml.UnmarshalStrict([]byte(repository.Manifests(string(page))[0]), role); err != nil {
		t.Fatal(err)
	}
	role.Namespace = namespace
	create(t, role)
	create(t, apiserver.RoleBinding(namespace, user, "Role", role.Name))
}

// In a namespace with two keys, nothing runs that a single user has both written and released.
func TestTwoKeys(t *testing.T) {
	const ns, free = "two-keys", "one-key"
	apply(t, "", root+"/config/components/two-keys")
	namespace(t, ns, map[string]string{"cnat.d2iq.com/two-keys": "required"})
	namespace(t, free, nil)
	// The policy of a default installation checks who may create pods.
	apply(t, "", overlay(t, "components", "config/components/policy", "nameSuffix: -of-two-keys"))
	edit := []string{"create", "get", "update", "patch"}
	for _, user := range []string{"alice", "carol", "dave"} { // carol may do everything
		allow(t, ns, user, edit, "ats")
		allow(t, ns, user, []string{"create"}, "pods")
	}
	allow(t, ns, "carol", []string{"approve"}, "ats")
	approver(t, ns, "bob")
	allow(t, free, "alice", edit, "ats", "pods")
	enforced(t, func(ctx context.Context) error {
		return as(t, "alice").Create(ctx, object(t, ns, "probe", at), client.DryRunAll)
	})

	request := func(by string, suspend bool) string {
		return fmt.Sprintf(`{apiVersion: cnat.d2iq.com/v1alpha1, kind: At, metadata: {annotations: {cnat.d2iq.com/requested-by: %q}},
			spec: {schedule: "2030-01-30T02:00:00Z", command: "true", ttlSecondsAfterFinished: 60, suspend: %t}}`, by, suspend)
	}
	release := func(by string) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{"cnat.d2iq.com/approved-by":%q}},"spec":{"suspend":null}}`, by)
	}
	for name, c := range map[string]struct {
		namespace, user, create string
		released                bool // bob has approved the At of alice
		patch, want             string
	}{
		"create":                                {user: "alice", create: request("alice", true)},
		"create without the annotation":         {user: "alice", create: at, want: "requested-by: alice"},
		"create in the name of another user":    {user: "alice", create: request("bob", true), want: "requested-by: alice"},
		"create without suspend":                {user: "alice", create: request("alice", false), want: "spec.suspend: true"},
		"create in another namespace":           {namespace: free, user: "alice", create: at},
		"create with an approval":               {user: "carol", create: strings.Replace(request("carol", true), `: "carol"}`, `: "carol", cnat.d2iq.com/approved-by: bob}`, 1), want: "approved-by"},
		"approve":                               {user: "bob", patch: release("bob")},
		"edit by the approver, who has no pods": {user: "bob", patch: `{"spec":{"command":"false"}}`, want: "forbidden"},
		"approve by a user who has it all":      {user: "carol", patch: release("carol")},
		"approve one's own":                     {user: "alice", patch: release("alice"), want: "other than the requester alice"},
		"approve without the verb":              {user: "dave", patch: release("dave"), want: "with the verb approve"},
		"approve without the annotation":        {user: "bob", patch: `{"spec":{"suspend":false}}`, want: "approved-by: bob"},
		"approve in the name of another user":   {user: "bob", patch: release("carol"), want: "approved-by: bob"},
		"approve and edit in one write":         {user: "carol", patch: strings.Replace(release("carol"), `"suspend"`, `"command":"false","suspend"`, 1), want: "only the requester alice can edit"},
		"edit by the requester":                 {user: "alice", patch: `{"spec":{"command":"false"}}`},
		"edit by another user":                  {user: "carol", patch: `{"spec":{"command":"false"}}`, want: "only the requester alice can edit"},
		"a label":                               {user: "dave", patch: `{"metadata":{"labels":{"a":"b"}}}`},
		"another requester":                     {user: "bob", patch: `{"metadata":{"annotations":{"cnat.d2iq.com/requested-by":"bob"}}}`, want: "cannot change"},
		"no requester":                          {user: "bob", patch: `{"metadata":{"annotations":null}}`, want: "cannot change"},
		"an approval without a release":         {user: "bob", patch: `{"metadata":{"annotations":{"cnat.d2iq.com/approved-by":"bob"}}}`, want: "in the same write"},
		"edit after the approval":               {released: true, user: "alice", patch: `{"spec":{"command":"false"}}`, want: "only the requester alice can edit the At, with spec.suspend: true"},
		"edit after the approval, by approver":  {released: true, user: "carol", patch: `{"spec":{"command":"false"}}`, want: "only the requester alice can edit"},
		"a field that is removed after it":      {released: true, user: "carol", patch: `{"spec":{"ttlSecondsAfterFinished":null}}`, want: "only the requester alice can edit"},
		"edit after the approval, suspended":    {released: true, user: "alice", patch: `{"spec":{"command":"false","suspend":true}}`},
		"suspend after the approval":            {released: true, user: "dave", patch: `{"spec":{"suspend":true}}`},
		"another approver after the approval":   {released: true, user: "carol", patch: `{"metadata":{"annotations":{"cnat.d2iq.com/approved-by":"carol"}}}`, want: "in the same write"},
		"remove the approver of a released run": {released: true, user: "bob", patch: `{"metadata":{"annotations":{"cnat.d2iq.com/approved-by":null}}}`, want: "in the same write"},
		"cancel":                                {user: "dave", patch: `{"spec":{"cancel":true}}`},
		"cancel after the approval":             {released: true, user: "alice", patch: `{"spec":{"cancel":true}}`},
		"cancel with a forged approval":         {user: "alice", patch: `{"metadata":{"annotations":{"cnat.d2iq.com/approved-by":"bob"}},"spec":{"cancel":true}}`, want: "in the same write"},
		"cancel with an approval of one's own":  {user: "alice", patch: `{"metadata":{"annotations":{"cnat.d2iq.com/approved-by":"alice"}},"spec":{"cancel":true,"suspend":null}}`, want: "in the same write"},
		"a label of a released run":             {released: true, user: "dave", patch: `{"metadata":{"labels":{"a":"b"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if c.create != "" {
				if c.namespace == "" {
					c.namespace = ns
				}
				compare(t, as(t, c.user).Create(t.Context(), object(t, c.namespace, "new", c.create), client.DryRunAll), c.want)
				return
			}
			obj := object(t, ns, "", request("alice", true))
			obj.SetGenerateName("existing-")
			if err := as(t, "alice").Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
			if c.released {
				if err := as(t, "bob").Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(release("bob")))); err != nil {
					t.Fatal(err)
				}
			}
			compare(t, as(t, c.user).Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(c.patch)), client.DryRunAll), c.want)
		})
	}
}
