{{- define "mooring-scheduler.fullname" -}}
{{ .Values.fullnameOverride | default .Values.nameOverride | default "mooring-scheduler" }}
{{- end }}

{{- define "mooring-scheduler.serviceAccountName" -}}
{{ .Values.serviceAccount.name | default (ternary (include "mooring-scheduler.fullname" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{- define "mooring-scheduler.priorityClassName" -}}
{{ .Values.priorityClass.name | default (ternary (printf "%s.%s" (include "mooring-scheduler.fullname" .) .Release.Namespace) "" .Values.priorityClass.create) }}
{{- end }}
