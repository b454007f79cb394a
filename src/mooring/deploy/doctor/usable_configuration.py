"""Which configurations of schedulers today's kube-scheduler and mooring can use.

Checks ask it, and whoever needs the profiles of a configuration. No I/O.
"""

import contextlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from mooring import yaml_text
from mooring.config.runtimes import build_profiles
from mooring.config.types import API_VERSION, KIND
from mooring.deploy.doctor.evidence import Evidence, FoundConfiguration, mapping
from mooring.deploy.doctor.manifest_reader import POLICY
from mooring.deploy.migration import migrate
from mooring.deploy.migration.old_types import (
    COMPONENT_CONFIG,
    V1ALPHA1,
    V1ALPHA2,
    V1BETA1,
    V1BETA2,
    V1BETA3,
)
from mooring.errors import InputError
from mooring.plugins.in_tree import default_registry

#: Which version of Kubernetes was the last one that could read a format.
# parity v1.36.4: pkg/scheduler/apis/config/scheme, and the release notes of the versions named
LAST_READ_BY: Final = {
    COMPONENT_CONFIG: "v1.11",
    V1ALPHA1: "v1.18",
    V1ALPHA2: "v1.18",
    V1BETA1: "v1.22",
    V1BETA2: "v1.27",
    V1BETA3: "v1.28",
}
POLICY_LAST_READ_BY: Final = "v1.22"
#: Which minor version was the first one.
_FIRST_READ_BY: Final = {
    COMPONENT_CONFIG: 9,
    V1ALPHA1: 12,
    V1ALPHA2: 18,
    V1BETA1: 19,
    V1BETA2: 22,
    V1BETA3: 23,
}


def has_policy(evidence: Evidence) -> bool:
    """Whether a Policy of Kubernetes v1.22 or older is among the configurations."""
    return any(one.data.get("kind") == POLICY for one in evidence.configurations)


def is_old(configuration: FoundConfiguration) -> bool:
    """Whether it is of a version that today's kube-scheduler does not read."""
    version = str(configuration.data.get("apiVersion", API_VERSION))
    return configuration.data.get("kind", KIND) != KIND or version in LAST_READ_BY


def is_read_by(old: FoundConfiguration, minor: int) -> bool:
    """Whether an old configuration, or a Policy, is one that a kube-scheduler v1.`minor` reads."""
    version = str(old.data.get("apiVersion", ""))
    last = LAST_READ_BY.get(version, POLICY_LAST_READ_BY)
    return _FIRST_READ_BY.get(version, 0) <= minor <= int(last.removeprefix("v1."))


def usable_settings(configurations: Iterable[FoundConfiguration]) -> Mapping[str, Any] | None:
    """The first configuration that a scheduler would take, as data; None if there is none.

    An old one counts as what ``moor migrate`` makes of it.
    """
    for one in configurations:
        with contextlib.suppress(InputError):
            data = _migrated(one) if is_old(one) else one.data
            build_profiles(data, default_registry())
            return data
    return None


def _migrated(old: FoundConfiguration) -> Mapping[str, Any]:
    """An old configuration as v1; raises an InputError where it needs another file."""
    text = json.dumps(old.data)
    return mapping(yaml_text.parse(migrate(text, source=old.source).text))
