{{- define "gvList" -}}
# API reference

`make generate` writes this page from the types in `api/`. `kubectl explain podset.spec` and `kubectl explain at.spec` show the same text.
{{- range . }}

## {{ .GroupVersionString }}
{{- $group := . }}
{{- range .SortedKinds }}{{ template "type" $group.TypeForKind . }}{{ end }}
{{- range .SortedTypes }}{{ if not .GVK }}{{ template "type" . }}{{ end }}{{ end }}
{{- end }}
{{ end -}}
