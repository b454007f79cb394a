"""Whether what a plugin proposes as remedies can be tried.

Called through the border with what `remedies` of a plugin returned that is not mooring's own. All
plugins are asked again about what comes out here, so nothing is believed: changed pods, nodes and
other objects are read anew, as if they came from a file, and have the names they had.
"""

import math
from collections.abc import Iterable
from itertools import islice
from typing import Final, TypeVar

import msgspec
import numpy as np

from mooring.errors import AnswerError, InputError
from mooring.framework import foreign
from mooring.framework.hook_answers import shortened, shown
from mooring.framework.remedies.remedy import Remedy, RemedyCase
from mooring.model.checks import check_object
from mooring.model.kinds import KINDS
from mooring.model.meta import KubeObject, keep_raw
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.resources import spec_requests
from mooring.state.node_info import NodeInfo, without_usage

T = TypeVar("T", bound=KubeObject)

#: So many remedies of one answer are looked at, and so many parts of one of them.
_MOST: Final = 100
#: Amounts are added up in 64 bits.
_MOST_AMOUNT: Final = 2**53
_NUMBERS: Final = (int, float, np.integer, np.floating)
#: The kinds of objects that can be created; pods and nodes have fields of their own.
_CREATED: Final = tuple(one.type for one in KINDS if one.type not in (Pod, Node))


def legal_remedies(answer: object, case: RemedyCase) -> list[Remedy]:
    """What `remedies` returned; a generator runs here.

    Raises:
        AnswerError: it is no collection of remedies, or one of them cannot be tried.
    """
    if not isinstance(answer, Iterable) or isinstance(answer, (str, bytes)):
        raise AnswerError(f"it returned {shown(answer)}; it must return hook.Remedy objects")
    return [_remedy(one, case) for one in islice(answer, _MOST)]


def legal_pod(given: object, case: RemedyCase) -> Pod:
    """A changed copy of the pod.

    Raises:
        AnswerError: it is none.
    """
    if type(given) is not Pod:
        raise AnswerError(f"it returned {shown(given)}; a changed pod must be a Pod")
    pod = _read(given, case.pod)
    if (pod.key, pod.uid) != (case.pod.key, case.pod.uid):
        raise AnswerError(f"it returned pod {shortened(pod.key)} in place of {case.pod.key}")
    _check_amounts(pod, spec_requests(pod).values())
    return pod


def _remedy(given: object, case: RemedyCase) -> Remedy:
    if type(given) is not Remedy:
        raise AnswerError(f"it returned {shown(given)}; it must return hook.Remedy objects")
    moved, created = given.moved != "", given.created != ()
    made = sum((given.pod is not None, given.node is not None, given.added is not None, moved))
    if made > 1 or not (made or created):
        raise AnswerError(
            f"it returned a Remedy with {made} changes; set one of pod, node, moved, added "
            "and created"
        )
    return Remedy(
        _text(given.text, "the text of a Remedy"),
        _cost(given.cost),
        _kinds(given.kinds),
        pod=None if given.pod is None else legal_pod(given.pod, case),
        node=None if given.node is None else _node(given.node, case),
        moved=_moved(given.moved, case) if moved else "",
        added=None if given.added is None else _added(given.added, case),
        created=_created(given.created) if created else (),
        caution="" if given.caution == "" else _text(given.caution, "the caution of a Remedy"),
    )


def _text(given: object, what: str) -> str:
    text = shortened(given) if isinstance(given, str) else ""
    if not text.strip():
        raise AnswerError(f"it returned {shown(given)} as {what}; it must be a string")
    return text


def _cost(given: object) -> float:
    # Its class counts, and not what it says its class is.
    number = float(given) if issubclass(type(given), _NUMBERS) else math.nan  # type: ignore[arg-type]
    if not 0 < number < math.inf:
        raise AnswerError(
            f"it returned {shown(given)} as a cost; it must be a number greater than 0"
        )
    return number


def _kinds(given: object) -> frozenset[str]:
    listed = given if isinstance(given, (frozenset, set, tuple, list)) else (None,)
    return frozenset(_text(one, "a kind of change") for one in islice(listed, _MOST))


def _node(given: object, case: RemedyCase) -> Node:
    node = _any_node(given, case.node)
    if node.name != case.node.name:
        raise AnswerError(f"it returned node {shortened(node.name)} in place of {case.node.name}")
    return node


def _added(given: object, case: RemedyCase) -> Node:
    node = _any_node(given)
    if not node.name or node.name in case.cluster.nodes:
        raise AnswerError(
            f"it returned {shown(node.name)} as a node that is added; it needs a new name"
        )
    return node


def _any_node(given: object, before: Node | None = None) -> Node:
    # Its class counts, and not what it says its class is; a copy of a node still has its usage.
    if type(given) is not Node and type(given) is not NodeInfo:
        raise AnswerError(f"it returned {shown(given)}; a changed or new node must be a Node")
    node = _read(without_usage(given), before)
    _check_amounts(node, node.allocatable.values())
    return node


def _moved(given: object, case: RemedyCase) -> str:
    key = _text(given, "a pod to be moved")
    namespace, _, name = key.partition("/")
    if case.cluster.pod(namespace, name) is None:
        raise AnswerError(f"it returned {shown(key)} as a pod to be moved; there is no such pod")
    return key


def _created(given: object) -> tuple[KubeObject, ...]:
    if not isinstance(given, (tuple, list)):
        raise AnswerError(f"it returned {shown(given)}; created objects must be a tuple")
    return tuple(map(_created_object, islice(given, _MOST)))


def _created_object(given: object) -> KubeObject:
    for kind in _CREATED:
        if type(given) is kind:
            thing = _read(given)
            if thing.name:
                return thing
    raise AnswerError(
        f"it returned {shown(given)} as a created object; it must have a name and be of a kind "
        "that scheduling reads"
    )


def _read(given: T, before: T | None = None) -> T:
    """An object whose fields are what they should be; one without a `raw` has that of before."""
    try:
        thing = msgspec.convert(msgspec.to_builtins(given), type(given))
        problems = check_object(thing)
    except (msgspec.MsgspecError, InputError, TypeError, OverflowError) as error:
        text = foreign.tell(error).text
        raise AnswerError(f"it returned a {given.kind_name} with an invalid part: {text}") from None
    if problems:
        raise AnswerError(f"it returned an invalid object: {problems[0]}")
    own = "raw" in given.__dict__ or "source" in given.__dict__
    keep_raw(thing, given if own or before is None else before)
    return thing


def _check_amounts(thing: KubeObject, amounts: Iterable[int]) -> None:
    if any(not -_MOST_AMOUNT < amount < _MOST_AMOUNT for amount in amounts):
        raise AnswerError(f"it returned {thing.kind_name} {thing.key} with an invalid amount")
