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

{{- /* A comment's lines are one cell. Its bounds are in its words. */}}
{{- define "meaning" }}
{{- if eq .Name "metadata" }}name, namespace, labels and so on, as of every object
{{- else }}{{ markdownRenderFieldDoc .Doc | replace "<br />" " " | trim }}
{{- end }}
{{- end -}}
