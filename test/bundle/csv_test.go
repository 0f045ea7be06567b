// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// The service account of the manager, in the bundle and in config/default.
const serviceAccount = "podset-operator-controller-manager"

func TestPermissions_cluster(t *testing.T) {
	want := []operatorsv1alpha1.StrategyDeploymentPermissions{{
		ServiceAccountName: serviceAccount,
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
			{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
		},
	}}
	if diff := cmp.Diff(want, readCSV(t).Spec.InstallStrategy.StrategySpec.ClusterPermissions); diff != "" {
		t.Errorf("clusterPermissions apply to every namespace in every install mode (-want +got):\n%s", diff)
	}
}

func TestPermissions(t *testing.T) {
	var manager rbacv1.ClusterRole
	unmarshal(t, "config/rbac/role.yaml", &manager)
	permissions := readCSV(t).Spec.InstallStrategy.StrategySpec.Permissions
	if len(permissions) != 1 || permissions[0].ServiceAccountName != serviceAccount {
		t.Fatalf("the permissions are not those of %s alone: %v", serviceAccount, permissions)
	}
	if diff := cmp.Diff(grants(manager.Rules), grants(permissions[0].Rules)); diff != "" {
		t.Errorf("config/rbac (-) and permissions (+) differ; run make bundle:\n%s", diff)
	}
}

// The lease is in the namespace of the operator. OLM v1 creates permissions only in the namespace that the operator watches, so the
// permissions for the lease are manifests.
func TestPermissions_lease(t *testing.T) {
	var want, role rbacv1.Role
	var binding rbacv1.RoleBinding
	const file = "bundle/manifests/rbac.authorization.k8s.io_v1_"
	unmarshal(t, "config/rbac/leader-election/role.yaml", &want)
	unmarshal(t, file+"role_podset-operator-leader-election-role.yaml", &role)
	unmarshal(t, file+"rolebinding_podset-operator-leader-election-rolebinding.yaml", &binding)
	if diff := cmp.Diff(want.Rules, role.Rules); diff != "" {
		t.Errorf("config/rbac (-) and the bundle (+) differ; run make bundle:\n%s", diff)
	}
	if role.Namespace != "" || binding.Namespace != "" {
		t.Errorf("OLM chooses the namespace, the bundle must not: %q and %q", role.Namespace, binding.Namespace)
	}
	if diff := cmp.Diff(rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}, binding.RoleRef); diff != "" {
		t.Errorf("the binding is of another role (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]rbacv1.Subject{{Kind: "ServiceAccount", Name: serviceAccount}}, binding.Subjects); diff != "" {
		t.Errorf("the binding is for others (-want +got):\n%s", diff)
	}
}

func TestPermissions_excess(t *testing.T) {
	strategy := readCSV(t).Spec.InstallStrategy.StrategySpec
	for _, permissions := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		for _, permission := range grants(permissions.Rules) {
			for _, tooMuch := range []string{"*", "secrets", "pods/exec", "impersonate", "escalate", "bind"} {
				if slices.Contains(strings.Fields(permission), tooMuch) {
					t.Errorf("%s: %s", permissions.ServiceAccountName, permission)
				}
			}
		}
	}
}

// grants returns each "group resource verb [names]" that the rules grant, sorted. The core group is "core".
func grants(lists ...[]rbacv1.PolicyRule) []string {
	var granted []string
	for _, rule := range slices.Concat(lists...) {
		for _, group := range rule.APIGroups {
			if group == "" {
				group = "core"
			}
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					granted = append(granted, fmt.Sprintf("%s %s %s %v", group, resource, verb, rule.ResourceNames))
				}
			}
		}
	}
	slices.Sort(granted)
	return slices.Compact(granted)
}

func TestInstallModes(t *testing.T) {
	csv := readCSV(t)
	got := map[operatorsv1alpha1.InstallModeType]bool{}
	for _, mode := range csv.Spec.InstallModes {
		got[mode.Type] = mode.Supported
	}
	want := map[operatorsv1alpha1.InstallModeType]bool{
		operatorsv1alpha1.InstallModeTypeOwnNamespace:    true,
		operatorsv1alpha1.InstallModeTypeSingleNamespace: true,
		operatorsv1alpha1.InstallModeTypeMultiNamespace:  true,
		operatorsv1alpha1.InstallModeTypeAllNamespaces:   true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("install modes (-want +got):\n%s", diff)
	}
	env := manager(t).Env
	i := slices.IndexFunc(env, func(e corev1.EnvVar) bool { return e.Name == "WATCH_NAMESPACE" })
	if i < 0 || env[i].ValueFrom == nil || env[i].ValueFrom.FieldRef == nil ||
		env[i].ValueFrom.FieldRef.FieldPath != "metadata.annotations['olm.targetNamespaces']" {
		t.Errorf("WATCH_NAMESPACE does not come from OLM: %v", env)
	}
}

// imageLine is an image in YAML, or in JSON as in alm-examples.
var imageLine = regexp.MustCompile(`(?m)^ *(?:- )?"?image"?: "?([^",\s]+)`)

func TestRelatedImages(t *testing.T) {
	csv := readCSV(t)
	container := manager(t)
	want := map[string]string{"manager": container.Image}
	for _, env := range container.Env {
		if name, ok := strings.CutPrefix(env.Name, "RELATED_IMAGE_"); ok {
			want[strings.ToLower(name)] = env.Value
		}
	}
	got := map[string]string{}
	for _, image := range csv.Spec.RelatedImages {
		got[image.Name] = image.Image
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the images of the deployment (-) and relatedImages (+) differ:\n%s", diff)
	}
	if csv.Annotations["containerImage"] != container.Image {
		t.Errorf("containerImage is %s, the container has %s", csv.Annotations["containerImage"], container.Image)
	}
	// A disconnected cluster mirrors the related images only, so no sample and no manifest may name another one.
	related := slices.Collect(maps.Values(got))
	for _, pattern := range []string{"bundle/manifests/*.yaml", "config/samples/*.yaml", "config/openshift/*/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range imageLine.FindAllSubmatch(content, -1) {
				if image := string(match[1]); !slices.Contains(related, image) {
					t.Errorf("%s: %s is not a related image", file, image)
				}
			}
		}
	}
	var installed struct {
		Images []struct {
			NewTag string `json:"newTag"`
		} `json:"images"`
	}
	unmarshal(t, "config/manager/kustomization.yaml", &installed)
	if tag := "v" + csv.Spec.Version.String(); len(installed.Images) != 1 || installed.Images[0].NewTag != tag {
		t.Errorf("config/manager installs %v, the bundle has %s", installed.Images, tag)
	}
}

func TestManager_restricted(t *testing.T) {
	spec, container := deployment(t).Spec.Template.Spec, manager(t)
	yes := func(b *bool) bool { return b != nil && *b }
	pod, own := spec.SecurityContext, container.SecurityContext
	switch {
	case pod == nil || !yes(pod.RunAsNonRoot) || pod.RunAsUser != nil:
		t.Error("the pod must not run as root or set a user: the image or OpenShift chooses the user")
	case pod.SeccompProfile == nil || pod.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault:
		t.Error("the pod does not have the seccomp profile RuntimeDefault")
	case own == nil || own.AllowPrivilegeEscalation == nil || *own.AllowPrivilegeEscalation || !yes(own.ReadOnlyRootFilesystem):
		t.Error("the container can gain privileges or write to its root file system")
	case own.Capabilities == nil || !slices.Equal(own.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(own.Capabilities.Add) > 0:
		t.Error("the container keeps capabilities")
	case container.LivenessProbe == nil || container.ReadinessProbe == nil:
		t.Error("the container lacks a probe")
	}
}

// The image exists for Linux. `kubectl describe pod` shows the line that the manager prints when it cannot start.
func TestManager_node(t *testing.T) {
	linux := corev1.NodeSelectorRequirement{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"linux"}}
	affinity := deployment(t).Spec.Template.Spec.Affinity
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if !slices.ContainsFunc(term.MatchExpressions, func(e corev1.NodeSelectorRequirement) bool { return cmp.Equal(e, linux) }) {
			t.Errorf("the manager can be scheduled to a node that does not run Linux: %v", term)
		}
	}
	if policy := manager(t).TerminationMessagePolicy; policy != corev1.TerminationMessageFallbackToLogsOnError {
		t.Errorf("terminationMessagePolicy is %s", policy)
	}
}

// OpenShift recommends requests and no limits. The memory limit remains, because it protects the node from a cache of many pods.
func TestManager_resources(t *testing.T) {
	container := manager(t)
	requests, limits := container.Resources.Requests, container.Resources.Limits
	if requests.Cpu().IsZero() || requests.Memory().IsZero() || limits.Memory().IsZero() {
		t.Errorf("a request or the memory limit is missing: %v", container.Resources)
	}
	if !limits.Cpu().IsZero() {
		t.Errorf("the CPU limit %s delays Ats that are due together", limits.Cpu())
	}
	names := map[string]*corev1.EnvVarSource{}
	for _, env := range container.Env {
		names[env.Name] = env.ValueFrom
	}
	if _, ok := names["GOMEMLIMIT"]; ok {
		t.Error("GOMEMLIMIT takes precedence over the part of the memory limit that the manager computes")
	}
	if from := names["MEMORY_LIMIT"]; from == nil || from.ResourceFieldRef == nil || from.ResourceFieldRef.Resource != "limits.memory" {
		t.Errorf("MEMORY_LIMIT is not the memory limit of the container: %v", container.Env)
	}
}

func TestFeatures(t *testing.T) {
	csv := readCSV(t)
	want := map[string]string{
		// Clusters mirror related images by digest, so the annotation must be false for tags.
		"disconnected": strconv.FormatBool(!slices.ContainsFunc(csv.Spec.RelatedImages, func(image operatorsv1alpha1.RelatedImage) bool {
			return !strings.Contains(image.Image, "@sha256:")
		})),
		"cnf":              "false", // The operator is neither a network function nor a plugin for networks or storage.
		"cni":              "false",
		"csi":              "false",
		"fips-compliant":   "false", // The binary uses the cryptography of Go, which is not a validated module.
		"proxy-aware":      "true",  // The pods of Ats without a template get the variables.
		"tls-profiles":     "false", // The metrics do not follow the TLS profile of the cluster.
		"token-auth-aws":   "false", // The operator calls no cloud API.
		"token-auth-azure": "false",
		"token-auth-gcp":   "false",
	}
	got := map[string]string{}
	for key, value := range csv.Annotations {
		if name, ok := strings.CutPrefix(key, "features.operators.openshift.io/"); ok {
			got[name] = value
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("features (-want +got):\n%s", diff)
	}
}

// The console creates this namespace for the operator. Its labels must not prevent the manager from running.
func TestSuggestedNamespace(t *testing.T) {
	annotations := readCSV(t).Annotations
	var suggested corev1.Namespace
	if err := json.Unmarshal([]byte(annotations["operatorframework.io/suggested-namespace-template"]), &suggested); err != nil {
		t.Fatal(err)
	}
	if name := annotations["operatorframework.io/suggested-namespace"]; suggested.Name != name || suggested.Kind != "Namespace" || suggested.APIVersion != "v1" {
		t.Errorf("the template is a %s %s %s, not the namespace %s", suggested.APIVersion, suggested.Kind, suggested.Name, name)
	}
	var installed corev1.Namespace
	unmarshal(t, "config/manager/manager.yaml", &installed)
	for _, key := range []string{"pod-security.kubernetes.io/enforce", "pod-security.kubernetes.io/enforce-version"} {
		if got, want := suggested.Labels[key], installed.Labels[key]; got != want || want == "" {
			t.Errorf("%s is %q, in config/manager %q", key, got, want)
		}
	}
}

// The maturity is that of the API. The default channel is stable, because each of its versions has passed all tests and replaces the
// previous one: see docs/olm.md.
func TestMaturity(t *testing.T) {
	csv := readCSV(t)
	for _, crd := range csv.Spec.CustomResourceDefinitions.Owned {
		if !strings.Contains(crd.Version, csv.Spec.Maturity) {
			t.Errorf("%s is %s, the maturity is %s", crd.Kind, crd.Version, csv.Spec.Maturity)
		}
	}
}

// deployment returns the only deployment of the CSV.
func deployment(t *testing.T) appsv1.Deployment {
	t.Helper()
	specs := readCSV(t).Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	if len(specs) != 1 || specs[0].Spec.Replicas == nil || *specs[0].Spec.Replicas != 1 {
		t.Fatalf("want one deployment of one replica, got %v", specs)
	}
	return appsv1.Deployment{Spec: specs[0].Spec}
}

// manager returns its only container.
func manager(t *testing.T) corev1.Container {
	t.Helper()
	containers := deployment(t).Spec.Template.Spec.Containers
	if len(containers) != 1 || containers[0].Name != "manager" {
		t.Fatalf("want one container manager, got %v", containers)
	}
	return containers[0]
}
