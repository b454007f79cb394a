"""Remedies: changes to a pod or to the cluster that might make the pod fit, and their costs.

The costs rank suggestions, the smallest first. They say how much a remedy asks of people: a pod's
wish is given up more easily than a demand, a pod is changed more easily than a node, and nothing is
dearer than a machine.

    1 to 5   less of a resource: 1, and 4 times the part of the request that is given up
    1        remove a scheduling gate; name a scheduler that exists
    2        tolerate a taint; give up one condition on nodes; raise maxSkew (a little more the
             further it is raised); not name the node; create a claim, or bind it
    2.5      give up a host port; make a spread constraint a wish
    3        give up an affinity or anti-affinity term; change a label of a node; uncordon a node
    3.5      remove a taint from a node
    4        take another pod off a node; tolerate a cordoned node
    5        give up a volume; another kubelet on a node
    6        one more node

A combination costs the sum.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod

#: A plan has so many remedies at most.
MAX_REMEDIES: Final = 3

TRIVIAL: Final = 1.0
GIVE_UP_CONDITION: Final = 2.0
GIVE_UP_PORT: Final = 2.5
GIVE_UP_TERM: Final = 3.0
CHANGE_NODE: Final = 3.0
REMOVE_TAINT: Final = 3.5
MOVE_POD: Final = 4.0
GIVE_UP_VOLUME: Final = 5.0
ADD_NODE: Final = 6.0


class Remedy(msgspec.Struct, frozen=True):
    """One change that might help; exactly one of the last five fields is set.

    Attributes:
        text: what to do, as a clause such as ``uncordon node-3``.
        cost: how much it asks of people.
        kinds: what is changed; a plan is of no interest if another one does with less.
        pod: makes the changed pod.
        node: makes the changed node; the node is the one the plan is about.
        moved: the key of a pod that is taken off its node.
        added: a node that is added.
        created: other objects that are created.
    """

    text: str
    cost: float
    kinds: frozenset[str]
    pod: Callable[[Pod], Pod] | None = None
    node: Callable[[Node], Node] | None = None
    moved: str = ""
    added: Node | None = None
    created: tuple[KubeObject, ...] = ()


class RemedyPlan(msgspec.Struct, frozen=True):
    """Remedies that are to make a pod fit on a node.

    Attributes:
        node: the node's name.
        remedies: what to do, in order.
    """

    node: str
    remedies: tuple[Remedy, ...] = ()

    @property
    def cost(self) -> float:
        """What all remedies cost together."""
        return sum(one.cost for one in self.remedies)

    @property
    def kinds(self) -> frozenset[str]:
        """What is changed."""
        return frozenset().union(*(one.kinds for one in self.remedies))

    def then(self, remedy: Remedy) -> "RemedyPlan":
        """The plan with one more remedy."""
        return RemedyPlan(self.node, (*self.remedies, remedy))

    @property
    def text(self) -> str:
        """What to do, as one clause."""
        texts = [one.text for one in self.remedies]
        return " and ".join((", ".join(texts[:-1]), texts[-1])) if texts[1:] else "".join(texts)


class Suggestion(msgspec.Struct, frozen=True):
    """A plan that was tried: with it, the pod fits.

    Attributes:
        plan: what to do.
        nodes: the names of the nodes on which the pod then fits, sorted.
    """

    plan: RemedyPlan
    nodes: tuple[str, ...]
