{{/*
The prefix of all names. Cluster-wide objects have it too, so several releases can be in one cluster. The name of a Service has at most 63
characters, begins with a letter, and has no dots, and the longest suffix has 35. A name that is cut or changed gets a hash, so that it stays
unique.
*/}}
{{- define "podset-operator.fullname" -}}
{{- $chart := .Values.nameOverride | default .Chart.Name -}}
{{- $wanted := ternary .Release.Name (printf "%s-%s" .Release.Name $chart) (contains $chart .Release.Name) -}}
{{- $wanted = .Values.fullnameOverride | default $wanted -}}
{{- $name := $wanted | replace "." "-" -}}
{{- if not (regexMatch "^[a-z]" $name) }}{{ $name = print "r-" $name }}{{ end -}}
{{- if and (eq $name $wanted) (le (len $name) 28) -}}
{{- $name -}}
{{- else -}}
{{- printf "%s-%s" ($name | trunc 19 | trimSuffix "-") ($wanted | sha256sum | trunc 8) -}}
{{- end -}}
{{- end -}}

{{- define "podset-operator.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{/* A version as the value of a label, which has at most 63 characters, and no plus sign. */}}
{{- define "podset-operator.labelValue" -}}
{{- . | replace "+" "_" | trunc 63 | trimAll "-_." -}}
{{- end -}}

{{- define "podset-operator.labels" -}}
{{- $labels := dict
  "app.kubernetes.io/name" "podset-operator"
  "app.kubernetes.io/instance" .Release.Name
  "app.kubernetes.io/version" (include "podset-operator.labelValue" .Chart.AppVersion)
  "app.kubernetes.io/managed-by" .Release.Service
  "helm.sh/chart" (include "podset-operator.labelValue" (printf "%s-%s" .Chart.Name .Chart.Version))
-}}
{{- toYaml (merge $labels .Values.commonLabels) -}}
{{- end -}}

{{/* A release is alone in its namespace, so the labels do not name it. */}}
{{- define "podset-operator.selector" -}}
app.kubernetes.io/name: podset-operator
control-plane: controller-manager
{{- end -}}

{{- define "podset-operator.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (printf "%s-controller-manager" (include "podset-operator.fullname" .)) -}}
{{- else -}}
{{- required "serviceAccount.create=false requires serviceAccount.name: the manager's permissions would go to every pod without a service account" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* An image from global.imageRegistry, or from .registry, or from the registry that its name begins with. */}}
{{- define "podset-operator.image" -}}
{{- $registry := .root.Values.global.imageRegistry | default .registry -}}
{{- if $registry -}}
{{- printf "%s/%s" (trimSuffix "/" $registry) (regexReplaceAll "^([^/]*[.:][^/]*|localhost)/" .image "") -}}
{{- else -}}
{{- .image -}}
{{- end -}}
{{- end -}}

{{/* The names of pull secrets, each given as a name or as an object with a name, with commas between them. */}}
{{- define "podset-operator.secretNames" -}}
{{- $names := list -}}
{{- range . }}{{ $names = append $names (ternary (dict "name" .) . (kindIs "string" .)).name }}{{ end -}}
{{- uniq $names | join "," -}}
{{- end -}}

{{- define "podset-operator.pullSecrets" -}}
{{- with concat .Values.imagePullSecrets .Values.global.imagePullSecrets }}
imagePullSecrets:
{{- range include "podset-operator.secretNames" . | splitList "," }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The objects of a file that `make chart` copied from config/, with the names, the namespace, and the labels of the release. */}}
{{- define "podset-operator.copy" -}}
{{- $root := .root -}}
{{- $name := include "podset-operator.fullname" $root -}}
{{- range splitList "\n---\n" (.text | trimPrefix "---\n") }}
{{- $object := fromYaml . }}
{{- $named := list $object.metadata }}
{{- if hasKey $object "roleRef" }}{{ $named = append $named $object.roleRef }}{{ end }}
{{- range $named }}
{{- $_ := set . "name" (printf "%s-%s" $name (trimPrefix "podset-operator-" .name)) }}
{{- if hasKey . "namespace" }}{{ $_ := set . "namespace" (include "podset-operator.namespace" $root) }}{{ end }}
{{- end }}
{{- range $object.subjects }}
{{- $_ := set . "name" (include "podset-operator.serviceAccount" $root) }}
{{- $_ := set . "namespace" (include "podset-operator.namespace" $root) }}
{{- end }}
{{- with dig "spec" "policyName" "" $object }}{{ $_ := set $object.spec "policyName" $object.metadata.name }}{{ end }}
{{- if eq $object.kind "FlowSchema" }}
{{- $subject := (first (first $object.spec.rules).subjects).serviceAccount }}
{{- $_ := set $subject "name" (include "podset-operator.serviceAccount" $root) }}
{{- $_ := set $subject "namespace" (include "podset-operator.namespace" $root) }}
{{- $_ := set (first (first $object.spec.rules).resourceRules) "namespaces" (list $subject.namespace) }}
{{- end }}
{{- range dig "spec" "matchConditions" list $object }}
{{- if eq .name "by-the-manager" }}
{{- $_ := set . "expression" (printf "request.userInfo.username == 'system:serviceaccount:%s:%s'" (include "podset-operator.namespace" $root) (include "podset-operator.serviceAccount" $root)) }}
{{- end }}
{{- end }}
{{- if eq $object.kind "Service" }}
{{- $service := $root.Values.metrics.service }}
{{- with $service.annotations }}{{ $_ := set $object.metadata "annotations" . }}{{ end }}
{{- $_ := set $object.metadata "labels" (merge $object.metadata.labels $service.labels) }}
{{- if ne $service.type "ClusterIP" }}{{ $_ := set $object.spec "type" $service.type }}{{ end }}
{{- range list "ipFamilyPolicy" "ipFamilies" }}
{{- $value := get $service . }}
{{- if $value }}{{ $_ := set $object.spec . $value }}{{ end }}
{{- end }}
{{- if not $root.Values.metrics.secure }}{{ $_ := set (first $object.spec.ports) "name" "http" }}{{ end }}
{{- end }}
{{- $labels := $object.metadata.labels | default dict }}
{{- if not $root.Values.rbac.aggregate }}
{{- range $label := keys $labels }}{{ if hasPrefix "rbac.authorization.k8s.io/aggregate-to-" $label }}{{ $_ := unset $labels $label }}{{ end }}{{ end }}
{{- end }}
{{- $_ := set $object.metadata "labels" (merge (include "podset-operator.labels" $root | fromYaml) $labels) }}
---
{{ toYaml $object }}
{{- end }}
{{- end -}}
