"""Reading from memory and reading in full agree on every body."""

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mooring.errors import InputError
from mooring.extender.bodies import BodyReader, Question

NODE = '{"metadata":{"name":"x"}}'
#: What a reader that looks for marks in the text could stumble over.
TRAPS = [
    '},{"metadata":{"name":"x"',
    f',{NODE}',
    f'"Nodes":{{"metadata":{{}},"items":[{NODE}',
    f'"Nodes":{{"metadata":{{}},"items":[{NODE}]}},"NodeNames":null',
    ']},"NodeNames":',
    ']},"NodeNames":null}',
    '\\"},{\\"metadata\\":{\\"name\\":\\"x',
    '"', "\\", "\\\\", "\\u0022", "]", "}", ",", " ", "\n", "\u2028", "ü", "日本", "😀", "",
]  # fmt: skip
texts = st.one_of(st.sampled_from(TRAPS), st.text(max_size=4))
names = st.one_of(
    st.sampled_from(["a", "b", "c", "node-1", "node-10", "x", "ü", 'q"q', "b\\s", "a/b"]),
    st.text(min_size=1, max_size=3),
)
#: Objects that could sit in fieldsV1, or anywhere a node or pod has free-form JSON.
FREE_FORM: list[Any] = [
    None,
    0,
    {"items": [{"metadata": {"name": "x"}}, {"metadata": {"name": "y"}}]},
    {"Nodes": {"metadata": {}, "items": [{"metadata": {"name": "z"}}]}, "NodeNames": None},
    {'k"Nodes': {"metadata": {}, "items": [{"metadata": {"name": "z"}}]}, "NodeNames": []},
    {"Nodes": {"metadata": {}, "items": []}, "NodeNames": ["a"]},
    [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}],
    {"a": [[{}], {"metadata": {"name": "a"}}]},
    {trap: trap for trap in TRAPS},
    TRAPS,
]
free_form = st.sampled_from(FREE_FORM)


@st.composite
def node_objects(draw: st.DrawFn) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": draw(names)}
    shape = draw(st.integers(0, 63))
    if shape & 1:
        meta["labels"] = {draw(texts): "v", "l": draw(texts)}
    if shape & 2:
        meta["managedFields"] = [{"fieldsV1": draw(free_form)}]
    node: dict[str, Any] = {"metadata": meta}
    if shape & 4:
        node["spec"] = {"unschedulable": True, "extra": draw(free_form)}
    if shape > 60:
        node = dict(reversed(node.items()))
    elif shape > 56:
        node["metadata"] = dict(reversed(meta.items()))
    return node


@st.composite
def layouts(draw: st.DrawFn, nodes: list[Any]) -> bytes:
    """One body with these nodes; mostly laid out as Go does it."""
    pod: dict[str, Any] = {"metadata": {"name": "p"}, "x": draw(free_form)}
    inner: dict[str, Any] = {"metadata": {}, "items": nodes}
    ids = draw(st.sampled_from([None, None, [], ["a"], TRAPS]))
    fields: dict[str, Any] = {"Pod": pod, "Nodes": inner, "NodeNames": ids}
    if draw(st.integers(0, 3)):
        separators, indent = (",", ":"), None
    else:
        if draw(st.booleans()):
            fields["Nodes"] = dict(reversed(inner.items()))
        order = draw(st.permutations(sorted(fields)))
        fields = {key: fields[key] for key in order[draw(st.integers(0, 5)) == 0 :]}
        separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :")]))
        indent = draw(st.sampled_from([None, 1]))
    text = json.dumps(
        fields, separators=separators, indent=indent, ensure_ascii=draw(st.booleans())
    )
    return text.encode()


@st.composite
def conversations(draw: st.DrawFn) -> list[bytes]:
    """Bodies as they come one after the other: nodes stay, change, come and go."""
    pool = draw(st.lists(node_objects(), min_size=3, max_size=5))
    choices = st.lists(st.integers(0, len(pool) - 1), max_size=5)
    return [
        draw(layouts([pool[number] for number in draw(choices)]))
        for _ in range(draw(st.integers(1, 3)))
    ]


def outcome(question: Question) -> list[object]:
    spans = question.spans
    count = len(question.nodes)
    kept = [range(count), range(0, count, 2), [n for n in range(count) if n % 3], []]
    return [
        question.pod,
        question.pod.source,
        question.names,
        spans is None,
        [node.name for node in question.nodes],
        [node.labels for node in question.nodes],
        [node.source for node in question.nodes],
        [None if spans is None else b",".join(question.splice(list(some))) for some in kept],
    ]


def full(body: bytes) -> list[object] | None:
    try:
        return outcome(BodyReader()._read_all(body))
    except InputError:
        return None


def remembering(reader: BodyReader, body: bytes) -> list[object] | None:
    try:
        return outcome(reader.read(body))
    except InputError:
        return None


@settings(max_examples=400, deadline=None)
@given(conversations())
def test_memory_changes_nothing(bodies: list[bytes]) -> None:
    reader = BodyReader()
    for body in bodies:
        wanted = json.loads(body)
        got = remembering(reader, body)
        assert got == full(body)
        assert got == remembering(reader, body)
        if got is not None and wanted.get("Nodes") is not None:
            items = wanted["Nodes"]["items"]
            assert got[4] == [item["metadata"]["name"] for item in items]
            assert got[5] == [item["metadata"].get("labels") or {} for item in items]
            spliced = got[7]
            assert isinstance(spliced, list)
            assert json.loads(b"[%b]" % spliced[0]) == items


TINY = b'{"metadata":{"name":"a"}}'
PIECES = [
    b'{"metadata":{"name":"', b'"', b"}", b"{", b"[", b"]", b",", b" ", b"null", b"0", b"\\",
    b"\xff", b']},"NodeNames":', b'"Nodes":{"metadata":{},"items":[', b',"name":"b"',
    b'"metadata":{}',
    b',{"metadata":{"name":"a"}}',
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    conversations(),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), st.sampled_from(PIECES)), max_size=3),
)
@example([b'{"Pod":{},"Nodes":{"metadata":{},"items":[%b ]},"NodeNames":null}' % TINY], [])
@example(
    [b'{"Nodes":{"metadata":{},"items":[%b ,%b]},"NodeNames":null,"Pod":{}}' % (TINY, TINY)],
    [],
)
def test_memory_changes_nothing_about_broken_bodies_either(
    bodies: list[bytes], edits: list[tuple[float, int, bytes]]
) -> None:
    reader = BodyReader()
    for body in bodies:
        assert remembering(reader, body) == full(body)
        broken = body
        for where, drop, piece in edits:
            at = int(where * len(broken))
            broken = broken[:at] + piece + broken[at + drop :]
        assert remembering(reader, broken) == full(broken)
        assert remembering(reader, body) == full(body)
