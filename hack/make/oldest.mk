# Tests on the oldest version of Kubernetes that the operator supports: see docs/testing.md.

##@ The oldest Kubernetes

# The faults that depend on what an API server supports: lists, watches, admission.
oldest_faults := TestBrokenWebhook|TestCRDs|TestModes

.PHONY: test-oldest
test-oldest: export KUBEBUILDER_ASSETS := $(CURDIR)/bin/oldest
test-oldest: $(addprefix bin/oldest/,etcd kube-apiserver kube-controller-manager kubectl) ## Test with the API server of the oldest supported Kubernetes.
	$(go_test) -count 1 ./cmd/... ./controllers/... ./test/process ./test/openshift
	$(go_test) -count 1 -timeout 30m ./test/faults -run '^($(oldest_faults))$$'
