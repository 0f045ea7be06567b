# Deterministic simulation of the controllers: see docs/testing.md.

# How long `make test-sim` runs scenarios with fresh seeds.
SIMTIME ?= 30s

.PHONY: sim
sim: ## Simulate random scenarios for DURATION, or print the timeline of the scenario SEED=....
	go test ./test/sim -count 1 -timeout 0 -run '^(TestScenarios|TestSeed)$$' -seed $(SEED) -duration $(DURATION) -fixed 0 -v

# Without the race detector, which is ten times slower. The API-server tests use it.
.PHONY: test-sim
test-sim: ## Simulate fixed scenarios, and fresh ones for SIMTIME; the seeded defects must be detected.
	go test -C test/sim -count 1 -duration $(SIMTIME)
