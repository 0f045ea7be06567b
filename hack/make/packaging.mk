# Images, installation without OLM, and the bundle and the catalog for OLM. docs/olm.md and RELEASING.md use these targets.

# The architectures of a release, and the architecture of docker-build.
ARCHES ?= amd64 arm64
ARCH ?= $(shell go env GOARCH)

# The image of pods without a template. If empty, the image in config/manager is used.
BUSYBOX_IMG ?=

# The creation time of this version of the bundle. It is fixed, so that regenerating the bundle does not change it.
CREATED_AT ?= 2026-11-21T00:00:00Z
# The time of the images of a release: see hack/image.sh.
export SOURCE_DATE_EPOCH ?= $(shell date -u -d '$(CREATED_AT)' +%s 2>/dev/null)
# The versions of OpenShift whose catalogs may show the operator. There is a last one, because no version was tested.
OPENSHIFT_VERSIONS ?= v4.18-v4.22
# The catalogs of community-operators-prod that get the operator. Each version of OpenShift has one.
OPENSHIFT_CATALOGS ?= v4.18 v4.19 v4.20 v4.21 v4.22

image = CONTAINER_TOOL='$(CONTAINER_TOOL)' hack/image.sh
# $(call overlay,NAME,WHAT) creates the kustomization bin/overlay/NAME, which is WHAT with the images of this run. It does not
# change the committed kustomizations.
define overlay
rm -rf bin/overlay/$(1) && mkdir -p bin/overlay/$(1) && cd bin/overlay/$(1) && \
  ../../kustomize create $(2) && \
  ../../kustomize edit set image quay.io/redhat/podset-operator=$(IMG) $(if $(BUSYBOX_IMG),docker.io/library/busybox=$(BUSYBOX_IMG))
endef

##@ Images (IMG, ARCH, ARCHES; CONTAINER_TOOL is docker, podman, or buildah)

# The go command always runs and determines whether the binary is up to date.
bin/image/manager-%: FORCE
	@GOOS=linux GOARCH=$* hack/build.sh $@ . . -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'
.PHONY: FORCE
FORCE:

.PHONY: docker-build
docker-build: bin/image/manager-$(ARCH) ## Build the image of the manager.
	$(image) build $(IMG) Dockerfile $(ARCH) VERSION=$(VERSION)
	@echo '$(IMG) $(ARCH)' >bin/image/built # for deploy

.PHONY: docker-push
docker-push: ## Push the image of the manager.
	$(image) push $(IMG)

.PHONY: docker-buildx
docker-buildx: $(addprefix bin/image/manager-,$(ARCHES)) ## Build and push the image of the manager for all ARCHES.
	$(foreach arch,$(ARCHES),$(image) build $(IMG)-$(arch) Dockerfile $(arch) VERSION=$(VERSION) &&) true
	$(image) manifest $(IMG) $(ARCHES)
	@echo '$(IMG) $(ARCHES)' >bin/image/built

##@ Install without OLM (IMG; DEPLOY is config/default, config/openshift, or your own kustomization)

# Your own kustomization, if there is one: config/default would reset your settings.
DEPLOY ?= $(if $(wildcard deploy/kustomization.yaml),deploy,config/default)

.PHONY: deploy
deploy: bin/kustomize ## Install the operator, for all namespaces, into the current cluster.
	@$(call overlay,deploy,--resources '../../../$(DEPLOY)')
	@hack/admit.sh bin/overlay/deploy
	@for image in $(if $(filter-out file,$(origin IMG)),'$(IMG)') $(if $(BUSYBOX_IMG),'$(BUSYBOX_IMG)'); do \
	  bin/kustomize build bin/overlay/deploy | grep -F ": $$image" >/dev/null || \
	  { echo "deploy: the kustomization $(DEPLOY) sets another image than $$image: change it there" >&2; exit 1; }; \
	done
	bin/kustomize build bin/overlay/deploy | $(KUBECTL) apply -f -

.PHONY: undeploy
undeploy: bin/kustomize ## Remove the operator and the CRDs from the current cluster; fails if PodSets or Ats exist, unless DELETE_OBJECTS=yes.
	KUBECTL='$(KUBECTL)' DELETE_OBJECTS='$(DELETE_OBJECTS)' hack/undeploy.sh '$(DEPLOY)'

.PHONY: deploy-policy
deploy-policy: bin/kustomize ## Add only the admission policy, to an installation by OLM.
	@$(call overlay,policy,--nameprefix podset-operator-) && ../../kustomize edit add component ../../../config/components/policy
	bin/kustomize build bin/overlay/policy | $(KUBECTL) apply -f -

.PHONY: undeploy-policy
undeploy-policy: ## Remove the admission policy.
	$(KUBECTL) delete --ignore-not-found validatingadmissionpolicybinding,validatingadmissionpolicy podset-operator-pod-creators podset-operator-manager-pods

.PHONY: build-installer
build-installer: bin/kustomize ## Write dist/install.yaml and dist/policy.yaml, to install without this repository.
	@mkdir -p dist
	@$(call overlay,deploy,--resources ../../../config/default)
	bin/kustomize build bin/overlay/deploy -o dist/install.yaml
	@$(call overlay,policy,--nameprefix podset-operator-) && ../../kustomize edit add component ../../../config/components/policy
	bin/kustomize build bin/overlay/policy -o dist/policy.yaml

##@ Package for OLM

generate: bundle bundle-openshift

export VERSION IMG BUSYBOX_IMG CHANNELS DEFAULT_CHANNEL CREATED_AT OPENSHIFT_VERSIONS OPENSHIFT_CATALOGS
validate = bin/operator-sdk bundle validate --select-optional suite=operatorframework

.PHONY: bundle
bundle: manifests bin/kustomize bin/operator-sdk ## Generate and validate the bundle of VERSION.
	bin/operator-sdk generate kustomize manifests --interactive=false --quiet
	hack/bundle.sh config/manifests .
	$(validate) ./bundle

.PHONY: crd-baseline
crd-baseline: manifests ## Freeze the CRDs as they are: a test compares later ones with them, by the rules of OLM v1.
	mkdir -p test/bundle/testdata/baseline
	cp config/crd/bases/*.yaml test/bundle/testdata/baseline/

# These have versions of other programs, or of each release. `make generate` writes those of the bundle.
unversioned = ':!*go.mod' ':!*go.sum' ':!CHANGELOG.md' ':!bundle' ':!catalog'

.PHONY: set-version
set-version: ## Set the version of this tree to VERSION, created today; see RELEASING.md.
	sed -i "s|^CREATED_AT ?= .*|CREATED_AT ?= $$(date -u +%Y-%m-%dT00:00:00Z)|" hack/make/packaging.mk
	old=$$(sed -n 's/^VERSION ?= //p' Makefile | sed 's/[.]/[.]/g') && git grep -lIE "$$old" -- . $(unversioned) | \
	  xargs sed -i -E "s/(^|[^0-9.])$$old([^0-9.]|$$)/\1$(VERSION)\2/g"

.PHONY: bundle-openshift
bundle-openshift: bin/kustomize bin/operator-sdk ## Generate the bundle for OpenShift, with monitoring and console objects, in dist/openshift.
	hack/bundle.sh config/openshift/bundle dist/openshift
	$(validate) ./dist/openshift/bundle

# Disconnected clusters find mirrored images by digest.
.PHONY: bundle-digests
bundle-digests: bin/kustomize bin/operator-sdk ## Generate the bundle for disconnected clusters in dist/digests; IMG and BUSYBOX_IMG are digests.
	@for image in '$(IMG)' '$(BUSYBOX_IMG)'; do \
	  case $$image in *@sha256:*) ;; *) echo "bundle-digests: '$$image' is not a digest (NAME@sha256:...)"; exit 1 ;; esac; \
	done
	hack/bundle.sh config/manifests dist/digests
	$(validate) ./dist/digests/bundle

# The directory that contains bundle/ and bundle.Dockerfile: this one, or dist/digests.
BUNDLE_DIR ?= .

.PHONY: bundle-build
bundle-build: ## Build the image of the bundle in BUNDLE_DIR.
	root=$$PWD && cd '$(BUNDLE_DIR)' && CONTAINER_TOOL='$(CONTAINER_TOOL)' "$$root/hack/image.sh" build $(BUNDLE_IMG) bundle.Dockerfile $(ARCH)

.PHONY: bundle-push
bundle-push: ## Push the image of the bundle.
	$(image) push $(BUNDLE_IMG)

.PHONY: catalog
catalog: bin/opm ## Add the bundle in BUNDLE_DIR as VERSION to each of CHANNELS in the catalog.
	bin/opm render '$(BUNDLE_DIR)/bundle' --output yaml --migrate-level bundle-object-to-csv-metadata --alpha-image-ref-template '$(BUNDLE_IMG)' > catalog/podset-operator/v$(VERSION).yaml
	$(foreach channel,$(subst $(comma), ,$(CHANNELS)),hack/catalog.sh add $(channel) $(VERSION) &&) true
	bin/opm validate catalog

.PHONY: catalog-build
catalog-build: ## Build the image of the catalog.
	$(image) build $(CATALOG_IMG) catalog.Dockerfile $(ARCH)

.PHONY: catalog-push
catalog-push: ## Push the image of the catalog.
	$(image) push $(CATALOG_IMG)

