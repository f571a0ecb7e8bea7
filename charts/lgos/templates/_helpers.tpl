{{/* Names are cut so that a suffix of up to 14 characters still fits a label. */}}
{{- define "lgos.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "lgos.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" -}}
{{- else if contains (include "lgos.name" .) .Release.Name -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "lgos.name" .) | trunc 48 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Call the ones below with (dict "root" $ "component" "operator"). */}}
{{- define "lgos.component" -}}
{{- printf "%s-%s" (include "lgos.fullname" .root) .component -}}
{{- end -}}

{{/* Selectors never change: a Deployment's selector is immutable. */}}
{{- define "lgos.selector" -}}
app.kubernetes.io/name: {{ include "lgos.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "lgos.labels" -}}
{{ include "lgos.selector" . }}
app.kubernetes.io/part-of: lgos
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* metadata of an object: (dict "root" $ "component" … "namespace" … "annotations" …); the last two may be left out. */}}
{{- define "lgos.metadata" -}}
name: {{ include "lgos.component" . }}
{{- with .namespace }}
namespace: {{ . }}
{{- end }}
labels:
  {{- include "lgos.labels" . | nindent 2 }}
{{- with merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "lgos.serviceAccount" -}}
{{- $own := index .root.Values .component "serviceAccount" "name" -}}
{{- default (include "lgos.component" .) $own -}}
{{- end -}}

{{- define "lgos.image" -}}
{{- $image := index .root.Values .component "image" -}}
{{- $repository := $image.repository -}}
{{- with $image.registry }}{{ $repository = printf "%s/%s" . $repository }}{{ end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .root.Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* PodSecurity "restricted", with a read-only root. */}}
{{- define "lgos.podSecurityContext" -}}
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "lgos.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* Where a pod may be scheduled, and how it pulls its image. */}}
{{- define "lgos.podPlacement" -}}
{{- $values := index .root.Values .component -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Environment that both programs read. */}}
{{- define "lgos.commonEnv" -}}
- name: HOME
  value: /tmp
- name: LGOS_LOG_LEVEL
  value: {{ .root.Values.logLevel | quote }}
- name: LGOS_WATCH_NAMESPACES
  value: {{ join "," .root.Values.watchNamespaces | quote }}
{{- end -}}

{{/* The Roles of a component in every watched namespace, or one ClusterRole: (dict "root" … "component" … "rules" …). */}}
{{- define "lgos.roles" -}}
{{- $subject := dict "kind" "ServiceAccount" "name" (include "lgos.serviceAccount" .) "namespace" .root.Release.Namespace -}}
{{- if .root.Values.watchNamespaces }}
{{- $context := . }}
{{- range .root.Values.watchNamespaces }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  {{- include "lgos.metadata" (merge (dict "namespace" .) $context) | nindent 2 }}
rules:
  {{- $context.rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  {{- include "lgos.metadata" (merge (dict "namespace" .) $context) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "lgos.component" $context }}
subjects:
  - {{ toJson $subject }}
{{- end }}
{{- else }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  {{- include "lgos.metadata" . | nindent 2 }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  {{- include "lgos.metadata" . | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ include "lgos.component" . }}
subjects:
  - {{ toJson $subject }}
{{- end }}
{{- end -}}
