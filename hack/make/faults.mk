# Tests with injected faults: see test/faults/doc.go.

##@ Faults and fuzzing

# The test to run. A failure prints it.
RUN ?= .
FUZZTIME ?= 20s

faults_binaries := etcd kube-apiserver kube-controller-manager
ifeq ($(KUBEBUILDER_ASSETS),$(CURDIR)/bin)
test-faults: $(addprefix bin/,$(faults_binaries))
endif

.PHONY: test-faults
test-faults: ## Test every fault with a real API server; RUN=... runs one.
	$(go_test) -timeout 30m ./test/faults -run '$(RUN)'

# The package:function pairs of all fuzz targets.
fuzz_targets = $$(grep -rl --include='*_test.go' '^func Fuzz' . | sort | \
  while read -r file; do sed -n "s|^func \(Fuzz[A-Za-z0-9_]*\).*|$$(dirname $$file):\1|p" "$$file"; done)

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME.
	@for target in $(fuzz_targets); do \
	  echo "== $$target"; \
	  go test "$${target%%:*}" -run '^$$' -fuzz "^$${target##*:}\$$" -fuzztime $(FUZZTIME); \
	done
