# Releases: see RELEASING.md.

##@ Release

RELEASE_DIR ?= dist/release
# The repository on GitHub. Users download the files of a release from there.
export REPOSITORY_URL ?= https://github.com/redhat/podset-operator
# cosign signs the chart like the images.
RELEASE_IMAGES = $(IMG) $(BUNDLE_IMG) $(CATALOG_IMG) $(CHART_REGISTRY)/podset-operator:$(VERSION)

.PHONY: release-binaries
release-binaries: $(foreach arch,$(ARCHES),bin/image/manager-$(arch)) ## Build the binaries of the images for all ARCHES.

.PHONY: release-files
release-files: bin/cyclonedx-gomod build-installer plugin-release release-binaries chart-package ## Write the files of the release of VERSION, with SBOMs and checksums, to dist/release.
	hack/release.sh files $(RELEASE_DIR) $(ARCHES)

# docker, podman, buildah, and cosign read the file that `cosign login` writes.
.PHONY: release-login
release-login: bin/cosign ## Log in to the registry of IMAGE_BASE, as REGISTRY_USERNAME with REGISTRY_PASSWORD.
	@bin/cosign login $(firstword $(subst /, ,$(IMAGE_BASE))) --username "$$REGISTRY_USERNAME" --password-stdin <<<"$$REGISTRY_PASSWORD"

.PHONY: release-sign
release-sign: bin/cosign ## Sign the files, the pushed images, and the pushed chart of VERSION, and attest their SBOMs and provenance; COSIGN_KEY is a key, or keyless.
	hack/release.sh sign $(RELEASE_DIR) $(RELEASE_IMAGES)

.PHONY: release-check
release-check: ## Fail unless this commit is the release of VERSION, built by the newest patch of Go.
	hack/release.sh check

.PHONY: release-verify
release-verify: bin/kustomize bin/cyclonedx-gomod ## Build every file and image of the release twice, and compare the digests; ARCHES, PLUGIN_PLATFORMS.
	CONTAINER_TOOL='$(CONTAINER_TOOL)' hack/release-verify.sh 'ARCHES=$(ARCHES)' 'PLUGIN_PLATFORMS=$(PLUGIN_PLATFORMS)'

# A clone of community-operators-prod, or a new directory.
COMMUNITY ?= dist/community

.PHONY: community
community: bin/operator-sdk bin/opm ## Write the files for a pull request to community-operators to COMMUNITY, a clone of it, and validate them.
	hack/community.sh '$(COMMUNITY)'

# The version after the rehearsed one. A prerelease is only in the channel candidate.
NEXT ?= $(shell awk -F. '{ print $$1 "." $$2 + 1 ".0-rc.1" }' <<<'$(VERSION)')

.PHONY: rehearsal
rehearsal: ## Rehearse the release of VERSION and of NEXT on the cluster of the end-to-end tests, from a clean clone; RUN=... selects tests.
	CONTAINER_TOOL='$(CONTAINER_TOOL)' ARCHES='$(ARCHES)' PLUGIN_PLATFORMS='$(PLUGIN_PLATFORMS)' \
	  hack/rehearsal.sh '$(VERSION)' '$(NEXT)' $(if $(filter-out .,$(RUN)),-run '$(RUN)') $(E2E_FLAGS)
