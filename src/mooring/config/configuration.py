"""``KubeSchedulerConfiguration`` v1: reading it.

A file that kube-scheduler v1.36 accepts is accepted unchanged, with the same defaults and checks.
`read_configuration` is called by every command that takes a configuration; the arguments of plugins
stay as they were written until the registry, which knows the plugins, reads them. Files are opened
by the caller.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from mooring.config.strict_decoding import FieldProblem, decode_or_raise, raise_problems, shown
from mooring.config.types import (
    API_VERSION,
    DEFAULT_SCHEDULER,
    KIND,
    ClientConnectionConfiguration,
    Extender,
    ExtenderManagedResource,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    PluginConfig,
    PluginRef,
    Plugins,
    PluginSet,
)
from mooring.config.validation import validate
from mooring.errors import InputError

__all__ = [
    "API_VERSION",
    "DEFAULT_SCHEDULER",
    "KIND",
    "ClientConnectionConfiguration",
    "Extender",
    "ExtenderManagedResource",
    "ExtenderTLSConfig",
    "KubeSchedulerConfiguration",
    "KubeSchedulerProfile",
    "LeaderElectionConfiguration",
    "PluginConfig",
    "PluginRef",
    "PluginSet",
    "Plugins",
    "read_configuration",
]

#: What configured schedulers before Kubernetes v1.23.
_POLICY: Final = "Policy"
_OF_POLICY: Final = ("predicates", "priorities")
_OLD_VERSIONS: Final = (
    "componentconfig/v1alpha1",
    "kubescheduler.config.k8s.io/v1alpha",
    "kubescheduler.config.k8s.io/v1beta",
)

# Where an empty value means the default, as in Go, which cannot tell it from an absent one.
# parity v1.36.4: apis/config/v1/defaults.go, component-base/config/v1alpha1/defaults.go
_EMPTY_IS_DEFAULT: Final = {
    "leader_election": (
        "lease_duration",
        "renew_deadline",
        "retry_period",
        "resource_lock",
        "resource_name",
        "resource_namespace",
    ),
    "client_connection": ("content_type", "qps", "burst"),
}


def read_configuration(data: object) -> KubeSchedulerConfiguration:
    """Read a configuration.

    Args:
        data: the parsed YAML or JSON; None or an empty object is the default configuration.
            ``apiVersion`` and ``kind`` may be left out.

    Raises:
        InputError: something in it is wrong; lists the mistakes with their paths, five at most.
    """
    if data is None:
        data = {}
    if not isinstance(data, Mapping):
        raise InputError(f"a {KIND} must be an object, not {shown(data)}")
    raise_problems(_foreign(data))
    found = _with_defaults(decode_or_raise(KubeSchedulerConfiguration, data, ""), data)
    raise_problems(list(validate(found)))
    return found


def _foreign(data: Mapping[str, Any]) -> list[FieldProblem]:
    # A file of another kind or version would give a hundred unknown fields: say only this.
    kind, version = data.get("kind"), str(data.get("apiVersion") or "")
    if kind == _POLICY and version in ("", "v1", API_VERSION):
        return [_old("kind", _POLICY)]
    if kind in (KIND, None) and version.startswith(_OLD_VERSIONS):
        return [_old("apiVersion", version)]
    if kind is None and not version:
        return [_old(field, _POLICY) for field in _OF_POLICY if field in data][:1]
    return [
        FieldProblem(field, f"{shown(data[field])} is not supported: must be {right}")
        for field, right in (("apiVersion", API_VERSION), ("kind", KIND))
        if data.get(field) not in (None, right)
    ]


def _old(field: str, what: str) -> FieldProblem:
    """A format that ``moor migrate`` reads, which knows all that there were."""
    text = f"{what} is an old format; moor migrate FILE rewrites it to {API_VERSION}"
    return FieldProblem(field, text)


def _with_defaults(
    found: KubeSchedulerConfiguration, data: Mapping[str, Any]
) -> KubeSchedulerConfiguration:
    changed: dict[str, Any] = {}
    for part, fields in _EMPTY_IS_DEFAULT.items():
        given = getattr(found, part)
        default = type(given)()
        changed[part] = msgspec.structs.replace(
            given, **{field: getattr(given, field) or getattr(default, field) for field in fields}
        )
    if found.enable_contention_profiling is None:
        changed["enable_contention_profiling"] = found.enable_profiling
    profiles = found.profiles or (KubeSchedulerProfile(),)
    if len(profiles) == 1 and not _names_a_scheduler(data):
        # A name is made up only where there is one profile.
        profiles = (msgspec.structs.replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER),)
    changed["profiles"] = profiles
    # parity v1.36.4: pkg/scheduler/extender.go
    changed["extenders"] = tuple(
        msgspec.structs.replace(one, http_timeout=one.http_timeout or Extender().http_timeout)
        for one in found.extenders
    )
    return msgspec.structs.replace(found, **changed)


def _names_a_scheduler(data: Mapping[str, Any]) -> bool:
    profiles = data.get("profiles") or [{}]
    return profiles[0].get("schedulerName") is not None
