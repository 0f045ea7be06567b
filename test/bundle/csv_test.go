// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

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
	// A disconnected cluster mirrors the related images only, so samples and manifests must not use any other image.
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

// OpenShift recommends requests without limits. The memory limit remains, because it protects the node from a cache of many pods.
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
