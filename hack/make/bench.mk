# Benchmarks: see docs/benchmarks.md.

# SHORT=1 measures less, in fifteen minutes. METRICS=M4,M7 and ARMS=P,R-tuned measure a part, REPS=n repeats each run n times. With METRICS,
# the other figures stay: those of the last benchmark, or those in docs/benchmarks.
# SIZES='-grids 100x10,1000x10 -bursts 300,1000' sets the sizes: bin/bench -help lists all of them. BEFORE=COMMIT also measures the
# operator of an earlier commit.
METRICS ?=
ARMS ?=
REPS ?= 0
SIZES ?=
BEFORE ?=
RAW ?= $(CURDIR)/dist/bench.json

.PHONY: bench
bench: build $(addprefix bin/,etcd kube-apiserver kube-controller-manager kwok) $(BEFORE:%=bin/before/%) ## Measure the operator and the controllers of Kubernetes; SHORT=1, METRICS=..., REPS=..., SIZES=..., BEFORE=....
	@mkdir -p $(dir $(RAW))
	$(if $(METRICS),@[ -e $(RAW) ] || cp docs/benchmarks/raw.json $(RAW))
	cd test/bench && go build -o ../../bin/bench .
	bin/bench -root . -raw $(RAW) $(if $(SHORT),-short) -metrics '$(METRICS)' -arms '$(ARMS)' -reps $(REPS) $(BEFORE:%=-before bin/before/%) $(SIZES)

# The manager of an earlier commit.
bin/before/%:
	@rm -rf dist/before && mkdir -p dist/before && git archive $* | tar -x -C dist/before
	@hack/build.sh $@ dist/before . -ldflags '$(LDFLAGS)'
	@rm -r dist/before

# The benchmark is a module of its own and compiles packages of Kubernetes that nothing else here needs. So make test leaves it out.
.PHONY: test-bench
test-bench: ## Test the code of the benchmark.
	go -C test/bench test .

# go tool pprof -top dist/profiles/M1-100-x-10-cpu-*.pprof, or -sample_index=alloc_space of a heap profile.
.PHONY: bench-profile
bench-profile: build $(addprefix bin/,etcd kube-apiserver kwok) ## Profile the operator under load, into dist/profiles; SHORT=1, METRICS=..., SIZES=....
	cd test/bench && go build -o ../../bin/bench .
	bin/bench -root . -profile dist/profiles $(if $(SHORT),-short) -metrics '$(METRICS)' $(SIZES)

# It measures nothing. Without the figures of a benchmark, it uses those in docs/benchmarks.
.PHONY: bench-report
bench-report: ## Write the figures of the last benchmark to docs/benchmarks.md and docs/capacity.md.
	cd test/bench && go run . -raw $(if $(wildcard $(RAW)),$(RAW),$(CURDIR)/docs/benchmarks/raw.json) -report ../../docs/benchmarks.md

# To compare two versions: make bench-pure > old.txt, change the code, make bench-pure > new.txt, and
# go -C test/bench tool benchstat $PWD/old.txt $PWD/new.txt
.PHONY: bench-pure
bench-pure: ## Measure the planners, and the rules of the CRDs, without a cluster.
	@go test ./internal/podset ./internal/at ./test/sim -run '^$$' -bench . -count 10
