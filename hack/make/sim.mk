# Deterministic simulation of the controllers: see docs/testing.md.

##@ Simulation

# The seed of a scenario, and how long `make sim` runs scenarios with fresh seeds.
SEED ?= 0
DURATION ?= 10m
# How many scenarios `make test-sim` also runs, with the seeds from FROM on.
SCENARIOS ?= 0
FROM ?= 1000001
# In how many scenarios `make test-sim` must detect each seeded defect. With 10000, it also requires what only few scenarios detect.
DETECT ?= 200

sim = '$(CURDIR)/bin/sim.test'
build_sim = go test -C test/sim -c -o $(sim)
# A simulation uses one processor. A second process runs at the same time.
second = $(sim) -test.run '^TestScenarios$$'

.PHONY: sim
sim: ## Simulate random scenarios for DURATION, or print the timeline of the scenario SEED=....
	$(build_sim)
	cd test/sim; $(second) -seed $(SEED) -duration $(DURATION) -fixed 0 & \
	$(sim) -test.v -test.run '^(TestScenarios|TestSeed)$$' -seed $(SEED) -duration $(DURATION) -fixed 0 || status=1; \
	wait $$! && exit $${status-0}

# Without the race detector, which is ten times slower. The API-server tests use it.
.PHONY: test-sim
test-sim: ## Simulate scenarios with fixed seeds, and SCENARIOS more; the seeded defects must be detected.
	$(build_sim)
	cd test/sim; $(second) -fixed $(SCENARIOS) -from $(FROM) & \
	$(sim) -detect $(DETECT) || status=1; \
	wait $$! && exit $${status-0}

# The number of random sequences of requests.
SEQUENCES ?= 1000

ifeq ($(KUBEBUILDER_ASSETS),$(CURDIR)/bin)
test-differential: $(addprefix bin/,etcd kube-apiserver)
endif

.PHONY: test-differential
test-differential: ## Compare the simulated store with a real etcd and kube-apiserver in SEQUENCES sequences; make test runs 30 of them.
	go test -C test/differential -count 1 -timeout 0 -sequences $(SEQUENCES)
