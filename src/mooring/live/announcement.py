"""Saying in the log what decides: the policies, and the profiles with the weights of their scores.

Called when a scheduler starts and when its policy was reloaded. What is said is read from the
runtimes that decide, not from what was configured.
"""

import logging
from collections.abc import Mapping

from mooring.framework.policy_text import summary
from mooring.framework.runtime import Runtime
from mooring.live.options import SchedulerSettings

log = logging.getLogger("mooring.live")


def announce(settings: SchedulerSettings, runtimes: Mapping[str, Runtime]) -> None:
    """Log the policies that take part, and the profiles."""
    source = f" from {settings.policy_source}" if settings.policy_source else ""
    for policy in settings.policies:
        log.info("policy %s%s: %s", policy.name, source, summary(policy))
    for line in profile_lines(runtimes):
        log.info("%s", line)


def profile_lines(runtimes: Mapping[str, Runtime]) -> list[str]:
    """A line for each profile: its scores with their weights."""
    return [f"profile {name} scores with {_weights(one)}" for name, one in runtimes.items()]


def _weights(runtime: Runtime) -> str:
    scores = [f"{one.name} {one.weight}" for one in runtime.points.get("score", ())]
    return f"weights {', '.join(scores)}" if scores else "nothing"
