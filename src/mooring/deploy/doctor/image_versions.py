"""Which versions of kube-scheduler the manifests' images have, and which configurations they read.

Checks ask it. An image whose tag says no version is not known. No I/O.
"""

import re
from typing import Final

from mooring.deploy.container_programs import KUBE_SCHEDULER
from mooring.deploy.doctor.evidence import Evidence, FoundConfiguration
from mooring.deploy.doctor.schedulers import SchedulerProcess, configuration_of, schedulers
from mooring.deploy.doctor.usable_configuration import is_read_by
from mooring.deploy.kubernetes_version import FIRST_V1, minor_of

#: The images that Kubernetes builds have these names, in whatever registry.
_OF_KUBERNETES: Final = re.compile(
    r"(^|/)(kube-scheduler|hyperkube)(-(amd64|arm|arm64|ppc64le|s390x))?([:@]|$)"
)


def is_own_build(image: str) -> bool:
    """Whether somebody built a scheduler of their own, which may have plugins of their own."""
    return _OF_KUBERNETES.search(image) is None


def minor_of_process(process: SchedulerProcess) -> int | None:
    """The minor version of kube-scheduler in a container; None if it is not known."""
    known = process.program == KUBE_SCHEDULER
    return minor_of(str(process.container.get("image", ""))) if known else None


class ImageVersions:
    """The versions of all schedulers of the evidence, and of those with one configuration."""

    def __init__(self, evidence: Evidence) -> None:
        self._all: list[int | None] = []
        self._users: dict[int, list[int | None]] = {}
        for one in schedulers(evidence):
            minor = minor_of_process(one)
            self._all.append(minor)
            self._users.setdefault(id(configuration_of(evidence, one)), []).append(minor)

    @property
    def read_v1(self) -> bool:
        """Whether none of them is known to be too old for what ``moor migrate`` writes."""
        return all(minor is None or minor >= FIRST_V1 for minor in self._all)

    def newer_first(self, advice: str) -> str:
        """Advice that is right for images that read v1, after getting such an image if need be."""
        if self.read_v1:
            return advice
        newer = f"Take an image of kube-scheduler v1.{FIRST_V1} or later"
        return f"{newer}, and {advice[0].lower()}{advice[1:]}"

    def read(self, configuration: FoundConfiguration) -> bool:
        """Whether those that use a configuration, or may, are known to read it."""
        minors = self._users.get(id(configuration)) or self._all
        return bool(minors) and all(
            minor is not None and is_read_by(configuration, minor) for minor in minors
        )
