{{- define "leadgate.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}

{{- define "leadgate.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "leadgate.labels" -}}
app.kubernetes.io/name: leadgate
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/* What a selector may name: it can never be changed. */}}
{{- define "leadgate.selector" -}}
app.kubernetes.io/name: leadgate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "leadgate.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "leadgate.containerSecurity" -}}
image: {{ include "leadgate.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: { drop: [ALL] }
{{- end -}}

{{/* A variable from a secret: a list of its name and of {name, key}. */}}
{{- define "leadgate.secretVariable" -}}
- name: {{ index . 0 }}
  valueFrom:
    secretKeyRef:
      name: {{ (index . 1).name }}
      key: {{ (index . 1).key }}
{{- end -}}

{{/* What secrets are encrypted under, and while it is changed, the key before. */}}
{{- define "leadgate.secretsKeys" -}}
{{ include "leadgate.secretVariable" (list "SECRETS_KEY" .Values.secrets.secretsKey) }}
{{- with .Values.secrets.secretsKeyBefore }}
{{ include "leadgate.secretVariable" (list "SECRETS_KEY_BEFORE" .) }}
{{- end }}
{{- end -}}

{{/* Redis; for what puts leads in the queue, `shards` as well: a list of the root and whether it does. */}}
{{- define "leadgate.redisVariables" -}}
{{- $root := index . 0 -}}
{{ include "leadgate.secretVariable" (list "REDIS_URL" $root.Values.secrets.redisUrl) }}
{{- if $root.Values.redis.cluster }}
- name: REDIS_CLUSTER
  value: 'true'
{{- end }}
{{- if index . 1 }}
- name: QUEUE_SHARDS
  value: {{ $root.Values.redis.shards | quote }}
{{- end }}
{{- end -}}

{{/* Variables from a map of names to values. */}}
{{- define "leadgate.variables" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{- define "leadgate.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
