// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// releaseConfig is the release-config.yaml of a published version.
const releaseConfig = "catalog_templates:\n- template_name: basic.yaml\n  channels: [stable, candidate]\n"

// The pipeline of community-operators-prod appends each version to its channel. So the channel has one head only if the new version is
// the newest, and replaces the newest version that was published there.
func TestCommunity(t *testing.T) {
	const operator = "out/operators/podset-operator/"
	for name, c := range map[string]struct {
		catalog []string          // the versions in the channel of this repository
		exist   map[string]string // files in the clone
		want    map[string]string // files after it, each with a text that it contains
		absent  []string
		refused string
	}{
		"the first version has a template with only the package": {
			catalog: []string{"1.2.0"},
			want: map[string]string{
				"1.2.0/release-config.yaml":    releaseConfig,
				"1.2.0/manifests/crd.yaml":     "crd",
				"catalog-templates/basic.yaml": "- schema: olm.package\n  name: podset-operator\n",
				"ci.yaml":                      "catalog_names: [v4.18, v4.19]\n",
			},
		},
		"a later version has none": {
			catalog: []string{"1.1.0", "1.2.0"},
			want:    map[string]string{"1.2.0/release-config.yaml": releaseConfig + "  replaces: podset-operator.v1.1.0\n  skipRange: '>=1.0.0 <1.2.0'\n"},
			absent:  []string{"catalog-templates"},
		},
		"a version that was not published is not replaced": {
			catalog: []string{"1.0.0", "1.1.0", "1.2.0"},
			exist:   map[string]string{operator + "1.0.0/release-config.yaml": releaseConfig},
			want:    map[string]string{"1.2.0/release-config.yaml": "  replaces: podset-operator.v1.0.0\n"},
		},
		"an older version than the newest of the catalog": {
			catalog: []string{"1.1.0", "1.2.0", "1.10.0"},
			refused: "the channel stable has 1.10.0, which is newer than 1.2.0",
		},
		"an older version than the newest that was published": {
			catalog: []string{"1.1.0", "1.2.0"},
			exist:   map[string]string{operator + "1.3.0/release-config.yaml": releaseConfig},
			refused: "the channel stable has 1.3.0, which is newer than 1.2.0",
		},
		"what exists is kept": {
			catalog: []string{"1.2.0"},
			exist: map[string]string{
				operator + "ci.yaml":                      "reviewers: [somebody]\ncatalog_names: [v4.18]\n",
				operator + "catalog-templates/basic.yaml": "entries: [those of the pipeline]\n",
			},
			want: map[string]string{"ci.yaml": "reviewers: [somebody]\n", "catalog-templates/basic.yaml": "those of the pipeline"},
		},
		"a published version is final": {
			catalog: []string{"1.2.0"},
			exist:   map[string]string{operator + "1.2.0/manifests/crd.yaml": "another crd"},
			want:    map[string]string{"1.2.0/manifests/crd.yaml": "another crd"},
			refused: "1.2.0 differs: a published version is final",
		},
		"the catalogs are those of the clone": {
			catalog: []string{"1.1.0", "1.2.0"},
			exist:   map[string]string{"out/catalogs/v4.9/x": "", "out/catalogs/v4.18/x": "", "out/catalogs/v4.30/x": ""},
			want:    map[string]string{"ci.yaml": "catalog_names: [v4.18, v4.30]\n", "catalog-templates/basic.yaml": "olm.package"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			csv := "metadata:\n  annotations:\n    olm.skipRange: '>=1.0.0 <1.2.0'\nspec:\n  replaces: podset-operator.v1.1.0\n  version: 1.2.0\n"
			if len(c.catalog) == 1 {
				csv = "spec:\n  version: 1.2.0\n"
			}
			files := map[string]string{
				"hack/community.sh": string(read(t, "hack/community.sh")), "hack/catalog.sh": string(read(t, "hack/catalog.sh")),
				"bin/operator-sdk": "#!/bin/sh\n", "bin/opm": "#!/bin/sh\n",
				"bundle/manifests/podset-operator.clusterserviceversion.yaml": csv,
				"bundle/manifests/crd.yaml":                                   "crd",
				"bundle/metadata/annotations.yaml":                            "annotations", "bundle/tests/scorecard/config.yaml": "tests",
				"catalog/podset-operator/package.yaml": "schema: olm.package\nname: podset-operator\n",
			}
			for path, content := range c.exist {
				files[path] = content
			}
			dir := writeScripts(t, files)
			for _, version := range c.catalog {
				if output, err := runScript(t, dir, "hack/catalog.sh", nil, "add", "stable", version); err != nil {
					t.Fatalf("catalog.sh: %v\n%s", err, output)
				}
			}
			env := []string{"VERSION=1.2.0", "CHANNELS=stable,candidate", "OPENSHIFT_VERSIONS=v4.18", "OPENSHIFT_CATALOGS=v4.18 v4.19"}
			output, err := runScript(t, dir, "hack/community.sh", env, filepath.Join(dir, "out"))
			if (err != nil) != (c.refused != "") || !strings.Contains(output, c.refused) {
				t.Errorf("community.sh: %v, want %q\n%s", err, c.refused, output)
			}
			for path, want := range c.want {
				got, err := os.ReadFile(filepath.Join(dir, operator, path))
				if err != nil || !strings.Contains(string(got), want) {
					t.Errorf("%s does not contain %q: %v\n%s", path, want, err, got)
				}
			}
			for _, path := range c.absent {
				if _, err := os.Stat(filepath.Join(dir, operator, path)); err == nil {
					t.Errorf("%s exists", path)
				}
			}
		})
	}
}

// A version can be added to a channel after a newer one. What people have added to the other entries remains.
func TestCatalog(t *testing.T) {
	dir := writeScripts(t, map[string]string{
		"hack/catalog.sh": string(read(t, "hack/catalog.sh")),
		"catalog/podset-operator/stable.yaml": "schema: olm.channel\npackage: podset-operator\nname: stable\nentries:\n" +
			"- name: podset-operator.v1.0.0\n- name: podset-operator.v2.0.0\n  skips: [podset-operator.v1.9.0] # it was withdrawn\n" +
			"  replaces: podset-operator.v1.0.0\n  skipRange: '>=1.0.0 <2.0.0'\n",
	})
	for _, version := range []string{"2.10.0", "1.0.1", "2.9.0", "1.0.1", "2.0.0", "2.10.0-rc.1"} {
		if output, err := runScript(t, dir, "hack/catalog.sh", nil, "add", "stable", version); err != nil {
			t.Fatalf("adding %s: %v\n%s", version, err, output)
		}
	}
	want := "schema: olm.channel\npackage: podset-operator\nname: stable\nentries:\n- name: podset-operator.v1.0.0\n"
	previous := "1.0.0"
	for _, version := range []string{"1.0.1", "2.0.0", "2.9.0", "2.10.0-rc.1", "2.10.0"} {
		want += fmt.Sprintf("- name: podset-operator.v%s\n", version)
		want += fmt.Sprintf("  replaces: podset-operator.v%s\n  skipRange: '>=1.0.0 <%s'\n", previous, version)
		if version == "2.0.0" {
			want += "  skips: [podset-operator.v1.9.0] # it was withdrawn\n"
		}
		previous = version
	}
	got, err := os.ReadFile(filepath.Join(dir, "catalog/podset-operator/stable.yaml"))
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("the channel: %v (-want +got)\n%s", err, diff)
	}
}
