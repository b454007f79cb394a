"""How much say a policy has: its weight beside the other scores of a profile.

Owns the rule that a policy's 100 points count as much as all other score plugins of the profile
together unless the policy or the configuration says otherwise, and the sentence that tells people
what came of it. `build_profiles` weighs policies with it; `live`, `extender`, `explaining` and the
command line tell the result. It never looks at scores themselves.
"""

import math
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from mooring.config.profiles import Profile
from mooring.config.types import Extender
from mooring.framework import hook
from mooring.framework.policy import Policy

#: The weight of a plugin's score, given the sum of the weights that it stands beside.
WeightBeside = Callable[[int], int]

#: The sum of the weights of kube-scheduler's default score plugins.
# parity v1.36.4: apis/config/v1/default_plugins.go getDefaultPlugins
KUBE_SCHEDULER_WEIGHT: Final = 14


class PolicySay(NamedTuple):
    """How much of a node's total score a policy can decide.

    Attributes:
        policy: its name.
        weight: the weight of its score; its 100 points count so many times.
        total: the weights of all scores together, its own among them.
    """

    policy: str
    weight: int
    total: int

    @property
    def percent(self) -> int:
        """The policy's part, rounded, but 0 and 100 only where that is exact."""
        if self.weight >= self.total:
            return 100
        return min(99, max(1, math.floor(100 * self.weight / self.total + 0.5)))

    def __str__(self) -> str:
        return (
            f"policy {self.policy} can decide {self.percent}% of a node's total score "
            f"(weight {self.weight} of {self.total})"
        )


def policy_say(
    policy: Policy, profile: Profile, extenders: Iterable[Extender] = ()
) -> PolicySay | None:
    """How much say a policy has in a profile; None if it does not score nodes there.

    Args:
        policy: the policy.
        profile: a profile that was built with it.
        extenders: those of the configuration, which score nodes as well.
    """
    own = {name for name, _ in _scoring_parts(policy)}
    weight = sum(one.weight for one in profile.points["score"] if one.name in own)
    if not weight:
        return None
    asked = sum(one.weight for one in extenders if one.prioritize_verb)
    return PolicySay(policy.name, weight, profile.score_weight + asked)


def extender_say(policy: Policy) -> PolicySay | None:
    """The say to give a policy as an extender of kube-scheduler; None if it does not score nodes.

    An extender's scores are from 0 to 10, and kube-scheduler multiplies them by ten before it
    weighs them, so an extender's weight counts as much as that of a plugin.
    """
    # parity v1.36.4: schedule_one.go prioritizeNodes
    if not policy.scores:
        return None
    weight = policy.weight or KUBE_SCHEDULER_WEIGHT
    return PolicySay(policy.name, weight, weight + KUBE_SCHEDULER_WEIGHT)


def policy_weights(policy: Policy) -> dict[str, WeightBeside]:
    """The plugins that a policy becomes in a profile, each with the weight of its score.

    What the policy weighs is divided among those that score nodes, by their own weights.
    """
    parts = dict(_scoring_parts(policy))
    whole = sum(parts.values())
    names = [policy.name] if policy.rules else []
    names += [hook.plugin_name(plugin) for plugin in policy.plugins]
    return {name: _part(policy, parts.get(name, 0) / (whole or 1)) for name in names}


def _part(policy: Policy, part: float) -> WeightBeside:
    def weight(others: int) -> int:
        return max(1, math.floor((policy.weight or others) * part + 0.5))

    return weight


def _scoring_parts(policy: Policy) -> Iterable[tuple[str, float]]:
    """What scores nodes under which name, and how much it counts beside the other parts."""
    if policy.scores:
        yield policy.name, sum(rule.weight for rule in policy.scores)
    for plugin in policy.plugins:
        # The scores of other plugins are among the policy's functions.
        if isinstance(plugin, hook.PREPARING) and isinstance(plugin, (hook.Score, hook.ScoreNodes)):
            yield hook.plugin_name(plugin), plugin.weight
