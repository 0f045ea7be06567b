{{- define "gvList" -}}
# API reference

Written by `make docs` from the types in `api/`; `kubectl explain podset.spec` and `kubectl explain at.spec` say the same.
{{- range . }}

## {{ .GroupVersionString }}
{{- $group := . }}
{{- range .SortedKinds }}{{ template "type" $group.TypeForKind . }}{{ end }}
{{- range .SortedTypes }}{{ if not .GVK }}{{ template "type" . }}{{ end }}{{ end }}
{{- end }}
{{ end -}}
