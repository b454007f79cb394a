"""How objects are called: the installation's name, which a chart's users may change.

The modules that make objects call it. A chart has the same names as named templates, in
``templates/_helpers.tpl``; what schedulers answer to and the files on nodes keep their names.
"""

from typing import Final

from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.nodes import Setting

#: The file of a chart with the templates that names are made by.
HELPERS: Final = "templates/_helpers.tpl"
#: Names get endings such as -kube-scheduler.
MOST_NAME: Final = 40


def namespace_of(installation: Installation) -> Setting:
    """The namespace of all objects; a chart is installed into any."""
    return Setting(installation.namespace, {}, "{{ .Release.Namespace }}")


def full_name(installation: Installation, ending: str = "") -> Setting:
    """The name of an object, in the installation's namespace."""
    values = {"nameOverride": "", "fullnameOverride": ""}
    template = f"{_include(installation, 'fullname')}{ending}"
    return Setting(f"{installation.name}{ending}", values, template)


def shared_name(installation: Installation, ending: str = "") -> Setting:
    """The name of an object that is beside those of other namespaces' installations."""
    name = f"{installation.name}{ending}.{installation.namespace}"
    template = f"{_include(installation, 'fullname')}{ending}.{{{{ .Release.Namespace }}}}"
    return Setting(name, {}, template)


def service_host(installation: Installation, before: str = "", after: str = "") -> Setting:
    """The extender's Service as a host, with what is before and after it."""
    template = f"{_include(installation, 'fullname')}.{{{{ .Release.Namespace }}}}.svc"
    name = f"{installation.name}.{installation.namespace}.svc"
    return Setting(f"{before}{name}{after}", {}, f"{before}{template}{after}")


def service_account_name(installation: Installation) -> Setting:
    """Its own service account; a chart's users may name one that exists."""
    values = {"serviceAccount.name": ""}
    template = _include(installation, "serviceAccountName")
    return Setting(installation.name, values, template)


def priority_class_name(installation: Installation) -> Setting:
    """The PriorityClass that is made; a chart's users may name another or want none."""
    name = f"{installation.name}.{installation.namespace}"
    template = _include(installation, "priorityClassName")
    return Setting(name, {"priorityClass.name": ""}, template)


def helpers(installation: Installation) -> str:
    """The named templates of a chart."""
    name = installation.name
    fullname = f'(include "{name}.fullname" .)'
    found = {
        "fullname": f'.Values.fullnameOverride | default .Values.nameOverride | default "{name}"',
        "serviceAccountName": f".Values.serviceAccount.name | "
        f'default (ternary {fullname} "default" .Values.serviceAccount.create)',
    }
    if not installation.existing_priority_class:
        found["priorityClassName"] = (
            f".Values.priorityClass.name | default (ternary "
            f'(printf "%s.%s" {fullname} .Release.Namespace) "" .Values.priorityClass.create)'
        )
    return "\n".join(
        f'{{{{- define "{name}.{key}" -}}}}\n{{{{ {text} }}}}\n{{{{- end }}}}\n'
        for key, text in found.items()
    )


def _include(installation: Installation, template: str) -> str:
    return f"{{{{ include `{installation.name}.{template}` . }}}}"
