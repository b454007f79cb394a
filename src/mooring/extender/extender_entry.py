"""What kube-scheduler's configuration has to say so that it asks this extender.

`server` logs it when it starts, so that nobody has to put it together by hand; the weight gives the
policy the say that it has in mooring's own scheduler. It knows nothing of a running server.
"""

from typing import Any, Final

import yaml

from mooring.config.policy_say import extender_say
from mooring.framework.policy import Policy

#: kube-scheduler's own, which need not be written.
_DEFAULT_TIMEOUT: Final = 5.0


def extender_entry(
    policy: Policy, url: str, *, node_cache: bool, timeout: float = _DEFAULT_TIMEOUT
) -> dict[str, Any]:
    """The entry of ``extenders`` with the verbs that the policy needs.

    Args:
        policy: what is served.
        url: where, with the prefix of the verbs.
        node_cache: whether nodes are known here, so that kube-scheduler sends only their names.
        timeout: the caller's ``httpTimeout`` in seconds.
    """
    entry: dict[str, Any] = {"urlPrefix": url}
    if policy.filters:
        entry["filterVerb"] = "filter"
    say = extender_say(policy)
    if say is not None:
        entry |= {"prioritizeVerb": "prioritize", "weight": say.weight}
    if policy.preempts:
        entry["preemptVerb"] = "preempt"
    if policy.binds or (policy.usage and node_cache):
        # Who binds a pod counts it on its node at once; a watch tells it after the next decision.
        entry["bindVerb"] = "bind"
    if url.startswith("https:"):
        entry["enableHTTPS"] = True
    if timeout != _DEFAULT_TIMEOUT:
        entry["httpTimeout"] = f"{timeout:g}s"
    return entry | {"nodeCacheCapable": node_cache}


def as_yaml(entry: dict[str, Any]) -> str:
    """An entry as the field ``extenders`` of a configuration, a line for each field."""
    text: str = yaml.safe_dump({"extenders": [entry]}, sort_keys=False, width=10_000)
    return text
