# The tools. Each is compiled from the module in hack/tools that pins it.

# $(call tool,NAME,MODULE,PACKAGE,LINKER FLAGS,TAGS,URL) defines bin/NAME, which is PACKAGE of hack/tools/MODULE. It is rebuilt when the
# module changes. If URL can be downloaded, nothing is compiled.
define tool
bin/$(1): $(wildcard hack/tools/$(2)/*)
	@$(if $(and $(DOWNLOAD),$(6)),hack/download.sh $$@ $(1) '$(6)' || )hack/build.sh $$@ hack/tools/$(2) $(3) -ldflags '-s -w $(4)' -tags '$(5)'
endef

$(eval $(call tool,benchstat,benchstat,golang.org/x/perf/cmd/benchstat))
$(eval $(call tool,actionlint,actionlint,github.com/rhysd/actionlint/cmd/actionlint))
$(eval $(call tool,controller-gen,controller-gen,sigs.k8s.io/controller-tools/cmd/controller-gen))
$(eval $(call tool,crd-ref-docs,crd-ref-docs,github.com/elastic/crd-ref-docs))
$(eval $(call tool,golangci-lint,golangci-lint,.))
$(eval $(call tool,govulncheck,govulncheck,golang.org/x/vuln/cmd/govulncheck))
$(eval $(call tool,kustomize,kustomize,sigs.k8s.io/kustomize/kustomize/v5))

# The cluster: etcd, Kubernetes, and kwok share one module, so that common packages are compiled once. A Kubernetes program gets its
# version only from the linker, and behaves as v0.0.0 without it.
kube_version := v1.37.1
kube_minor := 37
kube_flags = $(addprefix -X k8s.io/component-base/version.,gitVersion=$(1) gitMajor=1 gitMinor=$(word 2,$(subst ., ,$(1))))

# The released programs for Linux. If DOWNLOAD is empty, make compiles them. A mirror has the same paths as the original server.
DOWNLOAD ?= $(filter linux,$(shell go env GOOS))
KUBE_MIRROR ?= https://dl.k8s.io
ETCD_MIRROR ?= https://github.com/etcd-io/etcd/releases/download
kube_url = $(KUBE_MIRROR)/$(1)/bin/linux/$(shell go env GOARCH)
etcd_version = $(shell sed -n 's|.*go.etcd.io/etcd/server/v3 ||p' hack/tools/cluster/go.mod | cut -d ' ' -f 1)
etcd_name = etcd-$(etcd_version)-linux-$(shell go env GOARCH)

# $$ delays the expansion until a program is missing.
$(eval $(call tool,etcd,cluster,go.etcd.io/etcd/server/v3,,,$$(ETCD_MIRROR)/$$(etcd_version)/$$(etcd_name).tar.gz|$$(etcd_name)/etcd))
$(foreach program,kube-apiserver kube-controller-manager kube-scheduler kubectl,\
  $(eval $(call tool,$(program),cluster,k8s.io/kubernetes/cmd/$(program),$(call kube_flags,$(kube_version)),,$$(call kube_url,$(kube_version))/$(program))))
$(foreach program,kwok kwokctl,\
  $(eval $(call tool,$(program),cluster,sigs.k8s.io/kwok/cmd/$(program))))

# The oldest version of Kubernetes that the operator supports, in bin/oldest. It works with the etcd of the newest version.
oldest_version := $(shell sed -n 's|.*k8s.io/kubernetes ||p' hack/tools/oldest/go.mod | cut -d ' ' -f 1)
$(foreach program,kube-apiserver kube-controller-manager kubectl,\
  $(eval $(call tool,oldest/$(program),oldest,k8s.io/kubernetes/cmd/$(program),$(call kube_flags,$(oldest_version)),,$$(call kube_url,$(oldest_version))/$(program))))
bin/oldest/etcd: bin/etcd
	@mkdir -p $(@D) && ln -f $< $@

# The tools of OLM. Without the first two tags, their image libraries need C headers.
olm := github.com/operator-framework
olm_tags := containers_image_openpgp,exclude_graphdriver_btrfs
opm_tags := $(olm_tags),json1
# operator-sdk contains helm, which pushes the chart, so it compiles hardly anything more.
$(eval $(call tool,helm,sdk,helm.sh/helm/v3/cmd/helm,,$(olm_tags)))
$(eval $(call tool,operator-sdk,sdk,$(olm)/operator-sdk/cmd/operator-sdk,-X $(olm)/operator-sdk/internal/version.Version=v1.42.2,$(olm_tags)))
$(eval $(call tool,scorecard-test,sdk,$(olm)/operator-sdk/images/scorecard-test,,$(olm_tags)))
$(eval $(call tool,opm,opm,$(olm)/operator-registry/cmd/opm,,$(opm_tags)))

# They write the SBOMs of releases, and sign releases.
$(eval $(call tool,cyclonedx-gomod,cyclonedx-gomod,github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod))
bin/cyclonedx-gomod: export GOFLAGS += -trimpath # An SBOM contains the digest of the tool.
$(eval $(call tool,cosign,cosign,github.com/sigstore/cosign/v3/cmd/cosign))
