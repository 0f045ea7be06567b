# Tests on the oldest version of Kubernetes that the operator supports: see docs/testing.md.

##@ The oldest Kubernetes

.PHONY: test-oldest
test-oldest: export KUBEBUILDER_ASSETS := $(CURDIR)/bin/oldest
test-oldest: $(addprefix bin/oldest/,etcd kube-apiserver kube-controller-manager kubectl) ## Test with the API server of the oldest supported Kubernetes.
	$(go_test) -count 1 ./cmd/... ./controllers/... ./test/process
