"""What a policy consists of, in one line for people; shells log it when they load one."""

from mooring.framework.hook import plugin_name
from mooring.framework.policy import Policy


def summary(policy: Policy) -> str:
    """The functions of a policy by kind, and its plugins: ``filter a, b; score c; plugin D``."""
    by_kind: dict[str, list[str]] = {}
    for rule in policy.rules:
        by_kind.setdefault(rule.kind.removesuffix("_nodes"), []).append(rule.name)
    named = {rule.name for rule in policy.rules}
    plugins = [plugin_name(one) for one in policy.plugins]
    others = [name for name in plugins if name not in named]
    if others:
        by_kind["plugin"] = others
    return "; ".join(f"{kind} {', '.join(names)}" for kind, names in by_kind.items()) or "empty"
