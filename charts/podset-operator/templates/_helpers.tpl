{{/* The prefix of all names. Cluster-wide objects have it too, so several releases can be in one cluster. */}}
{{- define "podset-operator.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "podset-operator.labels" -}}
app.kubernetes.io/name: podset-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* A release is alone in its namespace, so the labels do not name it. */}}
{{- define "podset-operator.selector" -}}
app.kubernetes.io/name: podset-operator
control-plane: controller-manager
{{- end -}}

{{/* The objects of a file that `make chart` copied from config/, with the names, the namespace, and the labels of the release. */}}
{{- define "podset-operator.copy" -}}
{{- $root := .root -}}
{{- $name := include "podset-operator.fullname" $root -}}
{{- range splitList "\n---\n" (.text | trimPrefix "---\n") }}
{{- $object := fromYaml . }}
{{- $named := list $object.metadata }}
{{- if hasKey $object "roleRef" }}{{ $named = concat $named (list $object.roleRef) $object.subjects }}{{ end }}
{{- range $named }}
{{- $_ := set . "name" (printf "%s-%s" $name (trimPrefix "podset-operator-" .name)) }}
{{- if hasKey . "namespace" }}{{ $_ := set . "namespace" $root.Release.Namespace }}{{ end }}
{{- end }}
{{- with dig "spec" "policyName" "" $object }}{{ $_ := set $object.spec "policyName" $object.metadata.name }}{{ end }}
{{- $_ := set $object.metadata "labels" (merge (include "podset-operator.labels" $root | fromYaml) ($object.metadata.labels | default dict)) }}
---
{{ toYaml $object }}
{{- end }}
{{- end -}}
