# Tests on a real cluster: see test/e2e/doc.go.

##@ End-to-end tests

.PHONY: test-e2e
test-e2e: ## Test every install mode, upgrades, and removal on the cluster in KUBECONFIG; RUN=... selects one test.
	@CONTAINER_TOOL='$(CONTAINER_TOOL)' hack/e2e.sh $(if $(filter-out .,$(RUN)),-run '$(RUN)') $(E2E_FLAGS)
