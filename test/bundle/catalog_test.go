// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// channel is an olm.channel of the file-based catalog.
type channel struct {
	Entries []struct {
		Name      string `json:"name"`
		Replaces  string `json:"replaces"`
		SkipRange string `json:"skipRange"`
	} `json:"entries"`
}

func TestCatalog(t *testing.T) {
	csv := readCSV(t)
	var metadata struct {
		Annotations map[string]string `json:"annotations"`
	}
	unmarshal(t, "bundle/metadata/annotations.yaml", &metadata)
	channels := strings.Split(metadata.Annotations["operators.operatorframework.io.bundle.channels.v1"], ",")
	defaultChannel := metadata.Annotations["operators.operatorframework.io.bundle.channel.default.v1"]
	for _, name := range channels {
		var c channel
		unmarshal(t, filepath.Join("catalog/podset-operator", name+".yaml"), &c)
		offered := false
		for _, entry := range c.Entries {
			if entry.Name != csv.Name {
				continue
			}
			offered = true
			// A CSV names only one version that it replaces, and one range. Another channel may contain prereleases too.
			if name != defaultChannel {
				continue
			}
			if entry.SkipRange != csv.Annotations["olm.skipRange"] {
				t.Errorf("%s: %s skips %q, the CSV %q", name, entry.Name, entry.SkipRange, csv.Annotations["olm.skipRange"])
			}
			if entry.Replaces != csv.Spec.Replaces {
				t.Errorf("%s: %s replaces %q, the CSV %q", name, entry.Name, entry.Replaces, csv.Spec.Replaces)
			}
		}
		if !offered {
			t.Errorf("channel %s does not offer %s; run make catalog", name, csv.Name)
		}
	}
}

func TestCatalog_images(t *testing.T) {
	csv := readCSV(t)
	var entry struct {
		Name          string `json:"name"`
		Image         string `json:"image"`
		RelatedImages []struct {
			Name  string `json:"name"`
			Image string `json:"image"`
		} `json:"relatedImages"`
	}
	unmarshal(t, "catalog/podset-operator/v"+csv.Spec.Version.String()+".yaml", &entry)
	want := map[string]string{"": entry.Image} // the bundle itself has no name
	for _, image := range csv.Spec.RelatedImages {
		want[image.Name] = image.Image
	}
	got := map[string]string{}
	for _, image := range entry.RelatedImages {
		got[image.Name] = image.Image
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the CSV (-) and the catalog (+) name other images; run make catalog:\n%s", diff)
	}
	if entry.Name != csv.Name {
		t.Errorf("the catalog has %s, the bundle %s", entry.Name, csv.Name)
	}
}
