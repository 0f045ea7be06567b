# `make docker-build` builds the binary for TARGETARCH before it builds the image.
FROM scratch

ARG TARGETARCH
ARG VERSION
ARG RELEASE=1

LABEL name="podset-operator" \
      vendor="The podset-operator Authors" \
      maintainer="The podset-operator Authors" \
      version="v${VERSION}" \
      release="${RELEASE}" \
      summary="Runs the controllers of PodSets and Ats" \
      description="A Kubernetes operator with two kinds: a PodSet keeps 1 to 10 pods running, and an At runs one command once, at one time." \
      io.k8s.display-name="PodSet Operator" \
      io.k8s.description="A Kubernetes operator with two kinds: a PodSet keeps 1 to 10 pods running, and an At runs one command once, at one time." \
      org.opencontainers.image.title="podset-operator" \
      org.opencontainers.image.version="v${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/redhat/podset-operator"

COPY LICENSE /licenses/LICENSE
COPY bin/image/manager-${TARGETARCH} /manager

USER 65532:65532
ENTRYPOINT ["/manager"]
