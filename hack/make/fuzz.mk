# Fuzzing.

##@ Fuzzing

FUZZTIME ?= 20s

# The package:function pairs of all fuzz targets.
fuzz_targets = $$(grep -rl --include='*_test.go' '^func Fuzz' . | sort | \
  while read -r file; do sed -n "s|^func \(Fuzz[A-Za-z0-9_]*\).*|$$(dirname $$file):\1|p" "$$file"; done)

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME.
	@for target in $(fuzz_targets); do \
	  echo "== $$target"; \
	  go test "$${target%%:*}" -run '^$$' -fuzz "^$${target##*:}\$$" -fuzztime $(FUZZTIME); \
	done
