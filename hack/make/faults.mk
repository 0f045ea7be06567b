# The operator in a world that fails: see docs/testing.md.

# One test of the suite, and the seed of its random choices: what a failure prints.
RUN ?= .
SEED ?= 0
LIFE ?= 0
DURATION ?= 10m
FUZZTIME ?= 20s

faults_binaries := etcd kube-apiserver kube-controller-manager
ifeq ($(KUBEBUILDER_ASSETS),$(CURDIR)/bin)
test-faults soak: $(addprefix bin/,$(faults_binaries))
endif

.PHONY: test-faults
test-faults: ## Test every fault, and two minutes of random lives, against a real API server; RUN=... SEED=... replay one.
	go test -C test/faults $(RACE) -timeout 20m -run '$(RUN)' -seed $(SEED)

.PHONY: soak
soak: ## Test random lives with random faults; DURATION=...; LIFE=... replays one.
	go test $(RACE) -timeout 0 ./test/faults -run '^TestSoak$$' -soak $(DURATION) -life $(LIFE) -seed $(SEED) -v

# package:function of every fuzz target.
fuzz_targets = $$(grep -rl --include='*_test.go' '^func Fuzz' . | sort | \
  while read -r file; do sed -n "s|^func \(Fuzz[A-Za-z0-9_]*\).*|$$(dirname $$file):\1|p" "$$file"; done)

.PHONY: fuzz
fuzz: ## Fuzz every fuzz target for FUZZTIME each.
	@for target in $(fuzz_targets); do \
	  echo "== $$target"; \
	  go test "$${target%%:*}" -run '^$$' -fuzz "^$${target##*:}\$$" -fuzztime $(FUZZTIME); \
	done
