"""What versions of Kubernetes have and do not have, as far as manifests and configurations differ.

The modules that make objects ask it, `migration` and `doctor`. Each property names the release
notes' feature, and nothing else knows a number.
"""

import re
from typing import Final

import msgspec

from mooring.config.types import API_VERSION
from mooring.errors import InputError
from mooring.version import KUBERNETES_VERSION

_TEXT: Final = re.compile(r"v?1\.([0-9]{1,3})(?:\.([0-9]{1,3}))?")
_IMAGE_TAG: Final = re.compile(r":v1\.(\d+)")
_, _MINOR, _PATCH = map(int, KUBERNETES_VERSION.removeprefix("v").split("."))
#: The first minor version whose kube-scheduler reads configurations of v1.
FIRST_V1: Final = 25
#: Where the API server takes node ports from, unless it is told otherwise.
NODE_PORTS: Final = range(30000, 32768)
#: Extenders and --policy-config-file are older than that; other things that are needed are not.
_OLDEST: Final = 16


class KubernetesVersion(msgspec.Struct, frozen=True):
    """A version, such as 1.36.4."""

    minor: int = _MINOR
    patch: int = _PATCH

    def __str__(self) -> str:
        return f"1.{self.minor}.{self.patch}"

    @property
    def is_tested(self) -> bool:
        """Whether mooring is tested with this version."""
        return self.minor == _MINOR

    @property
    def configuration_api(self) -> str:
        """The newest version of KubeSchedulerConfiguration; empty if it cannot have extenders."""
        # v1beta3 since 1.23; a Policy before.
        if self.minor >= FIRST_V1:
            return API_VERSION
        return "kubescheduler.config.k8s.io/v1beta3" if self.minor >= 23 else ""

    @property
    def sidecars(self) -> bool:
        """Whether an init container may stay (SidecarContainers is on since 1.29)."""
        return self.minor >= 29

    @property
    def health_path(self) -> tuple[str, str]:
        """Where kube-scheduler says whether it lives and whether it is ready (since 1.31)."""
        return ("/livez", "/readyz") if self.minor >= 31 else ("/healthz", "/healthz")

    @property
    def disruption_api(self) -> str:
        """The version of PodDisruptionBudget."""
        return "policy/v1" if self.minor >= 21 else "policy/v1beta1"

    @property
    def services_like_others(self) -> bool:
        """Whether a Service's name may begin with a digit (RelaxedServiceNameValidation, 1.36)."""
        return self.minor >= 36

    @property
    def seccomp_profiles(self) -> bool:
        """Whether a security context has ``seccompProfile`` (since 1.19)."""
        return self.minor >= 19


def minor_of(image: str) -> int | None:
    """The minor version of an image's tag such as ``:v1.36.4``; None if it has none."""
    found = _IMAGE_TAG.search(image)
    return int(found[1]) if found is not None else None


def read_version(text: str) -> KubernetesVersion:
    """A version as people write it: 1.36, 1.36.4 or v1.36.4.

    Raises:
        InputError: it is not a version, or too old.
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        raise InputError(f"--kubernetes {text!r} is not a version; write for example 1.36")
    minor = int(found[1])
    if minor < _OLDEST:
        raise InputError(f"--kubernetes {text} is too old; mooring needs 1.{_OLDEST} or newer")
    patch = int(found[2]) if found[2] is not None else (_PATCH if minor == _MINOR else 0)
    return KubernetesVersion(minor, patch)
