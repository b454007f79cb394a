"""The hooks: one base class for each point at which a plugin can act.

A plugin is a class that inherits the hooks it implements; `Policy.add` takes an instance. Singular
decides one node, plural all of them at once. A rejection is a return value; an exception means that
the plugin is broken: the pod is not scheduled now and its event names the plugin.

For one pod the hooks run in this order, those of one kind in the profile's order of plugins:

    pre_enqueue · sort_key               before a pod is taken from the queue
    pre_filter · filter                  which nodes are possible
    post_filter                          only if none is: make room
    pre_score · score · normalize        which of them is best
    reserve · permit · pre_bind_check    the node is chosen
    pre_bind · bind · post_bind          plans are carried out, the pod is bound
    unreserve                            only if something failed after reserve

`requeue_on`, `details` and `remedies` are about pods that were rejected: what may help a pod, what
exactly was missing, and what would help.

Extender verbs map to hooks so: filter → `Filter`, `FilterNodes`; prioritize → `Score`,
`ScoreNodes`; preempt → `Preempt`; bind → `Bind`.
"""

import enum
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Sequence
from typing import Any, ClassVar, Final

import msgspec

from mooring.framework.arrays import Amounts, Mask, Scores
from mooring.framework.binding import Binding
from mooring.framework.cycle import Cycle
from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.framework.filtering import Filtering, Preemption
from mooring.framework.handle import Handle
from mooring.framework.nodes import Nodes
from mooring.framework.plans.plan import Plan
from mooring.framework.remedies.remedy import Remedy, RemedyCase
from mooring.framework.scope import Scope
from mooring.framework.verdict import Verdict, Verdicts
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod

#: What a filter may return for one node: a `Verdict`, ``True`` or ``None`` to accept, ``False`` to
#: reject, a text to reject for that reason.
FilterAnswer = Verdict | bool | str | None
#: What a filter may return for all nodes: a mask (true accepts), `Verdicts`, one answer for each
#: node, or ``None`` to accept them all.
FilterAnswers = Mask | Verdicts | Sequence[FilterAnswer] | None
#: What a preempt function may return for one node: like a filter, or the victims that remain.
PreemptAnswer = Verdict | bool | str | Sequence[Pod] | None
#: What a bind function may return: nothing, the binding with more annotations, or a rejection.
BindAnswer = Binding | Verdict | bool | str | None


class Skip(enum.Enum):
    """The answer "I have nothing to say about this pod": the plugin is not asked further."""

    SKIP = "Skip"


SKIP: Final = Skip.SKIP
#: What `pre_filter` may return: ``None`` to go on with all nodes, the names of the only possible
#: nodes, `SKIP`, or a rejection of the pod whatever the node.
PreFilterAnswer = Collection[str] | Skip | Verdict | None
#: What `pre_score` may return: ``None`` to go on, or `SKIP`.
PreScoreAnswer = Skip | None
#: What `reserve` may return: like a filter, or what has to be done before the pod is bound.
ReserveAnswer = FilterAnswer | Plan
#: What `pre_bind_check` may return: ``None`` to take part, or `SKIP`.
PreBindCheckAnswer = Skip | None


class Hook(ABC):  # noqa: B024 - the hooks below have the abstract methods
    """Base of all hooks.

    A plugin that can be named in a configuration is made from its class: its constructor takes
    ``args`` (an `Args`, filled from ``pluginConfig``) and ``handle`` (a `Handle`), or none of them.

    A plugin also declares what it is. Whoever says nothing is asked about everything, as often as
    possible. Whoever declares too little gets its own old answers where new ones would differ; no
    other plugin's answer and nothing in the state depends on it.
    """

    #: The plugin's name in routes, logs and events; the class's name if empty.
    name: str = ""
    #: The plugin's arguments: a msgspec Struct whose fields have defaults.
    Args: ClassVar[type[msgspec.Struct] | None] = None
    #: The kinds of objects it looks up besides nodes and pods, such as ``(kinds.StorageClass,)`` of
    #: `mooring.kinds`: they are watched for it. None: those that its `requeue_on` names.
    reads: Collection[type[KubeObject]] | None = None
    #: Kinds that it looks up as well, but only if they are watched for another plugin; nothing but
    #: tests goes by it yet.
    reads_if_watched: Collection[type[KubeObject]] = ()
    #: The kinds of objects that its plans patch, and those that they create; manifests get the
    #: permissions for it from here.
    patches: Collection[type[KubeObject]] = ()
    creates: Collection[type[KubeObject]] = ()
    #: What its filter depends on besides the pod.
    filter_scope: Scope = Scope.CLUSTER
    #: What its score depends on besides the pod; nothing but tests goes by it yet.
    score_scope: Scope = Scope.CLUSTER
    #: The argument, as ``pluginConfig`` spells it, that gets the names of the resources which an
    #: extender manages and the scheduler has to ignore; empty for none.
    ignored_resources_arg: ClassVar[str] = ""

    def attach(self, handle: Handle) -> None:  # noqa: B027 - most plugins need it not
        """Take the scheduler that will run it, once for each profile and before the first pod.

        For plugins that were made without a handle, such as one added to a policy.
        """


class PreEnqueue(Hook):
    """Decides whether a pod may enter the queue. Runs when the pod is created or changed.

    A gated pod does not use any scheduling time; an exception gates it as well.
    """

    @abstractmethod
    def pre_enqueue(self, pod: Pod) -> FilterAnswer:
        """Let the pod in, or gate it with a reason."""


class QueueSort(Hook):
    """Orders the queue. Runs once for each pod each time it enters the queue; one for each process.

    All profiles of one scheduler must have the same.
    """

    @abstractmethod
    def sort_key(self, pod: Pod, since: float) -> tuple[float, ...]:
        """A key; the pod with the smallest comes first. `since` is when the pod was queued."""


class Action(enum.Flag):
    """What may happen to an object. One event may be several kinds of update at once.

    `UPDATE_OTHER` is an update that is none of the more special kinds; nodes have none,
    because nothing scheduling reads has changed then. `UPDATE` is every update, `ANY` everything.
    """

    # parity v1.36.4: kube-scheduler/framework/types.go ActionType
    ADD = enum.auto()
    DELETE = enum.auto()
    UPDATE_NODE_ALLOCATABLE = enum.auto()
    UPDATE_NODE_LABEL = enum.auto()
    #: The node's taints changed, or it was uncordoned.
    UPDATE_NODE_TAINT = enum.auto()
    UPDATE_NODE_CONDITION = enum.auto()
    UPDATE_NODE_ANNOTATION = enum.auto()
    UPDATE_NODE_DECLARED_FEATURE = enum.auto()
    UPDATE_POD_LABEL = enum.auto()
    #: The pod asks for less of a resource.
    UPDATE_POD_SCALE_DOWN = enum.auto()
    UPDATE_POD_TOLERATION = enum.auto()
    #: The pod's last scheduling gate was removed.
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = enum.auto()
    UPDATE_OTHER = enum.auto()
    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_CONDITION
        | UPDATE_NODE_ANNOTATION
        | UPDATE_NODE_DECLARED_FEATURE
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_TOLERATION
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_OTHER
    )
    ANY = ADD | DELETE | UPDATE


class RequeueHint(msgspec.Struct, frozen=True):
    """A kind of cluster event that may make a rejected pod schedulable, and whether it does.

    Events about a `Pod` are of two sorts: pods on nodes, for every pending pod (a pod that gets its
    node is added, one that finishes is deleted), and updates of the pending pod itself, for it
    alone, with a `uid` equal to its own. Other pending pods cause none.

    Attributes:
        kind: the class of object, such as `Node`; `KubeObject` for all kinds.
        actions: what happens to it; one of them is enough.
        helps: asked with the pending pod, the object before (None if it is new) and the object
            after (None if it is gone), both of this kind; an exception counts as yes, and None
            always does.
    """

    kind: type[KubeObject]
    actions: Action
    helps: Callable[[Pod, Any, Any], bool] | None = None


class Requeues(Hook):
    """Says which cluster events can help a pod that this plugin rejected. Asked once at the start.

    Without it, every event requeues the plugin's pods; if it names none, no event does.
    """

    @abstractmethod
    def requeue_on(self) -> Sequence[RequeueHint]:
        """The events that may help."""


class Remedies(Hook):
    """Says what would help a pod that this plugin rejected. Runs when a decision is explained.

    Each remedy is tried as a what-if, up to three together, those of other plugins among them, and
    only what makes the pod fit is suggested. A plugin that fails proposes nothing: the explanation
    goes on without it and names it.
    """

    @abstractmethod
    def remedies(self, case: RemedyCase) -> Iterable[Remedy]:
        """Changes of the pod, the node or the cluster that might help, 100 at most.

        Asked about one node that this plugin rejects, or a pod that it rejects as such.
        """


class Details(Hook):
    """Says in names and numbers why this plugin rejects nodes. Runs when a decision is explained.

    A plugin that fails says nothing: its reasons are shown, and the explanation names it.
    """

    @abstractmethod
    def details(self, rejected: RejectedNodes) -> str | Sequence[str]:
        """What the pod lacks or demands, as a clause whose subject is the pod.

        Such as ``needs 6 cpu, and 5 of 8 are free``. One text for all of the nodes, or one for each
        of them; nodes with the same text are told about together. An empty one means that the
        reason says it all.
        """


class PreFilter(Hook):
    """Looks at the pod and the whole cluster. Runs once for each decision, before the filters."""

    @abstractmethod
    def pre_filter(self, cycle: Cycle) -> PreFilterAnswer:
        """Compute what `filter` needs into ``cycle.data[self.name]``, narrow the nodes, or reject.

        After `SKIP` the plugin's filter is not run in this decision.
        """


class WhatIf(PreFilter):
    """Follows pods that are added and removed in thought, for preemption and nominated pods.

    Runs after `pre_filter` in the same decision; the state already shows the change. What one
    method does, the other takes back exactly.
    """

    @abstractmethod
    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Another pod is on the node in this row now."""

    @abstractmethod
    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Another pod left the node in this row."""


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
        """Accept or reject each node; the answer has one element for each node, in order.

        ``None`` accepts all of them.
        """


class PostFilter(Hook):
    """Makes room, as by preemption. Runs for each decision without a node until one succeeds."""

    @abstractmethod
    def post_filter(self, cycle: Cycle, filtering: Filtering) -> Preemption | Verdict:
        """A node and the pods to preempt there, or a rejection with a reason for the pod's event.

        Victims are pods on that node of lower priority than the pod itself, and there are none for
        a pod whose ``preemptionPolicy`` is ``Never``. Anything else is an error, and nobody is
        preempted. A candidate without victims only nominates the pod to the node.
        """


class PreScore(Hook):
    """Looks at the pod and all possible nodes. Runs once for each decision, before the scores."""

    @abstractmethod
    def pre_score(self, cycle: Cycle, nodes: Nodes) -> PreScoreAnswer:
        """Compute what `score` needs; after `SKIP` the plugin's score counts as 0."""


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


class Normalize(Hook):
    """Brings the plugin's own scores to 0..100. Runs once for each decision, after its scores.

    Without it, scores are scaled by `max_score`.
    """

    @abstractmethod
    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:
        """Whole numbers from 0 to 100 for the same nodes, from the plugin's raw scores."""


class Reserve(Hook):
    """Is told which node was chosen. Runs once for each decision, before the pod is bound."""

    @abstractmethod
    def reserve(self, cycle: Cycle, node: Node) -> ReserveAnswer:
        """Take what the pod needs; a rejection undoes the decision.

        What has to be written or waited for before the pod is bound is returned as a `Plan`: who
        runs the scheduler carries it out beside later decisions, before all `pre_bind` hooks.
        """

    @abstractmethod
    def unreserve(self, cycle: Cycle, node: Node) -> None:
        """Give it back. Runs for every plugin after a failure; must not fail, may run twice."""


class Wait(msgspec.Struct, frozen=True):
    """The pod has to wait before it is bound, at most so many seconds and 15 minutes."""

    seconds: float


class Permit(Hook):
    """Has the last word before binding. Runs once for each decision.

    A pod that has to wait keeps its place on the node. It is bound when ``handle.waiting`` is told
    so (`allow`), by this plugin's other calls or from elsewhere; `reject`, or the end of the time,
    gives the place back and the pod is tried again.
    """

    @abstractmethod
    def permit(self, cycle: Cycle, node: Node) -> FilterAnswer | Wait:
        """Accept, reject, or let the pod wait."""


class Preempt(Hook):
    """Has a say when pods are to be preempted. Runs for each node where that would make room.

    It may drop the node or some victims, never add any.
    """

    @abstractmethod
    def preempt(self, pod: Pod, node: Node, victims: Sequence[Pod]) -> PreemptAnswer:
        """Accept or drop the node, or return the victims that remain."""


class PreBind(Hook):
    """Prepares what the pod needs before it is bound. Runs once for each pod, beside decisions.

    For what is in the API server alone, `reserve` may return a `Plan` instead.
    """

    # parity v1.36.4: kube-scheduler/framework/interface.go PreBindPreFlight
    def pre_bind_check(self, cycle: Cycle, node: Node) -> PreBindCheckAnswer:  # noqa: ARG002
        """Say whether `pre_bind` has something to do for this pod; after `SKIP` it is not run.

        Runs once for each decision, after `permit`, and returns at once. If some plugin takes part,
        the pod gets its ``nominatedNodeName`` before that: others learn where it is going to be.
        """
        return None

    @abstractmethod
    async def pre_bind(self, binding: Binding) -> BindAnswer:
        """Do what has to be done; a rejection undoes the decision and the pod is tried again.

        It is cancelled when the scheduler stops, and when the pod is to make room for a more
        important one, which gives its place back.
        """


class Bind(Hook):
    """Acts just before a pod is bound; the binding itself is made by who runs the policy.

    A plain method runs between decisions and may read `binding.node`; an ``async`` method may wait
    for the outside world and does not hold up decisions.
    """

    @abstractmethod
    def bind(self, binding: Binding) -> BindAnswer | Awaitable[BindAnswer]:
        """Do what has to be done before the pod is bound, or reject."""


class PostBind(Hook):
    """Is told that a pod was bound. Runs once for each bound pod; only informs."""

    @abstractmethod
    async def post_bind(self, binding: Binding) -> None:
        """Note it, or clean up."""


class Sign(Hook):
    """Says which pods are alike for this plugin's filter and score.

    Nothing but tests asks for signatures yet. The scheduler will: for pods to whom all plugins give
    equal signatures it keeps the answers, and asks anew only about nodes that changed. Until then a
    wrong signature shows in no decision. A plugin without filter and score need not sign.
    """

    @abstractmethod
    def sign(self, pod: Pod) -> Hashable | None:
        """All that filter and score read of the pod, as little as possible; None: it cannot say.

        On the same cluster, pods with equal signatures get the same verdict and the same raw score
        for every node. What the plugin looks up for the pod in objects of the kinds it reads, such
        as the selector of its Service, belongs into the signature. Labels that nobody reads do not:
        pods of one StatefulSet differ in them.
        """


def plugin_name(plugin: Hook) -> str:
    """What a plugin is called in profiles, logs and events."""
    return plugin.name or type(plugin).__name__


#: Hooks that prepare the plugin's own filter or score: it cannot do without them.
PREPARING: Final = (PreFilter, PreScore, Normalize)
#: Hooks that an extender has no verb for.
SCHEDULER_ONLY: Final = (
    PreEnqueue, QueueSort, Requeues, PostFilter, Reserve, Permit, PreBind, PostBind, Sign,
)  # fmt: skip
