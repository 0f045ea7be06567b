# `make` lists the targets. They need only Go, make, and git. Every tool is compiled into bin/ from a Go module that hack/tools
# pins.

VERSION ?= 0.1.0
comma := ,
# A prerelease, such as 0.2.0-rc.1, belongs to the channel candidate only.
CHANNELS ?= $(if $(findstring -,$(VERSION)),,stable$(comma))candidate
DEFAULT_CHANNEL ?= stable

IMAGE_BASE ?= quay.io/redhat/podset-operator
IMG ?= $(IMAGE_BASE):v$(VERSION)
BUNDLE_IMG ?= $(IMAGE_BASE)-bundle:v$(VERSION)
CATALOG_IMG ?= $(IMAGE_BASE)-catalog:v$(VERSION)

# The tool that builds and pushes images: docker, podman, or buildah.
CONTAINER_TOOL ?= $(notdir $(firstword $(shell command -v docker podman buildah)))
# The client that `install`, `uninstall`, and `deploy` use: kubectl or oc.
KUBECTL ?= kubectl

# The version that the manager reports.
LDFLAGS := -s -w -X main.version=v$(VERSION)
# RACE=-race runs the tests with the race detector, as CI does. It needs a C compiler, and it compiles everything again.
RACE ?=

# The modules in hack/tools use the toolchain of go.mod too. Another one would compile shared packages again.
ifneq ($(shell go env GOTOOLCHAIN),local)
export GOTOOLCHAIN := $(shell sed -n 's/^toolchain //p' go.mod)+auto
endif
# A package that is compiled with other flags is compiled twice. Therefore only the files of a release get -trimpath, and only the race
# detector gets cgo.
export CGO_ENABLED := 0
go_test = $(if $(RACE),CGO_ENABLED=1 go test $(RACE),go test)

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
# One recipe runs at a time, because a Go build already uses every core, and the progress lines of several builds would mix.
.NOTPARALLEL:

##@ General

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-zA-Z0-9_-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo_programs := build plugin $(addprefix bin/,etcd kube-apiserver kube-controller-manager kube-scheduler kwok kwokctl)
demo_kubectl = @[ -x bin/kubectl ] || hack/demo/installed-kubectl.sh $(kube_minor) || $(MAKE) --no-print-directory bin/kubectl

.PHONY: demo
demo: $(demo_programs) ## Show both kinds on a local cluster, until Ctrl-C; DEMO=check ends by itself.
	$(demo_kubectl)
	@hack/demo/demo.sh $(DEMO)

.PHONY: clean
clean: ## Remove build results and measurements.
	rm -rf bin dist cover.out

##@ Develop

# A file in hack/make adds generators. `make catalog` is the only one that is not here: its tool, opm, takes minutes to compile.
.PHONY: generate
generate: deepcopy manifests docs argocd ## Run every generator: needed after a change to api/, an RBAC marker, or config.

.PHONY: deepcopy
deepcopy: bin/controller-gen ## Generate the deepcopy methods.
	bin/controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/...

.PHONY: manifests
manifests: bin/controller-gen ## Generate the CRDs and the manager's role.
	bin/controller-gen crd:generateEmbeddedObjectMeta=true paths=./api/... output:crd:dir=config/crd/bases
	go run ./hack/crdprune config/crd/bases/*.yaml
	bin/controller-gen rbac:roleName=manager-role paths=./controllers/... output:rbac:dir=config/rbac

.PHONY: docs
docs: bin/crd-ref-docs ## Generate docs/api.md, the reference of every field.
	bin/crd-ref-docs --source-path=api --config=hack/crd-ref-docs/config.yaml --templates-dir=hack/crd-ref-docs/templates \
	  --renderer=markdown --output-path=docs/api.md --log-level=ERROR

.PHONY: argocd
argocd: ## Generate the patch of the ConfigMap of Argo CD from the scripts in config/components/argocd.
	hack/argocd.sh config/components/argocd/resource_customizations >config/components/argocd/argocd-cm.yaml

.PHONY: tidy
tidy: ## Tidy go.mod and go.sum.
	go mod tidy

.PHONY: fmt
fmt: bin/golangci-lint ## Format the Go code.
	bin/golangci-lint fmt

.PHONY: build
build: ## Build bin/manager.
	@hack/build.sh bin/manager . . -ldflags '$(LDFLAGS)'

# Ctrl-C also interrupts make. make prints errors about its children if they end before it has handled the signal.
.PHONY: run
run: build ## Run the manager on this machine with the current kubeconfig; reads WATCH_NAMESPACE; ARGS=... are its flags.
	@trap 'sleep 1' INT; bin/manager --zap-encoder=console --zap-time-encoding=rfc3339 $(ARGS) || [ $$? -eq 130 ]

.PHONY: install
install: bin/kustomize ## Install the CRDs into the current cluster.
	bin/kustomize build config/crd | $(KUBECTL) apply -f -

.PHONY: uninstall
uninstall: bin/kustomize ## Remove the CRDs from the current cluster; fails if PodSets or Ats exist, unless DELETE_OBJECTS=yes.
	KUBECTL='$(KUBECTL)' DELETE_OBJECTS='$(DELETE_OBJECTS)' hack/undeploy.sh config/crd

##@ Check

.PHONY: verify
verify: ## Run every generator and tidy, and fail if a file changes.
	@hack/verify.sh generate catalog tidy

.PHONY: lint
lint: bin/golangci-lint bin/actionlint ## Lint the Go code, the workflows, and the shell scripts.
	bin/golangci-lint run
	bin/actionlint
	@if git ls-files --eol | grep '^i/-text'; then echo 'lint: these files are not text: build results are not part of the repository' >&2; exit 1; fi
	@if command -v shellcheck >/dev/null; then git ls-files -z '*.sh' .ci/run | xargs -0 -r shellcheck; else echo 'shellcheck is not installed: scripts are not linted'; fi

.PHONY: lint-fix
lint-fix: bin/golangci-lint ## Lint the Go code and fix what the linters can fix.
	bin/golangci-lint run --fix

.PHONY: vet
vet: ## Run go vet.
	go vet ./...

.PHONY: test
test: test-unit test-sim test-api ## Run every test that needs no cluster.

.PHONY: test-unit
test-unit: ## Test what needs no API server: rules, the explorer, fuzz seeds, internal/kube.
	$(go_test) ./api/... ./internal/...

# The API-server tests use etcd, kube-apiserver, kube-controller-manager, and kubectl from KUBEBUILDER_ASSETS. If it is not set, make builds them.
ifndef KUBEBUILDER_ASSETS
test-api: $(addprefix bin/,etcd kube-apiserver kube-controller-manager kubectl)
export KUBEBUILDER_ASSETS := $(CURDIR)/bin
endif

# The packages of these tests, or with RUN only those that have such a test.
api_packages = $(if $(filter-out .,$(RUN)),grep -rlE '^func ($(firstword $(subst /, ,$(RUN))))' --include='*_test.go' . | xargs dirname | sort -u,go list ./...)

# -count 1: a cached result would hide a change of a CRD or a script, because Go does not see what TestMain and child processes read.
.PHONY: test-api
test-api: ## Run the other tests with a real etcd and kube-apiserver, or only RUN=TestAt_failure.
	packages=$$($(api_packages) | grep -vE '(^\.|podset-operator)/(api|internal|test/sim)(/|$$)'); $(go_test) -count 1 -run '$(RUN)' $$packages

.PHONY: test-docs
test-docs: $(demo_programs) ## Run the commands of the documentation on the cluster of the demo.
	$(demo_kubectl)
	@DOCS_CLUSTER=yes hack/demo/demo.sh run go test ./test/repository -count 1 -v -run '^TestCommands_run$$'

# The pure packages. testutil only builds objects for tests, so its coverage does not count.
PURE = $$(go list ./internal/... | grep -vE '/internal/(kube|testutil)(/|$$)')

.PHONY: cover
cover: ## Show the coverage of the pure packages.
	go test -coverpkg=$$(echo $(PURE) | tr ' ' ,) -coverprofile=cover.out $(PURE)
	go tool cover -func=cover.out

.PHONY: vulncheck
vulncheck: bin/govulncheck ## Check for known vulnerabilities; needs the network.
	bin/govulncheck ./...

include hack/make/*.mk
