// Copyright The podset-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e installs and removes the operator on a real cluster in every documented way:
//
//   - TestDeploy: make deploy; the tutorials of docs/from-the-tutorials.md; kubectl at with the Secret, volume, and service account of a
//     Deployment; logs, exit codes; deletion policies; restricted namespaces; the admission policy; metrics; removal
//   - TestDeploy_namespaced: config/components/tenants and namespaced: served namespace, permissions
//   - TestDeploy_highAvailability: config/components/ha: eviction of the leader, takeover, PodDisruptionBudgets
//   - TestChart: Helm: a restricted namespace, helm test, upgrade of the CRDs and rollback without pod restarts, removal that keeps the
//     objects
//   - TestChart_two: two operators by Helm, kustomize, and OLM v0: own lease, own namespace
//   - TestDeploy_certificate: config/monitoring, without cert-manager and Prometheus: the manager waits for its certificate; CA, name, and
//     token of the ServiceMonitor
//   - TestRunBundle: operator-sdk run bundle, the samples, operator-sdk scorecard under restricted pod security, run bundle-upgrade, cleanup
//   - TestInstallModes: the four install modes of OLM: served namespaces, permissions
//   - TestJudge: 10 runs of each adapter of test/judge under the faults of any cluster
//   - TestUpgrade: an upgrade waits for an At that is due soon, and does not restart pods or write a status; removal
//   - TestOLMv1: OLM v1 with the standard API: installation from a catalog, permissions, an upgrade with new fields, rejected downgrades and
//     CRD changes, removal
//   - TestOLMv1_watchNamespace: OLM v1 with the experimental API: its own namespace, then another one
//   - TestOLMv1_migration: a move to OLM v1 keeps objects and pods, and a waiting At runs
//
// The tests need administrator permissions on a cluster with OLM, without the operator and its CRDs, and a registry that you can push to
// and the cluster can pull from:
//
//	export KUBECONFIG=... E2E_REGISTRY=registry.example.com/me CONTAINER_TOOL=podman
//	make test-e2e                                   # all tests, in about 20 minutes
//	make test-e2e E2E_FLAGS=-short                  # what .ci/run runs: TestDeploy, TestDeploy_certificate, TestRunBundle, TestOLMv1
//	make test-e2e RUN=TestInstallModes E2E_FLAGS=-v # one test, with every command and its output
//
// They read these variables:
//
//	KUBECONFIG                   the cluster
//	E2E_REGISTRY                 the registry of the images $E2E_REGISTRY/podset-operator, -bundle, -catalog
//	CONTAINER_TOOL, ARCH         as for make; by default, the first installed tool and the architecture of this machine
//	BUSYBOX_IMG                  an image to replace docker.io/library/busybox
//	E2E_INDEX_IMAGE              an image with opm to replace the default of operator-sdk run bundle
//	E2E_SCORECARD_UNTAR_IMAGE    the same for two images of operator-sdk scorecard
//	E2E_SCORECARD_STORAGE_IMAGE
//	E2E_JUDGE_COUNTER            an address HOST:PORT of this machine that pods can reach, or TestJudge is skipped
//	E2E_OLMV1_INSTALL            a command that installs OLM v1, also with the argument experimental; by default, the cluster's OLM v1 is
//	                             used, or its tests are skipped
//	PATH                         must include helm, or its tests are skipped
//	E2E=optional                 without a cluster, print one line and succeed
//
// The tests create and remove the CRDs, podset-operator-system, and namespaces named podset-e2e-... They do not start if the cluster has
// the CRDs, unless an interrupted run left them. images.sh builds and pushes the newest release (before the first one, this tree), and this
// tree as the next version, with bundles and catalogs.
package e2e
