# The Helm chart in charts/podset-operator, and the JSON schemas of both kinds.

##@ Helm chart

VERIFY += chart

chart := charts/podset-operator
files := $(chart)/files

# helm cannot read outside of the chart, so the chart has copies. templates/objects.yaml says when it uses which directory.
generate: chart

.PHONY: chart
chart: manifests ## Copy the CRDs, roles, and policies of config/ into the chart.
	rm -rf $(chart)/crds $(files) && mkdir -p $(chart)/crds $(files)/{manager,all-namespaces,metrics,policy,network-policy,ha}
	cp config/crd/bases/*.yaml $(chart)/crds/
	cp config/rbac/service_account.yaml config/rbac/{role,{at,podset}_{editor,viewer}_role}.yaml $(files)/manager/
	for file in role role_binding; do cp config/rbac/leader-election/$$file.yaml $(files)/manager/leader_election_$$file.yaml; done
	cp config/rbac/role_binding.yaml $(files)/all-namespaces/
	cp config/rbac/metrics_*.yaml config/default/metrics_service.yaml $(files)/metrics/
	cp config/components/policy/pod_creators.yaml $(files)/policy/
	cp config/components/network-policy/manager.yaml $(files)/network-policy/
	cp config/components/ha/disruption_budget.yaml $(files)/ha/

# The version of the chart is in Chart.yaml: see set-version.
.PHONY: chart-package
chart-package: ## Package the chart as dist/podset-operator-VERSION.tgz.
	@mkdir -p dist
	tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime=@0 -C charts -c podset-operator | gzip -n >dist/podset-operator-$(VERSION).tgz

.PHONY: schemas
schemas: ## Write JSON schemas of both kinds, for editors and kubeconform, to dist/schemas.
	go run ./hack/jsonschema dist/schemas config/crd/bases/*.yaml
