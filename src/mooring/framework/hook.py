"""The hooks: one base class for each extension point that a plugin can implement.

A plugin is a class that inherits from the hooks it implements; `Policy.add` takes an instance.
Singular hooks are called for one node, plural hooks for all nodes at once. A rejection is a return
value; an exception means that the plugin failed: the pod is not scheduled in this attempt, and its
event names the plugin.

For each pod, the hooks run in this order; plugins with the same hook run in the order of the
profile:

    pre_enqueue · sort_key               before a pod is taken from the queue
    pre_filter · filter                  which nodes are possible
    post_filter                          only if none is: make room
    pre_score · score · normalize        which of them is best
    reserve · permit · pre_bind_check    the node is chosen
    pre_bind · bind · post_bind          plans are carried out, the pod is bound
    unreserve                            only if something failed after reserve

`requeue_on`, `details` and `remedies` are about rejected pods: which events may help, what exactly
was missing, and what would help.

Extender verbs map to hooks as follows: filter → `Filter`, `FilterNodes`; prioritize → `Score`,
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
#: reject, or a string to reject with that reason.
FilterAnswer = Verdict | bool | str | None
#: What a filter may return for all nodes: a mask (true accepts), `Verdicts`, one answer for each
#: node, or ``None`` to accept them all.
FilterAnswers = Mask | Verdicts | Sequence[FilterAnswer] | None
#: What a preempt function may return for one node: like a filter, or the victims that remain.
PreemptAnswer = Verdict | bool | str | Sequence[Pod] | None
#: What a bind function may return: nothing, the binding with more annotations, or a rejection.
BindAnswer = Binding | Verdict | bool | str | None


class Skip(enum.Enum):
    """Not applicable to this pod: the plugin's next hook is not called."""

    SKIP = "Skip"


SKIP: Final = Skip.SKIP
#: What `pre_filter` may return: ``None`` to continue with all nodes, the names of the only feasible
#: nodes, `SKIP`, or a rejection of the pod on every node.
PreFilterAnswer = Collection[str] | Skip | Verdict | None
#: What `pre_score` may return: ``None`` to continue, or `SKIP`.
PreScoreAnswer = Skip | None
#: What `reserve` may return: like a filter, or what has to be done before the pod is bound.
ReserveAnswer = FilterAnswer | Plan
#: What `pre_bind_check` may return: ``None`` if `pre_bind` has to run, or `SKIP`.
PreBindCheckAnswer = Skip | None


class Hook(ABC):  # noqa: B024 - the hooks below have the abstract methods
    """Base of all hooks.

    A plugin that a configuration can enable is created from its class: the constructor takes
    ``args`` (an `Args`, read from ``pluginConfig``) and ``handle`` (a `Handle`), either of them, or
    neither.

    A plugin also declares what its results depend on. Without declarations, it is called for
    everything, as often as possible. If it declares too little, its own outdated results may be
    reused; the results of other plugins and the state are not affected.
    """

    #: The plugin's name in routes, logs and events; if empty, the name of the class.
    name: str = ""
    #: The plugin's arguments: a msgspec Struct whose fields have defaults.
    Args: ClassVar[type[msgspec.Struct] | None] = None
    #: The kinds of objects it looks up in addition to nodes and pods, such as
    #: ``(kinds.StorageClass,)`` from `mooring.kinds`: they are watched for it. None: the kinds that
    #: its `requeue_on` names.
    reads: Collection[type[KubeObject]] | None = None
    #: Further kinds that it looks up, but only if they are watched for another plugin.
    reads_if_watched: Collection[type[KubeObject]] = ()
    #: The kinds of objects that its plans patch, and those that they create; manifests get the
    #: permissions for it from here.
    patches: Collection[type[KubeObject]] = ()
    creates: Collection[type[KubeObject]] = ()
    #: Further permissions that its plans need: API group, resource or subresource, and verb.
    permissions: Collection[tuple[str, str, str]] = ()
    #: What its filter depends on in addition to the pod.
    filter_scope: Scope = Scope.CLUSTER
    #: What its score depends on in addition to the pod.
    score_scope: Scope = Scope.CLUSTER
    #: The argument, as spelled in ``pluginConfig``, that receives the names of the resources that
    #: an extender manages and the scheduler must ignore; empty for none.
    ignored_resources_arg: ClassVar[str] = ""

    def attach(self, handle: Handle) -> None:  # noqa: B027 - most plugins need it not
        """Receive the scheduler that runs the plugin. Called once per profile, before any pod.

        For plugins that were created without a handle, such as one added to a policy.
        """


class PreEnqueue(Hook):
    """Decides whether a pod may enter the queue. Runs when the pod is created or changed.

    A gated pod takes no scheduling time; an exception also gates the pod.
    """

    @abstractmethod
    def pre_enqueue(self, pod: Pod) -> FilterAnswer:
        """Admit the pod to the queue, or gate it with a reason."""


class QueueSort(Hook):
    """Orders the queue. Runs each time a pod enters the queue; there is one per process.

    All profiles of a scheduler must use the same one.
    """

    @abstractmethod
    def sort_key(self, pod: Pod, since: float) -> tuple[float, ...]:
        """The sort key; the smallest comes first. `since` is when the pod was queued."""


class Action(enum.Flag):
    """What can happen to an object. One event may combine several kinds of updates.

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
    #: The pod's resource requests decreased.
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
    """A kind of cluster event that may make a rejected pod schedulable, with an optional check.

    There are two kinds of events about a `Pod`: events about pods on nodes, for every pending pod
    (a pod that is bound is added, one that finishes is deleted), and updates of the pending pod
    itself, for that pod only, with its own `uid`. Other pending pods cause no events.

    Attributes:
        kind: the class of object, such as `Node`; `KubeObject` for all kinds.
        actions: what happens to it; one of these is enough.
        helps: called with the pending pod, the object before (None if it is new) and the object
        after (None if it is deleted), both of this kind; an exception counts as yes. If None, every
        such event helps.
    """

    kind: type[KubeObject]
    actions: Action
    helps: Callable[[Pod, Any, Any], bool] | None = None


class Requeues(Hook):
    """Declares which cluster events can help a pod that this plugin rejected. Called at startup.

    Without this hook, every event requeues the pods that the plugin rejected; with an empty result,
    no event does.
    """

    @abstractmethod
    def requeue_on(self) -> Sequence[RequeueHint]:
        """The events that may help."""


class Remedies(Hook):
    """Proposes what would help a pod that this plugin rejected. Runs when a decision is explained.

    Each remedy is tried as a what-if, in combinations of up to three that may include those of
    other plugins, and only what makes the pod fit is suggested. If the hook fails, the explanation
    continues without it and names the plugin.
    """

    @abstractmethod
    def remedies(self, case: RemedyCase) -> Iterable[Remedy]:
        """Changes to the pod, the node or the cluster that might help; at most 100.

        Called for one node that this plugin rejects, or for a pod that it rejects on every node.
        """


class Details(Hook):
    """Says with names and numbers why it rejects nodes. Runs when a decision is explained.

    If the hook fails, only the plugin's reasons are shown, and the explanation names the plugin.
    """

    @abstractmethod
    def details(self, rejected: RejectedNodes) -> str | Sequence[str]:
        """What the pod lacks or requires, as a clause whose subject is the pod.

        For example ``needs 6 cpu, and 5 of 8 is free``. One string for all nodes, or one for each;
        nodes with the same string are reported together. An empty string means that the reason is
        sufficient.
        """


class PreFilter(Hook):
    """Examines the pod and the whole cluster. Runs once per decision, before the filters."""

    @abstractmethod
    def pre_filter(self, cycle: Cycle) -> PreFilterAnswer:
        """Store what `filter` needs in ``cycle.data[self.name]``, narrow the nodes, or reject.

        After `SKIP`, the plugin's filter does not run in this decision.
        """


class WhatIf(PreFilter):
    """Tracks pods that are added and removed hypothetically, for preemption and nominated pods.

    Runs after `pre_filter` in the same decision; the state already includes the change. Each method
    must exactly undo the other.
    """

    @abstractmethod
    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Another pod was added to the node in this row."""

    @abstractmethod
    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Another pod was removed from the node in this row."""


class Filter(Hook):
    """Decides whether a pod may run on a node. Runs for each pod and each node still feasible."""

    @abstractmethod
    def filter(self, pod: Pod, node: Node) -> FilterAnswer:
        """Accept or reject the node."""


class FilterNodes(Hook):
    """Like `Filter`, but called once per pod with all nodes."""

    #: The reason for rejections that do not state one.
    reason: str = ""

    @abstractmethod
    def filter_nodes(self, pod: Pod, nodes: Nodes) -> FilterAnswers:
        """Accept or reject each node; the result has one element per node, in order.

        ``None`` accepts all of them.
        """


class PostFilter(Hook):
    """Makes room, for example by preemption. Runs if no node is feasible, until one succeeds."""

    @abstractmethod
    def post_filter(self, cycle: Cycle, filtering: Filtering) -> Preemption | Verdict:
        """A node and the pods to preempt there, or a rejection with a reason for the pod's event.

        Victims must be pods on that node with a lower priority than the pod itself; a pod whose
        ``preemptionPolicy`` is ``Never`` has none. Anything else is an error, and no pod is
        preempted. A candidate without victims only nominates the pod to the node.
        """


class PreScore(Hook):
    """Examines the pod and all feasible nodes. Runs once per decision, before the scores."""

    @abstractmethod
    def pre_score(self, cycle: Cycle, nodes: Nodes) -> PreScoreAnswer:
        """Compute what `score` needs; after `SKIP`, the plugin's score is 0."""


class Score(Hook):
    """Rates how well a node suits a pod. Runs for each pod and each node that passed the filters.

    Not called if only one node is feasible.
    """

    #: How much this score counts relative to the policy's other scores.
    weight: float = 1
    #: The best score; scores range from 0 to this number.
    max_score: float = 100

    @abstractmethod
    def score(self, pod: Pod, node: Node) -> float:
        """A number from 0 (worst) to `max_score` (best)."""


class ScoreNodes(Hook):
    """Like `Score`, but called once per pod with all nodes."""

    #: How much this score counts relative to the policy's other scores.
    weight: float = 1
    #: The best score; scores range from 0 to this number.
    max_score: float = 100

    @abstractmethod
    def score_nodes(self, pod: Pod, nodes: Nodes) -> Scores:
        """A number from 0 to `max_score` for each node, in order."""


class Normalize(Hook):
    """Scales the plugin's own scores to 0..100. Runs once per decision, after its scores.

    Without it, scores are scaled by `max_score`.
    """

    @abstractmethod
    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:
        """Integers from 0 to 100 for the same nodes, computed from the plugin's raw scores."""


class Reserve(Hook):
    """Is notified of the chosen node. Runs once per decision, before the pod is bound."""

    @abstractmethod
    def reserve(self, cycle: Cycle, node: Node) -> ReserveAnswer:
        """Reserve what the pod needs; a rejection undoes the decision.

        Return what has to be written or waited for before the pod is bound as a `Plan`: it is
        carried out concurrently with later decisions, before all `pre_bind` hooks.
        """

    @abstractmethod
    def unreserve(self, cycle: Cycle, node: Node) -> None:
        """Release it. Runs for every plugin after a failure; must not fail and may run twice."""


class Wait(msgspec.Struct, frozen=True):
    """The pod has to wait before it is bound: this many seconds, but at most 15 minutes."""

    seconds: float


class Permit(Hook):
    """Makes the final decision before binding. Runs once per decision.

    A waiting pod keeps its place on the node. It is bound once it is allowed through
    ``handle.waiting``, by this plugin's other calls or from elsewhere; if it is rejected there, or
    the time expires, its place is released and the pod is retried.
    """

    @abstractmethod
    def permit(self, cycle: Cycle, node: Node) -> FilterAnswer | Wait:
        """Accept, reject, or make the pod wait."""


class Preempt(Hook):
    """Influences which pods are preempted. Runs for each node where preemption would make room.

    It may exclude the node or spare some victims, but not add any.
    """

    @abstractmethod
    def preempt(self, pod: Pod, node: Node, victims: Sequence[Pod]) -> PreemptAnswer:
        """Accept or exclude the node, or return the remaining victims."""


class PreBind(Hook):
    """Prepares what the pod needs before it is bound. Runs once per pod, beside other decisions.

    For changes to objects in the API server only, `reserve` may return a `Plan` instead.
    """

    # parity v1.36.4: kube-scheduler/framework/interface.go PreBindPreFlight
    def pre_bind_check(self, cycle: Cycle, node: Node) -> PreBindCheckAnswer:  # noqa: ARG002
        """Whether `pre_bind` has something to do for this pod; after `SKIP`, it does not run.

        Runs once per decision, after `permit`, and must return immediately. If any plugin has
        something to do, the pod's ``nominatedNodeName`` is set first, so that others learn where it
        will run.
        """
        return None

    @abstractmethod
    async def pre_bind(self, binding: Binding) -> BindAnswer:
        """Do what has to be done; a rejection undoes the decision, and the pod is retried.

        It is cancelled when the scheduler stops, and when the pod is preempted for a more important
        one, which releases its place.
        """


class Bind(Hook):
    """Runs just before a pod is bound; the binding itself is created by the scheduler or extender.

    A regular method runs between decisions and may read `binding.node`; an ``async`` method may
    wait for other systems and does not delay decisions.
    """

    @abstractmethod
    def bind(self, binding: Binding) -> BindAnswer | Awaitable[BindAnswer]:
        """Do what has to be done before the pod is bound, or reject the binding."""


class PostBind(Hook):
    """Is notified that a pod was bound. Runs once per bound pod; informational only."""

    @abstractmethod
    async def post_bind(self, binding: Binding) -> None:
        """Record it, or clean up."""


class Sign(Hook):
    """Tells which pods are equivalent for this plugin's filter and score.

    If its scopes are `Scope.NODES` or `Scope.ROW`, the scheduler keeps the plugin's results for
    pods with equal signatures, and calls it again only for nodes that have changed: for a scope of
    rows, for the nodes on which something changed, and for a scope of nodes, after any change of a
    node. Its score may also be called for the only feasible node, and for a node that topology
    spread or pod affinity rejects. If a signature lacks something that the plugin reads, pods get
    outdated results. Results of a plugin with `PreFilter`, `PreScore` or `Normalize` are not kept,
    because they depend on more than one node; nor are those of one with `Reserve`, `Permit`,
    `PreBind` or `PostBind`, which may look for what its filter left in the cycle. A plugin without
    a filter and a score does not need this hook.
    """

    @abstractmethod
    def sign(self, pod: Pod) -> Hashable | None:
        """Everything that filter and score read from the pod, and nothing else; None if unknown.

        Made of text, bytes, numbers, None, tuples and frozensets.

        Pods with equal signatures get the same verdict and the same raw score for a node, now and
        later, as long as nothing changes that the plugin's scope includes. What it looks up for the
        pod in other objects, such as the selector of its Service, belongs in the signature. Labels
        that it does not read do not: pods of one StatefulSet differ in them.
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
