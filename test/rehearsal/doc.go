// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rehearsal tests kubectl at rehearse on a real cluster, because a kubelet and a container runtime decide what it shows:
//
//   - TestMistakes: templates with one mistake each: what is found, without and with the look for the program, and how fast
//   - TestUsual: templates as public charts have them: no false alarm, where a plain run starts
//   - TestNothingIsLeft: Ctrl-C, SIGTERM, a killed plugin
//
// In each template, the command, an init container, and a sidecar report to a counter outside the cluster. It must stay at 0.
//
// The tests need the CRDs of this tree, but no operator, and these variables:
//
//	KUBECONFIG          the cluster
//	E2E_REGISTRY        a registry that this machine can push to and the cluster can pull from
//	CONTAINER_TOOL      podman or buildah
//	E2E_JUDGE_COUNTER   an address HOST:PORT of this machine that pods can reach
//	BUSYBOX_IMG         an image with a static busybox, or else busybox:1.37-musl
//
//	make plugin && go test -tags e2e -count=1 -v ./test/rehearsal
package rehearsal
