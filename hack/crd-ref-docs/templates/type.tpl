{{- define "type" }}{{ if markdownShouldRenderType . }}

### {{ .Name }}

{{ .Doc }}
{{- if .Members }}

| Field | Type | Default | Meaning |
|---|---|---|---|
{{- with .GVK }}
| `apiVersion` | string | | `{{ .Group }}/{{ .Version }}` |
| `kind` | string | | `{{ .Kind }}` |
{{- end }}
{{- range .Members }}
| `{{ .Name }}` | {{ markdownRenderType .Type }} | {{ template "default" . }} | {{ template "meaning" . }} |
{{- end }}
{{- end }}
{{- if .EnumValues }}

| Value | Meaning |
|---|---|
{{- range .EnumValues }}
{{- /* The comment begins with the name of the Go constant. */}}
| `{{ .Name }}` | {{ regexReplaceAll "^[A-Za-z]+:? " (markdownRenderFieldDoc .Doc) "" | replace "<br />" " " | trim }} |
{{- end }}
{{- end }}
{{- end }}{{ end -}}

{{- define "default" }}
{{- if has "Required: {}" .Validation }}required
{{- else if and .Default (ne (toString .Default) "{  }") }}`{{ .Default }}`
{{- end }}
{{- end -}}

{{- /* A table cell holds all lines of a comment. The comment states the bounds of the field. */}}
{{- define "meaning" }}
{{- if eq .Name "metadata" }}name, namespace, labels, and other standard metadata
{{- else }}{{ markdownRenderFieldDoc .Doc | replace "<br />" " " | trim }}
{{- end }}
{{- end -}}
