# What Ats, Jobs, and CronJobs claim under faults, and what their commands did: see docs/testing.md.

##@ Judge

# How many runs each of them gets.
RUNS ?= 40
# The name of a file in test/judge/defects, without .patch: a defect that the judge must detect.
DEFECT ?=

# How many seconds the clocks of the managers may be wrong.
SKEW ?=

.PHONY: judge
judge: bin/kustomize ## Inject faults into RUNS runs of At, Job, and CronJob on the cluster in KUBECONFIG; SEED=..., DEFECT=..., SKEW=....
	@CONTAINER_TOOL='$(CONTAINER_TOOL)' DEFECT='$(DEFECT)' SKEW='$(SKEW)' hack/judge.sh -runs $(RUNS) -seed $(SEED) $(if $(DEFECT),-stop) $(JUDGE_FLAGS)
