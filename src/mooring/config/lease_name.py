"""The Lease with which `moor run` elects a leader if its configuration names none.

kube-scheduler always takes its own, which keeps a second scheduler from working beside the first.
`live` takes the name, and the doctor judges with it.
"""

import re
from collections.abc import Sequence
from typing import Final

from mooring.config.types import DEFAULT_SCHEDULER, LeaderElectionConfiguration

_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9.-]+")


def default_lease_name(scheduler_names: Sequence[str]) -> str:
    """The name of the Lease of a scheduler that serves these names."""
    kube_scheduler = LeaderElectionConfiguration().resource_name
    if DEFAULT_SCHEDULER in scheduler_names:
        return kube_scheduler
    name = _NOT_IN_NAMES.sub("-", scheduler_names[0].lower()).strip("-.")
    return name or kube_scheduler
