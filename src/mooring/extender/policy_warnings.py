"""Saying in the log what of a policy does not work in this extender.

Called when the server starts and when its policy was reloaded.
"""

import logging

from mooring.framework import hook
from mooring.framework.policy import Policy
from mooring.framework.policy_checks.usage_reads import usage_reads
from mooring.kube.config import unasked_file

log = logging.getLogger("mooring.extender")


def warn_of_plugins(policy: Policy) -> None:
    """Say which plugins of the policy do less here than in `moor run`."""
    for plugin in policy.plugins:
        decides = [one for one in hook.SCHEDULER_ONLY if one not in (hook.Requeues, hook.Sign)]
        points = [one.__name__ for one in decides if isinstance(plugin, one)]
        if isinstance(plugin, hook.PREPARING) or points:
            what = "all of it" if isinstance(plugin, hook.PREPARING) else ", ".join(points)
            log.warning(
                "policy %s: an extender does not run %s of plugin %s; only moor run does",
                policy.name, what, hook.plugin_name(plugin),
            )  # fmt: skip


def warn_of_usage(policy: Policy) -> bool:
    """Say which functions need a node cache, where there is none; whether there are any."""
    reads = usage_reads(policy)
    if reads:
        log.warning(
            "stateless: no node cache, so functions fail: %s; to enable it, use --kubeconfig FILE "
            "or run inside the cluster%s",
            ", ".join(reads), unasked_file(),
        )  # fmt: skip
    return bool(reads)
