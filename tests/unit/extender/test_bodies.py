import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from mooring.errors import InputError, NotAvailable
from mooring.extender import bodies
from mooring.extender.bodies import BodyReader, NamedNodes, read, read_pod
from mooring.extender.wire import ExtenderBindingArgs, ExtenderPreemptionArgs
from mooring.model.node import Node
from mooring.testing import make_node, make_pod
from tests.unit.extender.asgi import args, compact

POD = make_pod("web")


def nodes(*names: str, **fields: Any) -> list[Node]:
    return [make_node(name, **fields) for name in names]


def test_nodes_are_decoded_once_and_recognised_afterwards() -> None:
    reader = BodyReader()
    first = reader.read(args(POD, nodes("a", "b", "c")))
    again = reader.read(args(make_pod("other"), nodes("c", "a")))
    assert first.decoded == 3
    assert again.decoded == 0
    assert again.nodes == [first.nodes[2], first.nodes[0]]
    assert again.nodes[0] is first.nodes[2]
    assert again.pod.name == "other"


def test_a_changed_node_is_decoded_again() -> None:
    reader = BodyReader()
    reader.read(args(POD, nodes("a", "b")))
    changed = [*nodes("a"), *nodes("b", cpu="2")]
    question = reader.read(args(POD, changed))
    assert question.decoded == 1
    assert question.nodes[1].allocatable["cpu"] == 2000
    assert reader.read(args(POD, changed)).decoded == 0


def test_a_node_that_starts_with_the_bytes_of_another_is_not_taken_for_it() -> None:
    reader = BodyReader()
    short = b'{"metadata":{"name":"a"}}'
    long = b'{"metadata":{"name":"a"},"spec":{"unschedulable":true}}'
    body = b'{"Pod":{},"Nodes":{"metadata":{},"items":[%b]},"NodeNames":null}'
    assert not reader.read(body % short).nodes[0].unschedulable
    assert reader.read(body % long).nodes[0].unschedulable
    assert not reader.read(body % short).nodes[0].unschedulable


def test_runs_of_kept_nodes_are_spliced_from_the_body() -> None:
    body = args(POD, nodes("a", "b", "c", "d"))
    question = BodyReader().read(body)
    pieces = question.splice([0, 1, 3])
    assert len(pieces) == 2
    assert all(bytes(piece) in body for piece in pieces)
    assert [one["metadata"]["name"] for one in json.loads(b"[%b]" % b",".join(pieces))] == [
        "a", "b", "d",
    ]  # fmt: skip
    assert question.splice([]) == []


def test_names_alone_need_no_nodes() -> None:
    question = BodyReader().read(args(POD, names=["a", "b"]))
    assert question.names == ["a", "b"]
    assert question.spans is None
    assert question.splice([]) == []


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "the request has no body"),
        (b"{", "the request cannot be read"),
        (b"[]", "the request cannot be read: Expected `object`, got `array`"),
        (b"null", "the request cannot be read"),
        (b'{"Pod":null,"NodeNames":["a"]}', "the request has no Pod"),
        (b'{"NodeNames":["a"]}', "the request has no Pod"),
        (b'{"Pod":7,"NodeNames":["a"]}', "Pod cannot be read"),
        (b'{"Pod":{},"Nodes":null,"NodeNames":null}', "neither Nodes nor NodeNames"),
        (b'{"Pod":{},"NodeNames":[7]}', "the request cannot be read"),
        (b'{"Pod":{},"Nodes":{"items":[{"metadata":{}}]}}', "node 0 in the request has no name"),
        (b'{"Pod":{},"Nodes":{"items":[null]}}', "Node cannot be read"),
        (b'{"Pod":{},"Nodes":{"items":{}}}', "the request cannot be read"),
        (b'{"Pod":{"spec":{"priority":NaN}},"NodeNames":[]}', "the request cannot be read"),
        (b'{"Pod":{"spec":{"priority":1e999}},"NodeNames":[]}', "Pod cannot be read"),
        (b'{"Pod":{"spec":{"priority":%b}},"NodeNames":[]}' % (b"9" * 9999), "Pod cannot be read"),
        (b'{"Pod":{"metadata":{"name":"\xff"}},"NodeNames":[]}', "Pod cannot be read"),
        (b'{"Pod":{},"NodeNames":["\\ud800"]}', "the request cannot be read"),
        (
            b'{"Pod":{},"Nodes":{"metadata":{},"items":[%b]},"NodeNames":null}'
            % b'{"metadata":{"name":"a"},"x":"\xff"}',
            "node a cannot be read: 'utf-8' codec can't decode byte 0xff",
        ),
    ],
)
def test_what_cannot_be_read_is_one_sentence(body: bytes, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        BodyReader().read(body)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("depth", [*range(990, 1010), 9_000, 100_000])
def test_deep_nesting_is_read_or_rejected(depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    node = b'{"metadata":{"name":"a"},"deep":%b}' % deep
    for body in (
        b'{"Pod":{},"Nodes":{"metadata":{},"items":[%b]},"NodeNames":null}' % node,
        b'{"Pod":{"deep":%b},"Nodes":null,"NodeNames":["a"]}' % deep,
        b'{"Pod":{"deep":%b},"Nodes":{"metadata":{},"items":[%b]},"NodeNames":null}' % (deep, node),
        deep,
    ):
        try:
            BodyReader().read(body)
        except InputError as error:
            rejection = str(error)
        else:
            rejection = "" if depth < 10_000 else "was read"
        assert rejection == "" or "cannot be read" in rejection


def test_a_number_in_the_place_of_the_nodes_is_no_hiding_place() -> None:
    # A list of nodes inside the pod, laid out as the real one; the real one holds just a number.
    ghost = b'{"metadata":{"name":"ghost"}}'
    inner = b'{"Nodes":{"metadata":{},"items":[%b]},"NodeNames":null}' % ghost
    body = b'{"Pod":{"x":%b},"Nodes":{"metadata":{},"items":[%b]},"NodeNames":null}'
    reader = BodyReader()
    assert reader.read(body % (b"0", ghost)).nodes[0].name == "ghost"
    for number in (b"0", b"1"):
        with pytest.raises(InputError):
            reader.read(body % (inner, number))
    assert reader.read(body % (inner, ghost)).nodes[0].name == "ghost"


def test_a_node_whose_name_is_given_twice_has_the_last_one() -> None:
    reader = BodyReader()
    twice = b'{"metadata":{"name":"a","name":"b"}}'
    lost = b'{"metadata":{"name":"a"},"metadata":{}}'
    body = b'{"Pod":{},"Nodes":{"metadata":{},"items":[%b]},"NodeNames":null}'
    assert reader.read(body % twice).nodes[0].name == "b"
    with pytest.raises(InputError, match="has no name"):
        reader.read(body % lost)


class TestMemory:
    def known(self, reader: BodyReader) -> int:
        kept = sum(len(node.source or b"") for node in reader._known.values())
        assert reader._known_bytes == kept
        return kept

    def test_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bodies, "_KEEP_BYTES", 10_000)
        reader = BodyReader()
        for number in range(200):
            body = args(POD, nodes(f"n{number}", f"m{number}"))
            assert reader.read(body).decoded == 2
            assert self.known(reader) <= 10_000 + len(body)
            assert reader.read(body).decoded == 0

    def test_keeps_the_nodes_of_the_request_at_hand(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bodies, "_KEEP_BYTES", 100)
        reader = BodyReader()
        body = args(POD, nodes("a", "b", "c"))
        reader.read(body)
        assert self.known(reader) > 100
        assert reader.read(body).decoded == 0
        reader.read(args(POD, nodes("d")))
        assert list(reader._known) == [b"d"]
        assert reader.read(body).decoded == 3

    def test_a_replaced_node_counts_once(self) -> None:
        reader = BodyReader()
        for cores in range(1, 50):
            reader.read(args(POD, nodes("a", cpu=str(cores))))
        assert len(reader._known) == 1
        self.known(reader)

    def test_is_bounded_for_bodies_laid_out_otherwise(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bodies, "_KEEP_BYTES", 2_000)
        reader = BodyReader()
        for number in range(50):
            # No NodeNames behind the nodes: all but the last are learnt before that is noticed.
            items = [node.raw for node in nodes(f"a{number}", f"b{number}", f"c{number}")]
            body = compact({"Pod": POD.raw, "Nodes": {"metadata": {}, "items": items}})
            assert len(reader.read(body).nodes) == 3
            assert self.known(reader) <= 2_000

    def test_is_bounded_for_nodes_of_few_bytes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A node that is read has a thousand bytes, however short its text is."""
        monkeypatch.setattr(bodies, "_MOST_NODES", 3)
        reader = BodyReader()
        for number in range(20):
            body = args(POD, nodes(f"n{number}", f"m{number}"))
            reader.read(body)
            assert self.known(reader)
            assert len(reader._known) <= 3
            assert reader.read(body).decoded == 0

    def test_is_bounded_for_bodies_with_too_many_nodes(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bodies, "_MOST_NODES", 3)
        reader = BodyReader()
        for number in range(20):
            with pytest.raises(InputError):
                reader.read(args(POD, nodes(*(f"{letter}{number}" for letter in "abcd"))))
            assert len(reader._known) <= 3

    def test_of_names_is_bounded_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bodies, "_KEEP_NAMES", 10)
        reader = BodyReader()
        for number in range(100):
            names = [f"a{number}", f"b{number}"]
            assert [node.name for node in reader.named(names)] == names
            assert reader.named(names)[0] is reader.named(names)[0]
            assert len(reader._named) <= 10 + len(names)


def usual(count: int) -> bytes:
    return args(POD, nodes(*map(str, range(count))))


def unusual(count: int) -> bytes:
    return json.dumps(json.loads(usual(count))).encode()


def names_only(count: int) -> bytes:
    return compact({"Pod": POD.raw, "Nodes": None, "NodeNames": list(map(str, range(count)))})


@pytest.mark.parametrize("long_bytes", [0, bodies._LONG_BYTES], ids=["long", "short"])
@pytest.mark.parametrize("body", [usual, unusual, names_only])
def test_more_nodes_than_any_cluster_has_are_rejected(
    body: Callable[[int], bytes], long_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each costs a thousand bytes and some time, of which a large body could make very many."""
    monkeypatch.setattr(bodies, "_MOST_NODES", 3)
    monkeypatch.setattr(bodies, "_LONG_BYTES", long_bytes)
    reader = BodyReader()
    question = reader.read(body(3))
    assert len(question.nodes or question.names or ()) == 3
    with pytest.raises(InputError, match="the request has more than 3 nodes"):
        reader.read(body(4))


def test_a_body_of_very_many_parts_is_rejected_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bodies, "_MOST_PARTS", 100)
    parts = b",".join([b"1"] * 102)
    with pytest.raises(InputError, match="the request has more than 100 parts"):
        BodyReader().read(b'{"Nodes":{"items":[' + parts + b"]}}")
    with pytest.raises(InputError, match="the request has more than 100 parts"):
        read(ExtenderPreemptionArgs, b"[" + parts + b"]")


def test_a_pod_larger_than_the_api_server_takes_is_rejected() -> None:
    text = b"x" * (3 << 20)
    with pytest.raises(InputError, match="the request's pod has more than 3 MiB"):
        read_pod(msgspec.Raw(b'{"metadata":{"name":"' + text + b'"}}'))


def test_names_that_no_node_can_have_are_not_remembered() -> None:
    reader = BodyReader()
    long, short = "n" * 254, "n" * 253
    first = reader.named([long, short, long])
    again = reader.named([long, short])
    assert [one.name for one in first] == [long, short, long]
    assert again[0] is not first[0]
    assert again[1] is first[1]


@pytest.mark.parametrize(
    "field", ["labels", "annotations", "allocatable", "capacity", "images", "taints", "spec",
              "status", "unschedulable", "ready"],
)  # fmt: skip
def test_a_node_known_by_name_says_what_to_do(field: str) -> None:
    (node,) = BodyReader().named(["a"])
    assert node.name == "a"
    with pytest.raises(NotAvailable, match=r"only the node's name.*nodeCacheCapable: false"):
        getattr(node, field)


def test_other_verbs_are_read_with_their_types() -> None:
    binding = read(ExtenderBindingArgs, b'{"PodName":"p","PodUID":"u","Extra":1}')
    assert (binding.pod_name, binding.pod_uid, binding.node) == ("p", "u", "")
    with pytest.raises(InputError):
        read(ExtenderPreemptionArgs, b'{"NodeNameToVictims":[]}')
    with pytest.raises(InputError, match="no Pod"):
        read_pod(read(ExtenderPreemptionArgs, b"{}").pod)


class TestNodesByName:
    def test_names_alone_make_no_node(self) -> None:
        nodes = NamedNodes(["a", "b"], lambda names: pytest.fail(f"made {names}"))
        assert (nodes.names, len(nodes)) == (["a", "b"], 2)

    def test_one_node_is_made_alone(self) -> None:
        made: list[list[str]] = []
        reader = BodyReader()

        def make(names: Sequence[str]) -> list[Node]:
            made.append(list(names))
            return reader.named(names)

        nodes = NamedNodes(["a", "b", "c"], make)
        assert nodes[1].name == "b"
        assert [node.name for node in nodes[1:]] == ["b", "c"]
        assert nodes[0] is reader.named(["a"])[0]
        assert [node.name for node in nodes] == ["a", "b", "c"]
        assert made == [["b"], ["a", "b", "c"]]
