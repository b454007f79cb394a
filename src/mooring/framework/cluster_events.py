"""What a change of an object means to pending pods: which of the actions it is.

Called by the scheduler's core for every change, and by its queue before it asks plugins whether the
change helps. It compares two states of one object; it knows neither which pods are pending nor what
would help them.

    event = event_between(old, new)
    for hint in hints_of(plugin):
        if matches(hint, event.kind, event.actions):
            helps = hint.helps is None or hint.helps(pod, event.old, event.new)
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from mooring.errors import InputError
from mooring.framework import foreign
from mooring.framework.hook import Action, Hook, RequeueHint, Requeues, plugin_name
from mooring.model.kinds import BY_NAME, CORE
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.resources import reported_resources

#: Nothing that matters to scheduling.
NOTHING: Final = Action(0)
#: What hints the pods of a plugin that does not say what does.
EVERY_EVENT: Final = (RequeueHint(KubeObject, Action.ANY),)

# The flags as names: reading a member of an enum costs more than the comparisons here.
_ADD: Final = Action.ADD
_DELETE: Final = Action.DELETE
_OTHER: Final = Action.UPDATE_OTHER
_NO_CONDITIONS: Final[Mapping[str, str]] = {}

# parity v1.36.4: kube-scheduler/framework/types.go ActionType.String
_LABELS: Final = {
    Action.ADD: "Add",
    Action.DELETE: "Delete",
    Action.UPDATE_NODE_ALLOCATABLE: "UpdateNodeAllocatable",
    Action.UPDATE_NODE_LABEL: "UpdateNodeLabel",
    Action.UPDATE_NODE_TAINT: "UpdateNodeTaint",
    Action.UPDATE_NODE_CONDITION: "UpdateNodeCondition",
    Action.UPDATE_NODE_ANNOTATION: "UpdateNodeAnnotation",
    Action.UPDATE_NODE_DECLARED_FEATURE: "UpdateNodeDeclaredFeature",
    Action.UPDATE_POD_LABEL: "UpdatePodLabel",
    Action.UPDATE_POD_SCALE_DOWN: "UpdatePodScaleDown",
    Action.UPDATE_POD_TOLERATION: "UpdatePodToleration",
    Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "UpdatePodSchedulingGatesEliminated",
    Action.UPDATE_OTHER: "Update",
}


class ClusterEvent(NamedTuple):
    """A change that may concern pending pods.

    Attributes:
        kind: the object's class.
        actions: what happened to it, never empty; several if it is several kinds of update.
        old: the object before; None if it was added.
        new: the object after; None if it is gone.
    """

    kind: type[KubeObject]
    actions: Action
    old: KubeObject | None
    new: KubeObject | None

    def label(self, among: Action = Action.ANY) -> str:
        """The name that kube-scheduler's metrics have for it, such as ``AssignedPodDelete``.

        Args:
            among: the actions that matter, such as those of the `RequeueHint` that helped.
        """
        thing = self.new if self.new is not None else self.old
        actions = self.actions & among or self.actions
        action = next(label for action, label in _LABELS.items() if action & actions)
        if isinstance(thing, Pod):
            return ("AssignedPod" if thing.node_name else "UnschedulablePod") + action
        known = BY_NAME.get(self.kind.kind_name)
        group = known.group if known is not None else CORE
        return f"{group}/{self.kind.kind_name}{action}" if group else self.kind.kind_name + action


def event_between(old: KubeObject | None, new: KubeObject | None) -> ClusterEvent | None:
    """What happened to one object; None if it does not matter to scheduling.

    The event has `old` and `new` as `RequeueHint.helps` gets them: a pod that got its node has no
    `old`, one that finished has no `new`. A pod of the same name with another unique id is another
    object: tell that the one is gone, then that the other is there.

    Args:
        old: as it was known; None if it was not.
        new: as it is now; None if it is gone.
    """
    thing = new if new is not None else old
    if thing is None:
        return None
    actions = actions_of(old, new)
    kind = Node if isinstance(thing, Node) else type(thing)
    if actions is _ADD:
        return ClusterEvent(kind, actions, None, new)
    if actions is _DELETE:
        return ClusterEvent(kind, actions, old, None)
    return ClusterEvent(kind, actions, old, new) if actions is not NOTHING else None


def actions_of(old: KubeObject | None, new: KubeObject | None) -> Action:
    """Which kinds of change lie between two states of one object; empty if none matters.

    A pod that gets its node is added, one that finishes is deleted. Other updates of a pod have the
    same flags whether it waits or is on a node.

    Args:
        old: the object before; None if there was none.
        new: the object after; None if there is none any more.
    """
    if isinstance(old, Pod) and old.finished:
        old = None
    if isinstance(new, Pod) and new.finished:
        new = None
    if old is None:
        return NOTHING if new is None else _ADD
    if new is None:
        return _DELETE
    if old is new:
        return NOTHING
    if isinstance(new, Node) and isinstance(old, Node):
        return _node_update(old, new)
    if isinstance(new, Pod) and isinstance(old, Pod):
        # parity v1.36.4: scheduler/eventhandlers.go updatePod
        return _ADD if new.node_name and not old.node_name else _pod_update(old, new)
    return _OTHER


def hints_of(plugin: Hook) -> Sequence[RequeueHint]:
    """The changes that may help pods which a plugin rejected; all of them if it does not say.

    Raises:
        InputError: the plugin cannot say.
    """
    if not isinstance(plugin, Requeues):
        return EVERY_EVENT
    try:
        hints: list[object] = foreign.call(list, foreign.call(plugin.requeue_on))
    except Exception as error:
        raise InputError(f"{_asked(plugin)} failed: {foreign.tell(error).text}") from error
    found = [one for one in hints if isinstance(one, RequeueHint) and _is_kind(one.kind)]
    if len(found) < len(hints):
        raise InputError(f"{_asked(plugin)} must return a sequence of RequeueHint")
    return found


def _asked(plugin: Hook) -> str:
    return f"requeue_on of plugin {plugin_name(plugin)}"


def _is_kind(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, KubeObject)


def matches(hint: RequeueHint, kind: type[KubeObject], actions: Action) -> bool:
    """Whether what happened to an object of a kind is of a sort that the hint names."""
    return bool(hint.actions & actions) and issubclass(kind, hint.kind)


def _node_update(old: Node, new: Node) -> Action:
    # parity v1.36.4: framework/events.go NodeSchedulingPropertiesChange
    found = NOTHING
    if not _same_allocatable(old, new):
        found |= Action.UPDATE_NODE_ALLOCATABLE
    if old.labels != new.labels:
        found |= Action.UPDATE_NODE_LABEL
    if old.taints != new.taints or (old.unschedulable and not new.unschedulable):
        found |= Action.UPDATE_NODE_TAINT
    if not _same_conditions(old, new):
        found |= Action.UPDATE_NODE_CONDITION
    if old.annotations != new.annotations:
        found |= Action.UPDATE_NODE_ANNOTATION
    if (old.status.declared_features or []) != (new.status.declared_features or []):
        found |= Action.UPDATE_NODE_DECLARED_FEATURE
    return found


def _same_allocatable(old: Node, new: Node) -> bool:
    if (old.status.allocatable or {}) == (new.status.allocatable or {}):
        return True
    # One amount can be written in several ways.
    return old.allocatable == new.allocatable


def _same_conditions(old: Node, new: Node) -> bool:
    if old.status.conditions == new.status.conditions:
        return True
    return _conditions(old) == _conditions(new)


def _conditions(node: Node) -> Mapping[str, str]:
    given = node.status.conditions
    return {one.type: one.status for one in given} if given else _NO_CONDITIONS


def _pod_update(old: Pod, new: Pod) -> Action:
    # parity v1.36.4: framework/events.go PodSchedulingPropertiesChange
    found = NOTHING
    if old.labels != new.labels:
        found |= Action.UPDATE_POD_LABEL
    if old.spec == new.spec and reported_resources(old) == reported_resources(new):
        # As with nearly every change of a status; to ask a flag whether it is empty takes longer.
        return _OTHER if found is NOTHING else found
    if _scaled_down(old, new):
        found |= Action.UPDATE_POD_SCALE_DOWN
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        found |= Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    if len(old.tolerations) != len(new.tolerations):
        found |= Action.UPDATE_POD_TOLERATION
    return found or _OTHER


def _scaled_down(old: Pod, new: Pod) -> bool:
    wanted = new.requests
    return any(name not in wanted or wanted[name] < amount for name, amount in old.requests.items())
