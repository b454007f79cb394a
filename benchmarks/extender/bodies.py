"""Request bodies, byte for byte what kube-scheduler sends; made once, changed between requests.

The Go extender's ``-marshal`` mode writes the bytes with the same types and the same encoder as
kube-scheduler. Between two requests `Body.advance` makes what a living cluster makes: another pod,
a few nodes with a new resource version and heartbeat, and another order of nodes. All replacements
have the length of what they replace, so the bytes stay those of Go. Called by `wire`.
"""

import random
import subprocess
from pathlib import Path

import msgspec

from benchmarks.command import BenchError
from benchmarks.extender import nodes, pods

#: Nodes with a new heartbeat in each request. At 5,000 nodes and a status update from each kubelet
#: every five minutes, five are what a cluster shows at three pods a second.
CHANGED_NODES = 5
_MIXED = 64
_VERSION = b'"resourceVersion":"'
_HEARTBEAT = b'"lastHeartbeatTime":"'


class _NodeList(msgspec.Struct):
    items: list[msgspec.Raw]


class _Args(msgspec.Struct, rename="pascal"):
    pod: msgspec.Raw
    nodes: _NodeList | None
    node_names: list[msgspec.Raw] | None


def marshal(go_extender: Path, arguments: nodes.Object) -> bytes:
    """ExtenderArgs as Go writes them."""
    done = subprocess.run(
        [str(go_extender), "-marshal"],
        input=msgspec.json.encode(arguments),
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise BenchError(f"the Go extender cannot write a body: {done.stderr.decode().strip()}")
    return done.stdout


class Body:
    """The body of the next request.

    Args:
        wire: a whole body as Go wrote it.
        seed: decides which nodes change and in which order they come.
    """

    def __init__(self, wire: bytes, seed: int = nodes.SEED) -> None:
        arguments = msgspec.json.decode(wire, type=_Args)
        self._whole = arguments.nodes is not None
        raw = arguments.nodes.items if arguments.nodes is not None else arguments.node_names
        if not raw:
            raise BenchError("a body needs at least one node.")
        self._items = [bytearray(item) for item in raw]
        start = wire.index(self._items[0])
        middle = b",".join(self._items)
        self._head = bytearray(wire[:start])
        self._tail = wire[start + len(middle) :]
        if b"".join((self._head, middle, self._tail)) != wire:
            raise BenchError("a body could not be taken apart and put together again.")
        self.size = len(wire)
        self._random = random.Random(seed)
        self._number = 0
        self._version = nodes.FIRST_VERSION * 2

    def advance(self) -> bytes:
        """Change the body as time changes a cluster; the next request."""
        self._number += 1
        self._change_pod()
        if self._whole:
            for node in self._random.sample(self._items, CHANGED_NODES):
                self._change_node(node)
        return b"".join((self._head, b",".join(self._ordered()), self._tail))

    def _change_pod(self) -> None:
        pod = pods.pod(self._number % 1_000_000)["metadata"]
        for key in ("name", "uid"):
            _overwrite(self._head, 0, f'"{key}":"'.encode(), str(pod[key]).encode())

    def _change_node(self, node: bytearray) -> None:
        self._version += 1
        minutes, seconds = divmod(self._number % 3600, 60)
        heartbeat = f"{nodes.HEARTBEAT[:14]}{minutes:02d}:{seconds:02d}Z".encode()
        _overwrite(node, 0, _VERSION, str(self._version).encode())
        at = 0
        while (at := node.find(_HEARTBEAT, at)) >= 0:
            at = _overwrite(node, at, _HEARTBEAT, heartbeat)

    def _ordered(self) -> list[bytearray]:
        """Another start and neighbours mixed, as kube-scheduler's filter workers deliver nodes."""
        count = len(self._items)
        first = self._random.randrange(count)
        places = {
            number: (number + first) % count + self._random.random() * _MIXED
            for number in range(count)
        }
        return [self._items[number] for number in sorted(places, key=places.__getitem__)]


def _overwrite(buffer: bytearray, start: int, key: bytes, value: bytes) -> int:
    """Put a value of the same length behind the next key; where the value ends."""
    at = buffer.index(key, start) + len(key)
    buffer[at : at + len(value)] = value
    return at + len(value)


def whole_nodes(go_extender: Path, count: int) -> Body:
    """A body with `count` whole nodes."""
    items = nodes.nodes(count)
    arguments = {"Pod": pods.pod(0), "Nodes": {"items": items}, "NodeNames": None}
    return Body(marshal(go_extender, arguments))


def names_only(go_extender: Path, count: int) -> Body:
    """A body with `count` names of nodes."""
    names = [nodes.node_name(number) for number in range(count)]
    return Body(marshal(go_extender, {"Pod": pods.pod(0), "Nodes": None, "NodeNames": names}))
