# `make` lists the targets. Nothing but Go, make and git is needed: every tool is compiled into bin/ from a Go module
# that hack/tools pins.

VERSION ?= 0.1.0
CHANNELS ?= stable,candidate
DEFAULT_CHANNEL ?= stable

IMAGE_BASE ?= quay.io/redhat/podset-operator
IMG ?= $(IMAGE_BASE):v$(VERSION)
BUNDLE_IMG ?= $(IMAGE_BASE)-bundle:v$(VERSION)
CATALOG_IMG ?= $(IMAGE_BASE)-catalog:v$(VERSION)

# What builds and pushes images: docker, podman or buildah.
CONTAINER_TOOL ?= $(notdir $(firstword $(shell command -v docker podman buildah)))
# What `install`, `uninstall` and `deploy` talk to a cluster with: kubectl or oc.
KUBECTL ?= kubectl

# What the manager says its version is.
LDFLAGS := -s -w -X main.version=v$(VERSION)
# The race detector needs a C compiler; without one the tests run without it.
RACE ?= $(if $(shell command -v gcc clang),-race)

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
# One recipe at a time: Go builds use every core by themselves, and their lines of progress would mix.
.NOTPARALLEL:

##@ General

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-zA-Z_-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: build $(addprefix bin/,etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok kwokctl) ## Show both kinds at work on a local cluster, until Ctrl-C; DEMO=check ends by itself.
	@hack/demo/demo.sh $(DEMO)

.PHONY: clean
clean: ## Remove what was built and measured.
	rm -rf bin dist cover.out

##@ Develop

.PHONY: generate
generate: bin/controller-gen ## Generate the deepcopy methods.
	bin/controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/...

.PHONY: manifests
manifests: bin/controller-gen ## Generate the CRDs and the manager's role.
	bin/controller-gen crd:generateEmbeddedObjectMeta=true paths=./api/... output:crd:dir=config/crd/bases
	go run ./hack/crdprune config/crd/bases/*.yaml
	bin/controller-gen rbac:roleName=manager-role paths="./controllers/...;." output:rbac:dir=config/rbac

.PHONY: docs
docs: bin/crd-ref-docs ## Generate docs/api.md, the reference of every field.
	bin/crd-ref-docs --source-path=api --config=hack/crd-ref-docs/config.yaml --templates-dir=hack/crd-ref-docs/templates \
	  --renderer=markdown --output-path=docs/api.md --log-level=ERROR

.PHONY: tidy
tidy: ## Tidy go.mod and go.sum.
	go mod tidy

.PHONY: fmt
fmt: bin/golangci-lint ## Format the Go code.
	bin/golangci-lint fmt

.PHONY: build
build: ## Build bin/manager.
	@hack/build.sh bin/manager . . -ldflags '$(LDFLAGS)'

.PHONY: run
run: ## Run the manager here, against the current kubeconfig; honours WATCH_NAMESPACE.
	go run -ldflags '$(LDFLAGS)' .

.PHONY: install
install: bin/kustomize ## Install the CRDs into the current cluster.
	bin/kustomize build config/crd | $(KUBECTL) apply -f -

.PHONY: uninstall
uninstall: bin/kustomize ## Remove the CRDs, and with them every PodSet and At, from the current cluster.
	bin/kustomize build config/crd | $(KUBECTL) delete --ignore-not-found -f -

##@ Check

# What `verify` regenerates. A file in hack/make adds to it.
VERIFY := generate manifests docs tidy

.PHONY: verify
verify: ## Regenerate everything and fail when the tree changes.
	@hack/verify.sh $(VERIFY)

.PHONY: lint
lint: bin/golangci-lint ## Lint the Go code and the shell scripts.
	bin/golangci-lint run
	@if command -v shellcheck >/dev/null; then git ls-files -z '*.sh' .ci/run | xargs -0 -r shellcheck; else echo 'no shellcheck here: scripts not linted'; fi

.PHONY: lint-fix
lint-fix: bin/golangci-lint ## Lint the Go code and mend what can be mended.
	bin/golangci-lint run --fix

.PHONY: vet
vet: ## Run go vet.
	go vet ./...

.PHONY: test
test: test-unit test-api ## Run every test that needs no cluster.

.PHONY: test-unit
test-unit: ## Test the pure packages: rules, simulations, fuzz seeds.
	go test $(RACE) ./api/... ./internal/...

# The API-server tests take etcd, kube-apiserver and kubectl from KUBEBUILDER_ASSETS, built here unless it is set.
ifndef KUBEBUILDER_ASSETS
test-api: $(addprefix bin/,etcd kube-apiserver kubectl)
export KUBEBUILDER_ASSETS := $(CURDIR)/bin
endif

.PHONY: test-api
test-api: ## Test the rest, against a real etcd and kube-apiserver; faults and benchmarks have their own targets.
	go test $(RACE) $$(go list ./... | grep -vE '/(api|internal|test/faults|test/bench)(/|$$)')

# The builders of the tests are tests themselves.
PURE = $$(go list ./internal/... | grep -v /testutil)

.PHONY: cover
cover: ## Show the coverage of internal/; fail when a statement has neither a test nor a reason.
	go test -coverpkg=$$(echo $(PURE) | tr ' ' ,) -coverprofile=cover.out $(PURE)
	go tool cover -func=cover.out
	go run ./hack/covercheck cover.out

.PHONY: vulncheck
vulncheck: bin/govulncheck ## Look for known vulnerabilities; needs the network.
	bin/govulncheck ./...

include hack/make/*.mk
