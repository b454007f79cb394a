"""Reading request bodies and writing replies; where the speed of whole nodes comes from.

With ``nodeCacheCapable: false`` kube-scheduler sends every node in full: 35 MB for 5,000 nodes,
nearly all of it the same bytes as in the request before. So nodes are kept by name together with
their bytes: where the body holds exactly the bytes of a known node, that node is there, and nothing
is parsed. Only nodes whose bytes changed are decoded, and a filter's reply is spliced from the
bytes received. A body that is not laid out as kube-scheduler lays it out is parsed in full.
"""

import re
import secrets
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple, TypeVar, overload

import msgspec

from mooring.errors import InputError, NotAvailable
from mooring.extender.wire import ExtenderArgs, LongExtenderArgs
from mooring.framework.nodes import Nodes
from mooring.model.meta import ObjectMeta
from mooring.model.node import Node, NodeSpec, NodeStatus, Usage
from mooring.model.pod import Pod
from mooring.model.resources import Resources
from mooring.state.devices.cluster_devices import ClusterDevices
from mooring.state.node_info import NodeWithDevices

T = TypeVar("T")

_LIST_START: Final = b'"Nodes":{"metadata":{},"items":['
_NODE_START: Final = re.compile(rb'\{"metadata":\{"name":"([^"\\]+)"')
_NEXT_NODE: Final = b',{"metadata":{"name":"'
_LIST_END: Final = b']},"NodeNames":'
#: Stands for the nodes while the rest is read; a number that no request has.
_PLACEHOLDER: Final = b"%d" % secrets.randbits(62)
_COMMA, _BRACE, _BRACKET = ord(","), ord("}"), ord("]")
_KEEP_BYTES: Final = 256 << 20
_KEEP_NAMES: Final = 100_000
#: A short text becomes a large object: bytes alone bound neither the memory nor the time they cost.
_MOST_NODES: Final = 100_000
_MOST_PARTS: Final = 10_000_000
#: The names of a shorter request cost little, however many they are.
_LONG_BYTES: Final = 1 << 20
#: The API server takes none that is larger.
_LARGEST_POD_BYTES: Final = 3 << 20
#: No node has a longer name, so nobody will ask for it again.
_LONGEST_NAME: Final = 253

#: What is in use on a node, by its name; None if nobody knows.
UsageOf = Callable[[str], Usage | None]

_args = msgspec.json.Decoder(ExtenderArgs)
_long_args = msgspec.json.Decoder(LongExtenderArgs)
_names = msgspec.json.Decoder(list[str] | None)


def _unknown_usage(_: str) -> None:
    return None


class _UnusualLayout(Exception):  # noqa: N818 - not an error: the body is parsed in full instead
    """The body is not laid out byte for byte as kube-scheduler does it."""


class Question(NamedTuple):
    """A filter or prioritize request, read.

    Attributes:
        pod: the pod to be placed.
        nodes: the nodes in question, in order.
        names: their names, if the request had names.
        body: the request's bytes.
        spans: where each whole node lies in the body; None if the request had names only.
        decoded: how many whole nodes had to be decoded; the others were recognised by their bytes.
    """

    pod: Pod
    nodes: Sequence[Node]
    names: list[str] | None
    body: bytes
    spans: list[tuple[int, int]] | None
    decoded: int = 0

    def splice(self, kept: Sequence[int]) -> list[memoryview]:
        """The whole nodes at these positions, as pieces of the bytes received.

        Each piece is an unbroken run of nodes with the commas between them; joined by commas they
        are the elements of a JSON list.
        """
        spans = self.spans or []
        view = memoryview(self.body)
        pieces = []
        for _, run in groupby(enumerate(kept), key=lambda pair: pair[1] - pair[0]):
            positions = list(map(itemgetter(1), run))
            pieces.append(view[spans[positions[0]][0] : spans[positions[-1]][1]])
        return pieces


class SentNode(NodeWithDevices, frozen=True, rename="camel", dict=True):
    """A node that came with a request; what is in use on it is known to the node cache."""

    usage_of: UsageOf = msgspec.field(default=_unknown_usage, name=".usage_of")

    @classmethod
    def of(cls, node: Node, usage_of: UsageOf, devices: ClusterDevices | None) -> "SentNode":
        """The same node, with who knows its usage and its devices."""
        sent = cls(
            node.metadata,
            spec=node.spec,
            status=node.status,
            usage_of=usage_of,
            cluster_devices=devices,
        )
        sent.__dict__.update(node.__dict__)
        return sent

    @property
    def usage(self) -> Usage:
        """What is in use."""
        found = self.usage_of(self.name)
        return super().usage if found is None else found


class NamedNode(Node, frozen=True, rename="camel", dict=True):
    """A node of which only the name is known; reading anything else is an error."""

    def _unknown(self) -> NotAvailable:
        return NotAvailable(
            "kube-scheduler sent only the node's name, and this server has no cluster to look it "
            "up in: start it with --kubeconfig FILE, or set nodeCacheCapable: false"
        )

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "name", self.metadata.name)

    @property  # type: ignore[misc]
    def labels(self) -> dict[str, str]:
        """Unknown."""
        raise self._unknown()

    @property
    def annotations(self) -> dict[str, str]:
        """Unknown."""
        raise self._unknown()

    @property
    def allocatable(self) -> Resources:
        """Unknown."""
        raise self._unknown()

    @property
    def capacity(self) -> Resources:
        """Unknown."""
        raise self._unknown()

    @property
    def images(self) -> tuple[str, ...]:
        """Unknown."""
        raise self._unknown()

    @property  # type: ignore[misc]
    def spec(self) -> NodeSpec:
        """Unknown."""
        raise self._unknown()

    @property  # type: ignore[misc]
    def status(self) -> NodeStatus:
        """Unknown."""
        raise self._unknown()


class NamedNodes(Nodes):
    """Nodes of which only the names are known; made when a function asks for more.

    Args:
        names: of the nodes, in order.
        make: makes the nodes.
    """

    __slots__ = ("_make", "_names")

    def __init__(self, names: Sequence[str], make: Callable[[Sequence[str]], list[Node]]) -> None:
        super().__init__(())
        self._names = names
        self._make = make
        self._nodes = None

    @property
    def names(self) -> list[str]:
        """The names of the nodes, in order."""
        return list(self._names)

    @property
    def _listed(self) -> Sequence[Node]:
        if self._nodes is None:
            self._nodes = self._make(self._names)
        return self._nodes

    @overload
    def __getitem__(self, index: int) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> Nodes: ...
    def __getitem__(self, index: int | slice) -> Node | Nodes:
        if self._nodes is None and not isinstance(index, slice):
            return self._make([self._names[index]])[0]
        return super().__getitem__(index)

    def __len__(self) -> int:
        return len(self._names)


class BodyReader:
    """Reads filter and prioritize requests, remembering nodes from one to the next.

    Belongs to one thread. Memory is bounded: about 256 MiB of node bytes are kept at most, beside
    those of the current request.

    Args:
        usage_of: what is in use on a node, by its name.
        devices: the devices of nodes; None if they are not known.
    """

    def __init__(
        self, usage_of: UsageOf = _unknown_usage, devices: ClusterDevices | None = None
    ) -> None:
        self._usage_of = usage_of
        self._devices = devices
        self._known: dict[bytes, Node] = {}
        self._known_bytes = 0
        self._named: dict[str, Node] = {}

    def read(self, body: bytes) -> Question:
        """Read a request.

        Raises:
            InputError: the body is not JSON, or something is missing or of the wrong type.
        """
        start = body.find(_LIST_START)
        if start >= 0:
            try:
                return self._read_known(body, start + len(_LIST_START))
            except _UnusualLayout:
                self._forget_some(())
        return self._read_all(body)

    def named(self, names: Sequence[str]) -> list[Node]:
        """Nodes of which only the names are known."""
        known = self._named
        try:
            return list(map(known.__getitem__, names))
        except KeyError:
            unknown = {
                name: NamedNode(metadata=ObjectMeta(name=name))
                for name in names
                if name not in known
            }
            found = [known.get(name) or unknown[name] for name in names]
            known |= {name: node for name, node in unknown.items() if len(name) <= _LONGEST_NAME}
            if len(known) > _KEEP_NAMES:
                known.clear()
            return found

    def _read_known(self, body: bytes, position: int) -> Question:
        start = position
        nodes: list[Node] = []
        spans: list[tuple[int, int]] = []
        known, match = self._known, _NODE_START.match
        decoded = 0
        while True:
            found = match(body, position)
            if found is None:
                raise _UnusualLayout
            if len(nodes) >= _MOST_NODES:
                self._forget_some(())
                raise _too_many_nodes()
            name = found[1]
            node = known.get(name)
            source = node.source if node is not None else None
            if node is not None and source is not None and body.startswith(source, position):
                end = position + len(source)
            else:
                node, end = self._learn(body, position, name)
                decoded += 1
            nodes.append(node)
            spans.append((position, end))
            after = body[end] if end < len(body) else 0
            if after == _COMMA:
                position = end + 1
            elif after == _BRACKET:
                break
            else:
                raise _UnusualLayout
        self._forget_some(nodes)
        # What is left once the nodes are cut out must be a request with just that place empty.
        args = _read_args(body[:start] + _PLACEHOLDER + body[end:])
        items = args.nodes.items if args.nodes is not None else None
        if items is None or len(items) != 1 or bytes(items[0]) != _PLACEHOLDER:
            raise _UnusualLayout
        return Question(read_pod(args.pod), nodes, args.node_names, body, spans, decoded)

    def _learn(self, body: bytes, position: int, name: bytes) -> tuple[Node, int]:
        """Decode the node that starts here; it ends where the next one or the list's end follows.

        The marks cannot be part of a text, where quotes are escaped. Should one stand inside the
        node, what lies before it is no complete JSON and the body is parsed in full.
        """
        end = body.find(_NEXT_NODE, position)
        if end < 0:
            end = body.rfind(_LIST_END, position)
        if end < 0 or body[end - 1] != _BRACE:
            raise _UnusualLayout
        try:
            node = self._read_node(body[position:end])
        except InputError as error:
            raise _UnusualLayout from error
        if node.name.encode() != name:  # the key was there twice
            raise _UnusualLayout
        self._keep(name, node)
        return node, end

    def _keep(self, name: bytes, node: Node) -> None:
        old = self._known.get(name)
        self._known_bytes += _size(node)
        if old is not None:
            self._known_bytes -= _size(old)
        self._known[name] = node

    def _forget_some(self, current: Sequence[Node]) -> None:
        if self._known_bytes > _KEEP_BYTES or len(self._known) > _MOST_NODES:
            self._known = {node.name.encode(): node for node in current}
            self._known_bytes = sum(map(_size, current))

    def _read_all(self, body: bytes) -> Question:
        args = _read_args(body)
        pod, names = read_pod(args.pod), args.node_names
        if args.nodes is None:
            if names is None:
                raise InputError("the request has neither Nodes nor NodeNames")
            return Question(pod, (), names, body, None)
        if len(args.nodes.items or ()) > _MOST_NODES:
            raise _too_many_nodes()
        nodes: list[Node] = []
        parts = []
        spans = []
        position = 0
        for item in args.nodes.items or ():
            source = bytes(item)
            node = self._read_node(source)
            if not node.name:
                raise InputError(f"node {len(nodes)} in the request has no name")
            nodes.append(node)
            parts.append(source)
            spans.append((position, position + len(source)))
            position += len(source) + 1
        return Question(pod, nodes, names, b",".join(parts), spans, len(nodes))

    def _read_node(self, data: bytes) -> Node:
        node = Node.from_json(data)
        try:
            # Texts that are not modelled were skipped, but they go into the reply.
            data.decode()
        except UnicodeDecodeError as error:
            raise InputError(f"node {node.name} cannot be read: {error}") from error
        return SentNode.of(node, self._usage_of, self._devices)


def _size(node: Node) -> int:
    return len(node.source or b"")


def _read_args(body: bytes) -> ExtenderArgs:
    if len(body) < _LONG_BYTES:
        args = _decode(_args, body)
    else:
        long = _decode(_long_args, body)
        if bytes(long.node_names).count(b",") >= _MOST_NODES:
            raise _too_many_nodes()
        args = ExtenderArgs(long.pod, long.nodes, _decode(_names, bytes(long.node_names)))
    if len(args.node_names or ()) > _MOST_NODES:
        raise _too_many_nodes()
    return args


def _too_many_nodes() -> InputError:
    return InputError(f"the request has more than {_MOST_NODES} nodes")


def _decode(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    if not body:
        raise InputError("the request has no body; send JSON as kube-scheduler does")
    if len(body) > _MOST_PARTS and body.count(b",") > _MOST_PARTS:
        raise InputError(f"the request has more than {_MOST_PARTS} parts")
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the request cannot be read: {error}") from error


def read(kind: type[T], body: bytes) -> T:
    """Read a request of another verb.

    Raises:
        InputError: the body is not JSON, or something is of the wrong type.
    """
    return _decode(msgspec.json.Decoder(kind), body)


def read_pod(raw: msgspec.Raw) -> Pod:
    """Read the pod of a request.

    Raises:
        InputError: there is none, it is too large, or a field has the wrong type.
    """
    data = bytes(raw)
    if data == b"null":
        raise InputError("the request has no Pod")
    if len(data) > _LARGEST_POD_BYTES:
        raise InputError(f"the request's pod has more than {_LARGEST_POD_BYTES >> 20} MiB")
    return Pod.from_json(data)
