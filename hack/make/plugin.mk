# The plugin kubectl at: see docs/kubectl-at.md.

##@ The kubectl plugin

# The platforms of a release.
PLUGIN_PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: plugin
plugin: ## Build bin/kubectl-at; `kubectl at` runs it if bin is in the PATH.
	@hack/build.sh bin/kubectl-at . ./cmd/kubectl-at -ldflags '$(LDFLAGS)'
	@cp cmd/kubectl-at/kubectl_complete-at bin/

.PHONY: plugin-release
plugin-release: bin/cyclonedx-gomod ## Build the plugin of VERSION for all platforms, with checksums, SBOMs, and the krew manifest, in dist/plugin.
	VERSION=$(VERSION) LDFLAGS='$(LDFLAGS)' hack/plugin-release.sh dist/plugin $(PLUGIN_PLATFORMS)
