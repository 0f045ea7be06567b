{{- /* The comment of a field explains the values of an enum, so a type with values has no section. */}}
{{- define "type" }}{{ if and (markdownShouldRenderType .) (not .EnumValues) }}

### {{ .Name }}

{{ .Doc }}
{{- if .Members }}

| Field | Type | Default | Meaning |
|---|---|---|---|
{{- range .Members }}{{ if ne .Name "metadata" }}
| `{{ .Name }}` | {{ if .Type.EnumValues }}string{{ else }}{{ markdownRenderType .Type }}{{ end }} | {{ template "default" . }} | {{ template "meaning" . }} |
{{- end }}{{ end }}
{{- end }}
{{- end }}{{ end -}}

{{- define "default" }}
{{- if has "Required: {}" .Validation }}required
{{- else if and .Default (ne (toString .Default) "{  }") }}`{{ .Default }}`
{{- end }}
{{- end -}}

{{- /* A table cell holds all lines of a comment. The comment states the bounds of the field. */}}
{{- define "meaning" }}
{{- markdownRenderFieldDoc .Doc | replace "<br />" " " | trim }}
{{- end -}}
