# Benchmarks: see docs/performance.md.

##@ Benchmark

# Which benchmarks run: a regular expression, such as 'Sets|Timers'.
BENCH ?= .
# How often all of them run, each time with a new API server.
REPS ?= 1

# BenchmarkLargeFailover takes long, so it runs only by its name.
.PHONY: bench
bench: build $(addprefix bin/,etcd kube-apiserver kube-controller-manager benchstat) ## Compare the operator with the controllers of Kubernetes; SHORT=1, BENCH=..., REPS=....
	@mkdir -p dist
	go test -C test/bench -c -o ../../bin/bench.test
	cd test/bench; for rep in {1..$(REPS)}; do \
	  KUBEBUILDER_ASSETS='$(CURDIR)/bin' ../../bin/bench.test -test.run '^$$' -test.bench '$(BENCH)' -test.benchtime 1x -test.timeout 0 \
	    $(if $(SHORT),-test.short) $(if $(findstring Large,$(BENCH)),,-test.skip Large); \
	done | tee ../../dist/bench.txt
	bin/benchstat -col '/arm@(operator replicaset-controller cronjob-controller bare-client)' dist/bench.txt

# To compare two versions: make bench-pure > old.txt, change the code, make bench-pure > new.txt, and bin/benchstat old.txt new.txt.
.PHONY: bench-pure
bench-pure: bin/benchstat ## Measure the rules of the CRDs, without a cluster.
	@go test ./test/sim -run '^$$' -bench . -count 10
