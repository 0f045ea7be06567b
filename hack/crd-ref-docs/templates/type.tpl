{{- /* The comment of a field explains the values of an enum, so a type with values has no section. */}}
{{- define "type" }}{{ if and (markdownShouldRenderType .) (not .EnumValues) }}

### {{ .Name }}

{{ .Doc }}
{{- if .Members }}
{{ range .Members }}{{ if ne .Name "metadata" }}
- **`{{ .Name }}`** ({{ if .Type.EnumValues }}string{{ else }}{{ markdownRenderType .Type }}{{ end }}{{ template "default" . }}): {{ template "meaning" dict "doc" .Doc "name" .Name }}
{{- end }}{{ end }}
{{- end }}
{{- end }}{{ end -}}

{{- define "default" }}
{{- if has "Required: {}" .Validation }}, required
{{- else if and .Default (ne (toString .Default) "{  }") }}, default `{{ .Default }}`
{{- end }}
{{- end -}}

{{- /* An item holds all lines of a comment, which begins with the name and states the bounds of the field. */}}
{{- define "meaning" }}
{{- markdownRenderFieldDoc .doc | replace "<br />" " " | trim | trimPrefix (printf "%s is " .name) | trimPrefix (printf "%s are " .name) }}
{{- end -}}
