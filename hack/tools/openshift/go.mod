// The modules whose CRDs test/openshift reads. Nothing is compiled from them.
module github.com/redhat/podset-operator/hack/tools/openshift

go 1.25

require (
	github.com/cert-manager/cert-manager v1.20.2
	github.com/openshift/api v0.0.0-20251015135203-5d856d3e8354
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
