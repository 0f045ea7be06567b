// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e installs the operator into a real cluster in every documented way, upgrades it, and removes it again. It checks that
// the operator serves PodSets and Ats in its namespaces and nowhere else.
//
// `make test-e2e` runs it; see docs/e2e.md. It needs the permissions of a cluster administrator on a cluster with Operator Lifecycle
// Manager and without the operator:
//
//	KUBECONFIG                   the cluster
//	E2E_REGISTRY                 REGISTRY/ORGANIZATION to push images to; the cluster must be able to pull from it
//	CONTAINER_TOOL               docker, podman, or buildah: builds and pushes the images
//	ARCH                         the architecture of the nodes; default: that of this machine
//	BUSYBOX_IMG                  busybox, for clusters that cannot pull docker.io/library/busybox
//	E2E_INDEX_IMAGE              an image with opm, for clusters that cannot pull the default of operator-sdk
//	E2E_SCORECARD_UNTAR_IMAGE    the same for two images of operator-sdk scorecard
//	E2E_SCORECARD_STORAGE_IMAGE
//
// The tests create their own namespaces, podset-operator-system, and the CRDs, and remove them at the end. The next run removes what
// an interrupted run left.
package e2e
