// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openshift checks the objects for OpenShift with the CRDs that OpenShift, the Prometheus operator, and cert-manager install.
package openshift

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
)

// crds are the CRDs of the kinds that config/openshift, config/monitoring/prometheus, and config/components/certificates/cert-manager use,
// by the module that contains them.
var crds = map[string][]string{
	"github.com/cert-manager/cert-manager": {
		"deploy/crds/cert-manager.io_certificates.yaml",
		"deploy/crds/cert-manager.io_issuers.yaml",
	},
	"github.com/openshift/api": {
		"console/v1/zz_generated.crd-manifests/00_consolequickstarts.crd.yaml",
		"console/v1/zz_generated.crd-manifests/00_consoleyamlsamples.crd.yaml",
		"security/v1/zz_generated.crd-manifests/0000_03_config-operator_01_securitycontextconstraints.crd.yaml",
	},
	"github.com/prometheus-operator/prometheus-operator": {
		"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
	},
}

// CRDs returns the paths of the CRDs that OpenShift, the Prometheus operator, and cert-manager install. They come from the modules that
// hack/tools/openshift pins. root is the directory of the repository.
func CRDs(ctx context.Context, root string) ([]string, error) {
	args := []string{"mod", "download", "-json"}
	for module := range crds {
		args = append(args, module)
	}
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = filepath.Join(root, "hack/tools/openshift")
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("downloading the modules of hack/tools/openshift: %w: %s", err, output)
	}
	var paths []string
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var module struct{ Path, Dir string }
		if err := decoder.Decode(&module); errors.Is(err, io.EOF) {
			return paths, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the output of go mod download: %w", err)
		}
		for _, file := range crds[module.Path] {
			paths = append(paths, filepath.Join(module.Dir, file))
		}
	}
}
