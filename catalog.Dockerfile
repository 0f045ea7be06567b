# The file-based catalog, which OLM extracts and serves with an opm of its own: see docs/olm.md.
FROM scratch

LABEL operators.operatorframework.io.index.configs.v1=/configs

COPY catalog /configs
