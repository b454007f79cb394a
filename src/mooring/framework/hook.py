"""The hooks: one base class for each point at which a plugin can act.

A plugin is a class that inherits the hooks it implements; `Policy.add` takes an instance. Singular
decides one node, plural all of them at once. A refusal is a return value; an exception means that
the plugin is broken: the pod is not scheduled now and its event names the plugin.

Extender verbs map to hooks so: filter → `Filter`, `FilterNodes`; prioritize → `Score`,
`ScoreNodes`; preempt → `Preempt`; bind → `Bind`.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence

from mooring.framework.arrays import Mask, Scores
from mooring.framework.binding import Binding
from mooring.framework.nodes import Nodes
from mooring.framework.verdict import Verdict
from mooring.model.node import Node
from mooring.model.pod import Pod

#: What a filter may return for one node: a `Verdict`, ``True`` or ``None`` to accept, ``False`` to
#: reject, a text to reject for that reason.
FilterAnswer = Verdict | bool | str | None
#: What a filter may return for all nodes: a mask (true accepts) or one answer for each node.
FilterAnswers = Mask | Sequence[FilterAnswer]
#: What a preempt function may return for one node: like a filter, or the victims that remain.
PreemptAnswer = Verdict | bool | str | Sequence[Pod] | None
#: What a bind function may return: nothing, the binding with more annotations, or a refusal.
BindAnswer = Binding | Verdict | bool | str | None


class Hook(ABC):  # noqa: B024 - the hooks below have the abstract methods
    """Base of all hooks."""

    #: The plugin's name in routes, logs and events; the class's name if empty.
    name: str = ""


class Filter(Hook):
    """Decides whether a pod may go to a node. Runs for each pod and each node still possible."""

    @abstractmethod
    def filter(self, pod: Pod, node: Node) -> FilterAnswer:
        """Accept or reject the node."""


class FilterNodes(Hook):
    """Like `Filter`, but once for each pod with all nodes."""

    #: The reason given where the answer is only "no".
    reason: str = ""

    @abstractmethod
    def filter_nodes(self, pod: Pod, nodes: Nodes) -> FilterAnswers:
        """Accept or reject each node; the answer has one element for each node, in order."""


class Score(Hook):
    """Says how good a node is for a pod. Runs for each pod and each node that passed the filters.

    kube-scheduler does not ask when only one node is left.
    """

    #: How much this score counts beside the policy's other scores.
    weight: float = 1
    #: The best score; scores run from 0 to this number.
    max_score: float = 100

    @abstractmethod
    def score(self, pod: Pod, node: Node) -> float:
        """A number from 0 (worst) to `max_score` (best)."""


class ScoreNodes(Hook):
    """Like `Score`, but once for each pod with all nodes."""

    #: How much this score counts beside the policy's other scores.
    weight: float = 1
    #: The best score; scores run from 0 to this number.
    max_score: float = 100

    @abstractmethod
    def score_nodes(self, pod: Pod, nodes: Nodes) -> Scores:
        """A number from 0 to `max_score` for each node, in order."""


class Preempt(Hook):
    """Has a say when pods are to be evicted. Runs for each node where eviction would make room.

    It may drop the node or some victims, never add any.
    """

    @abstractmethod
    def preempt(self, pod: Pod, node: Node, victims: Sequence[Pod]) -> PreemptAnswer:
        """Accept or drop the node, or return the victims that remain."""


class Bind(Hook):
    """Acts just before a pod is bound; the binding itself is made by who runs the policy.

    A plain method runs between decisions and may read `binding.node`; an ``async`` method may wait
    for the outside world and does not hold up decisions.
    """

    @abstractmethod
    def bind(self, binding: Binding) -> BindAnswer | Awaitable[BindAnswer]:
        """Do what has to be done before the pod is bound, or refuse."""
