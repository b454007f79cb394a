"""The scheduler of ``moor demo``: what it is given to run on an embedded cluster.

`demo` and `example_demo` start a scheduler with it.
"""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mooring.framework.policy import Policy
    from mooring.live.options import SchedulerSettings


class LimitedPolicy(NamedTuple):
    """The policy that takes part, if any, and how long a plugin may take for one decision."""

    policy: "Policy | None"
    hook_timeout: float


def demo_settings(url: str, limited: LimitedPolicy, folder: Path) -> "SchedulerSettings":
    """The settings of a scheduler for the cluster at an address.

    Args:
        url: where the cluster is.
        limited: the policy that takes part.
        folder: gets the kubeconfig.

    Raises:
        InputError: the policy cannot be used.
    """
    from mooring.embedded.kubeconfig import kubeconfig_text, write_private
    from mooring.live.options import HookLimits, RunOptions, read_settings

    file = folder / "kubeconfig"
    write_private(file, kubeconfig_text(url))
    return read_settings(
        RunOptions(
            policy=limited.policy,
            kubeconfig=file,
            leader_elect=False,
            hook_limits=HookLimits(limited.hook_timeout),
        )
    )
