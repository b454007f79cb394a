"""Differences planted into one side, to see that the comparison finds them.

Each gives explain another configuration or policy than run has: what a second implementation of the
decision would come to that forgets the same thing.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from mooring.config.runtimes import build_profiles
from mooring.plugins.in_tree import default_registry
from tools.agreement.cases import PROFILE, Case, Object, configuration
from tools.agreement.policies import random_policy


def without_preempt_hooks(case: Case) -> Case:
    """Nobody asks `Preempt` hooks."""
    policy = random_policy(case.seed, fails=case.fails)
    if policy is not None:
        policy.preempts.clear()
    return case._replace(policy=policy)


def filters_in_another_order(case: Case) -> Case:
    """The filters are asked the other way around."""
    enabled = [{"name": name} for name, _ in reversed(_plugins(case, "filter"))]
    return _with_point(case, "filter", enabled)


def weights_ignored(case: Case) -> Case:
    """Every score counts once."""
    enabled = [{"name": name, "weight": 1} for name, _ in _plugins(case, "score")]
    return _with_point(case, "score", enabled)


def _plugins(case: Case, point: str) -> list[tuple[str, int]]:
    policies = [case.policy] if case.policy is not None else []
    profile = build_profiles(case.config, default_registry(), policies)[PROFILE]
    return [(one.name, one.weight) for one in profile.points.get(point, ())]


def _with_point(case: Case, point: str, enabled: list[Object]) -> Case:
    before: Mapping[str, Any] = case.config["profiles"][0] if case.config is not None else {}
    plugins = {
        **before.get("plugins", {}),
        point: {"enabled": enabled, "disabled": [{"name": "*"}]},
    }
    return case._replace(config=configuration({**before, "plugins": plugins}))


#: All of them by name.
PLANTS: Final[Mapping[str, Callable[[Case], Case]]] = {
    "Preempt hooks are forgotten": without_preempt_hooks,
    "filters are asked in another order": filters_in_another_order,
    "weights are ignored": weights_ignored,
}
