"""The requests that are sent, byte for byte as kube-scheduler v1.36 writes them.

An `ExtenderQuestion` carries what its answer is compared with. Called by the modules with the
checks. No I/O.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from mooring.deploy.extender_test.findings import Mode, Verb
from mooring.deploy.extender_test.made_up_objects import (
    NODE_PREFIX,
    Object,
    made_up_node,
    node_name,
    ordinary_pod,
    uid,
)
from mooring.wording import counted

#: How many nodes a question has, if nothing else is said.
USUAL_NODES: Final = 12
_PATTERN: Final = 99_999


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderQuestion:
    """A request and what its answer is compared with.

    Attributes:
        verb: what is asked.
        mode: whether nodes are sent by name or whole.
        body: the request's body.
        sent: the request in a few words.
        nodes: the names of the nodes in question.
        victims: for preempt, the ids of the victims by node.
        whole: the whole nodes that were sent, encoded, by name.
    """

    verb: Verb
    mode: Mode
    body: bytes
    sent: str
    nodes: tuple[str, ...] = ()
    victims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    whole: Mapping[str, bytes] = field(default_factory=dict)


class AskedNodes:
    """The nodes that questions are about: made up, or given by the user.

    Args:
        given: whole nodes as JSON; none to make them up.
        resources: extended resources that made-up nodes offer.
        pods: pods on the given nodes as JSON, which can be victims.
    """

    def __init__(
        self,
        given: Sequence[Object] = (),
        resources: Sequence[str] = (),
        pods: Sequence[Object] = (),
    ) -> None:
        self._pods: dict[str, list[Object]] = {}
        for one in pods:
            self._pods.setdefault(one["spec"].get("nodeName", ""), []).append(_as_sent(one))
        self._given = {one["metadata"]["name"]: _encoded(_as_sent(one)) for one in given}
        self._names = list(self._given)
        self._resources = tuple(resources)
        #: Whether the extender may know them.
        self.real = bool(given)

    def most(self, wanted: int) -> int:
        """How many of so many nodes there are."""
        return min(wanted, len(self._names)) if self.real else wanted

    def some(self, count: int) -> dict[str, bytes]:
        """So many nodes, or all there are, encoded, by name."""
        if self.real:
            return {name: self._given[name] for name in self._names[:count]}
        return {node_name(one): _made_up(one, self._resources) for one in range(1, count + 1)}

    def victims(self, nodes: Iterable[str], most: int = 2) -> dict[str, list[Object]]:
        """Victims on nodes: pods that are there, or made-up ones if no pods were given."""
        if not self._pods:
            return {
                node: [_victim(node, one, self._resources) for one in range(most)] for node in nodes
            }
        return {node: self._pods[node][:most] for node in nodes if node in self._pods}

    def slice(self, start: int, count: int) -> dict[str, bytes]:
        """Other nodes than those of another start, as far as there are enough."""
        if not self.real:
            numbers = range(start + 1, start + count + 1)
            return {node_name(one): _made_up(one, self._resources) for one in numbers}
        ring = self._names * (1 + (start + count) // len(self._names))
        return {name: self._given[name] for name in ring[start : start + count]}


def about_nodes(
    verb: Verb, mode: Mode, pod: Object | bytes, nodes: Mapping[str, bytes], sent: str
) -> ExtenderQuestion:
    """A question of filter or prioritize."""
    encoded = pod if isinstance(pod, bytes) else _encoded(pod)
    if mode == "names":
        rest = b',"Nodes":null,"NodeNames":' + msgspec.json.encode(list(nodes))
    else:
        items = b"[" + b",".join(nodes.values()) + b"]" if nodes else b"null"
        rest = b',"Nodes":{"metadata":{},"items":' + items + b'},"NodeNames":null'
    return ExtenderQuestion(
        verb=verb,
        mode=mode,
        body=b'{"Pod":' + encoded + rest + b"}",
        sent=sent,
        nodes=tuple(nodes),
        whole=nodes if mode == "whole" else {},
    )


def about_victims(
    mode: Mode, pod: Object, victims: Mapping[str, Sequence[Object]], sent: str
) -> ExtenderQuestion:
    """A question of preempt, with the victims on each node."""
    ids: dict[str, tuple[str, ...]] = {}
    by_node: dict[str, Any] = {}
    for node, pods in victims.items():
        ids[node] = tuple(one["metadata"]["uid"] for one in pods)
        listed = list(pods) if mode == "whole" else [{"UID": one} for one in ids[node]]
        by_node[node] = {"Pods": listed, "NumPDBViolations": 1 if pods else 0}
    body = {
        "Pod": pod,
        "NodeNameToVictims": by_node if mode == "whole" else None,
        "NodeNameToMetaVictims": by_node if mode == "names" else None,
    }
    return ExtenderQuestion(
        verb="preempt", mode=mode, body=_encoded(body), sent=sent, nodes=tuple(ids), victims=ids
    )


def to_bind(name: str, namespace: str, pod_uid: str, node: str) -> bytes:
    """The body of a bind request."""
    return _encoded({"PodName": name, "PodNamespace": namespace, "PodUID": pod_uid, "Node": node})


def described(pod: str, count: int, mode: Mode, *, made_up: bool) -> str:
    """A question in a few words, such as ``an ordinary pod, 12 made-up nodes by name``."""
    kind = "whole " if mode == "whole" else ""
    nodes = counted(count, f"{kind}{'made-up ' if made_up else ''}node")
    return f"{pod}, {nodes}{' by name' if mode == 'names' else ''}"


def _victim(node: str, number: int, resources: Sequence[str]) -> Object:
    pod = ordinary_pod(f"victim-{number}-on-{node}", resources)
    pod["spec"] |= {"nodeName": node, "priority": -10}
    pod["status"] = {"phase": "Running", "qosClass": "Burstable"}
    return pod


def _as_sent(thing: Object) -> Object:
    """An object from a file as kube-scheduler sends it: without kind and version."""
    return {key: value for key, value in thing.items() if key not in ("kind", "apiVersion")}


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value)


@functools.lru_cache(maxsize=64)
def _pattern(kind: int, resources: tuple[str, ...]) -> bytes:
    """Nodes repeat; a number in the middle of the bytes is what differs."""
    node = made_up_node(kind, resources)
    return _encoded(node).replace(node_name(kind).encode(), node_name(_PATTERN).encode())


def _made_up(number: int, resources: tuple[str, ...]) -> bytes:
    kind = (number - 1) % 60 + 1  # so many differ in more than their name
    name = f"{NODE_PREFIX}{number:05d}".encode()
    found = _pattern(kind, resources).replace(node_name(_PATTERN).encode(), name)
    return found.replace(uid(node_name(kind)).encode(), uid(node_name(number)).encode())
