"""Random policies: filters, scores, `Preempt` hooks and plugins that answer by chance.

What is chance is decided by the seed and by names, so the same question gets the same answer on
both sides. Used by `cases`.
"""

import random
import zlib
from collections.abc import Collection, Sequence

import mooring as mr
from mooring import hook
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Candidate, Filtering, Preemption
from mooring.framework.verdict import fail

NAME = "chance"


def chance(*of: object) -> int:
    """A number below 100 that is always the same for the same things."""
    return zlib.crc32("/".join(map(str, of)).encode()) % 100


def random_policy(seed: int, *, fails: bool) -> mr.Policy | None:
    """A policy; None in many cases.

    Args:
        seed: the case.
        fails: whether its functions fail over some nodes.
    """
    rng = random.Random(f"policy {seed}")  # noqa: S311 - for tests
    if rng.random() < 0.25:
        return None
    policy = mr.Policy(NAME)
    if rng.random() < 0.5:
        _add_filters(policy, seed, rng, fails=fails)
    if rng.random() < 0.5:
        _add_scores(policy, seed, rng, fails=fails)
    if rng.random() < 0.6:
        _add_preempt(policy, seed, rng, fails=fails)
    if rng.random() < 0.15:
        policy.add(Narrow(seed, rng.choice(Narrow.MOODS)))
    if rng.random() < 0.15:
        policy.add(Each(seed, fails=fails))
    if rng.random() < 0.08:
        policy.add(Nearest())
    return policy if policy.rules or policy.plugins else None


def _add_filters(policy: mr.Policy, seed: int, rng: random.Random, *, fails: bool) -> None:
    share = rng.choice((5, 30, 60, 100))

    @policy.filter(unresolvable=rng.random() < 0.2)
    def by_name(pod: mr.Pod, node: mr.Node) -> bool | str:
        if fails and chance(seed, "broken", node.name) < 15:
            raise KeyError(node.name)
        return "unlucky" if chance(seed, "filter", pod.name, node.name) < share else True

    if rng.random() < 0.4:
        least = rng.choice((0, 500, 2000))

        @policy.filter_nodes(reason="too little is free")
        def some_free(_: mr.Pod, nodes: mr.Nodes) -> list[bool]:
            return [int(free) >= least for free in nodes.free["cpu"].tolist()]


def _add_scores(policy: mr.Policy, seed: int, rng: random.Random, *, fails: bool) -> None:
    @policy.score(weight=rng.choice((1, 2)))
    def by_name(_: mr.Pod, node: mr.Node) -> float:
        if fails and chance(seed, "broken", node.name) < 10:
            raise ValueError(node.name)
        return chance(seed, "score", node.name)


def _add_preempt(policy: mr.Policy, seed: int, rng: random.Random, *, fails: bool) -> None:
    mood = rng.choice(("drop nodes", "drop victims", "drop all"))

    @policy.preempt
    def spare(_: mr.Pod, node: mr.Node, victims: Sequence[mr.Pod]) -> bool | Sequence[mr.Pod]:
        if fails and chance(seed, "broken", node.name) < 30:
            raise RuntimeError("no idea")
        if mood == "drop nodes":
            return chance(seed, "node", node.name) < 50
        if mood == "drop victims":
            return [one for one in victims if chance(seed, "victim", one.name) < 70]
        return False


class Narrow(hook.PreFilter):
    """Rejects the pod as such, names nodes, has nothing to say, or cannot answer."""

    name = "Narrow"
    MOODS = ("reject", "never", "nodes", "no nodes", "skip", "cannot", "raises")

    def __init__(self, seed: int, mood: str) -> None:
        self._seed = seed
        self._mood = mood

    def pre_filter(self, cycle: Cycle) -> hook.PreFilterAnswer:
        """Answer as the mood is."""
        if self._mood == "raises":
            raise LookupError("nothing here")
        answers: dict[str, hook.PreFilterAnswer] = {
            "reject": mr.reject("not today"),
            "never": mr.reject("never", unresolvable=True),
            "nodes": self._some(cycle),
            "no nodes": (),
            "skip": hook.SKIP,
            "cannot": fail("cannot say"),
        }
        return answers[self._mood]

    def _some(self, cycle: Cycle) -> Collection[str]:
        names = cycle.cluster.columns.names
        return [name for name in names if chance(self._seed, "narrow", name) < 50]


class Each(hook.Filter):
    """Asked for one node after the other, and so only for those that are still possible."""

    name = "Each"

    def __init__(self, seed: int, *, fails: bool) -> None:
        self._seed = seed
        self._fails = fails

    def filter(self, pod: mr.Pod, node: mr.Node) -> mr.Verdict:  # noqa: ARG002
        """Reject some nodes; over others it may fail."""
        number = chance(self._seed, "each", node.name)
        if self._fails and number >= 60:
            raise RuntimeError(f"{node.name} is too much")
        return mr.accept_if(number < 40, "not each one")


class Nearest(hook.PostFilter):
    """A plugin that finds room in its own way: the first pod of lower priority has to go."""

    name = "Nearest"

    def post_filter(self, cycle: Cycle, filtering: Filtering) -> Preemption | mr.Verdict:
        """Take the least important pod of each node that preemption may help."""
        found = {}
        for row in filtering.resolvable:
            pods = [one for one in cycle.cluster.pods_on(row) if one.priority < cycle.pod.priority]
            node = cycle.cluster.columns.names[row]
            if pods and cycle.pod.spec.preemption_policy != "Never":
                found[node] = Candidate(node, (min(pods, key=lambda one: one.priority),))
        if not found:
            return mr.reject("nobody is near")
        return Preemption(mr.accept(), eligible=True, candidates=found)
