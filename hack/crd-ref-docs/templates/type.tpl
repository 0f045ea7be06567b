{{- /* The comment of a field explains the values of an enum, so a type with values has no section. That of a field explains its type. */}}
{{- define "type" }}{{ if and (markdownShouldRenderType .) (not .EnumValues) }}

### {{ .Name }}
{{- if .GVK }}

{{ .Doc }}
{{- end }}
{{- if .Members }}
{{ range .Members }}{{ if ne .Name "metadata" }}
- **`{{ .Name }}`** ({{ if .Type.EnumValues }}string{{ else }}{{ markdownRenderType .Type }}{{ end }}{{ if has "Required: {}" .Validation }}, required{{ end }}): {{ template "meaning" dict "doc" .Doc "name" .Name }}
{{- end }}{{ end }}
{{- end }}
{{- end }}{{ end -}}

{{- /* An item holds all lines of a comment, which begins with the name and states the bounds and the default of the field. */}}
{{- define "meaning" }}
{{- markdownRenderFieldDoc .doc | replace "<br />" " " | trim | trimPrefix (printf "%s is " .name) | trimPrefix (printf "%s are " .name) }}
{{- end -}}
