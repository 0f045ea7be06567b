# The file-based catalog. OLM extracts it and serves it with its own opm: see docs/olm.md.
FROM scratch

LABEL operators.operatorframework.io.index.configs.v1=/configs

COPY catalog /configs
