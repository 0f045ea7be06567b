// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e installs the operator into a real cluster in every way that the documentation names, upgrades it, removes it
// again, and sees meanwhile that PodSets and Ats are served where they must be and nowhere else.
//
// `make test-e2e` runs it; docs/e2e.md says how. It works on any cluster with Operator Lifecycle Manager and without the
// operator, as a cluster administrator:
//
//	KUBECONFIG                   the cluster
//	E2E_REGISTRY                 REGISTRY/ORGANIZATION to push images to, from where the cluster can pull them
//	CONTAINER_TOOL               docker, podman or buildah: builds and pushes the images
//	ARCH                         of the nodes; else that of this machine
//	BUSYBOX_IMG                  busybox, for clusters that cannot pull docker.io/library/busybox
//	E2E_INDEX_IMAGE              an image with opm, for clusters that cannot pull the one that operator-sdk takes
//	E2E_SCORECARD_UNTAR_IMAGE    the same for two images of operator-sdk scorecard
//	E2E_SCORECARD_STORAGE_IMAGE
//
// What it makes lies in namespaces of its own, podset-operator-system and the CRDs; it all goes when the tests end, and
// what an interrupted run left goes when the next one begins.
package e2e
