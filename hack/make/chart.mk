# The Helm chart in charts/podset-operator.

##@ Helm chart

chart := charts/podset-operator
files := $(chart)/files

# helm cannot read outside of the chart, so the chart has copies. templates/objects.yaml says when it uses which directory.
generate: chart

.PHONY: chart
chart: manifests ## Copy the CRDs, roles, policies, alerts, and dashboard of config/ into the chart.
	cp LICENSE $(chart)/
	rm -rf $(files) && mkdir -p $(files)/{crds,lease,users,metrics,metrics-auth,policy,flow-schema,ha}
	cp config/crd/bases/*.yaml $(files)/crds/
	cp config/rbac/role.yaml config/monitoring/prometheus/rules.yaml $(files)/
	cp config/monitoring/dashboard/podset-operator.json $(files)/dashboard.json
	cp config/rbac/leader-election/role*.yaml $(files)/lease/
	cp config/rbac/{at,podset}_{editor,viewer}_role.yaml $(files)/users/
	cp config/default/metrics_service.yaml $(files)/metrics/
	cp config/rbac/metrics_*.yaml $(files)/metrics-auth/
	cp config/components/policy/{manager_pods,pod_creators}.yaml $(files)/policy/
	cp config/components/flow-schema/lease.yaml $(files)/flow-schema/
	cp config/components/ha/disruption_budget.yaml $(files)/ha/

# The version of the chart is in Chart.yaml: see set-version.
.PHONY: chart-package
chart-package: ## Package the chart as dist/podset-operator-VERSION.tgz.
	@mkdir -p dist
	tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime=@0 -C charts -c podset-operator | gzip -n >dist/podset-operator-$(VERSION).tgz

# The chart has a repository of its own, CHART_REGISTRY/podset-operator, whose tags are versions.
CHART_REGISTRY ?= $(dir $(IMAGE_BASE))charts

.PHONY: chart-push
chart-push: bin/helm ## Push the packaged chart to CHART_REGISTRY; helm reads the file that release-login writes.
	bin/helm push dist/podset-operator-$(VERSION).tgz oci://$(CHART_REGISTRY)
