"""Requests byte for byte as Go writes them, replies however extenders write them."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.extender import client_bodies as bodies
from mooring.extender.wire import (
    ExtenderArgs,
    ExtenderPreemptionArgs,
    HostPriority,
    MetaPod,
    MetaVictims,
)
from mooring.framework.binding import Binding
from mooring.framework.filtering import Candidate
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.testing import make_node, make_pod

REQUESTS = Path(__file__).parents[2] / "wire" / "requests"


def golden(name: str) -> bytes:
    return (REQUESTS / f"{name}.json").read_bytes().rstrip(b"\n")


def encoded(thing: object) -> bytes:
    return msgspec.json.encode(thing)


class TestRequests:
    @pytest.mark.parametrize("name", ["whole", "names"])
    def test_filter_and_prioritize(self, name: str) -> None:
        asked = msgspec.json.decode(golden(name), type=ExtenderArgs)
        pod = Pod.from_json(bytes(asked.pod))
        if asked.nodes is not None:
            nodes = [Node.from_json(bytes(raw)) for raw in asked.nodes.items or ()]
        else:
            nodes = [make_node(one) for one in asked.node_names or ()]
        assert len(nodes) >= 3
        assert bodies.question(pod, nodes, names_only=name == "names") == golden(name)

    @pytest.mark.parametrize("name", ["victims", "victim_ids"])
    def test_preempt(self, name: str) -> None:
        asked = msgspec.json.decode(golden(name), type=ExtenderPreemptionArgs)
        candidates = {}
        for node, victims in (asked.node_name_to_victims or {}).items():
            assert victims is not None
            pods = tuple(Pod.from_json(bytes(raw)) for raw in victims.pods or ())
            candidates[node] = Candidate(node, pods, victims.num_pdb_violations)
        for node, meta in (asked.node_name_to_meta_victims or {}).items():
            assert meta is not None
            pods = tuple(Pod.from_dict({"metadata": {"uid": one.uid}}) for one in meta.pods or ())
            candidates[node] = Candidate(node, pods, meta.num_pdb_violations)
        assert len(candidates) >= 2
        pod = Pod.from_json(bytes(asked.pod))
        body = bodies.preemption(pod, candidates, ids_only=name == "victim_ids")
        assert body == golden(name)

    def test_bind(self) -> None:
        uid = "c0ffee00-0000-4000-8000-000000000001"
        wanted = Binding(namespace="shop", name="web", uid=uid, node_name="worker-01")
        assert bodies.binding(wanted.annotate({"a": "b"})) == golden("binding")

    @pytest.mark.parametrize(
        "head",
        [
            b'"kind":"Node","apiVersion":"v1",',
            b'"apiVersion":"v1","kind":"Node",',
            b"",
        ],
    )
    def test_objects_of_a_watch_lose_their_kind(self, head: bytes) -> None:
        rest = b'"metadata":{"name":"a"},"status":{"nodeInfo":{"kind":"x"}}}'
        node = Node.from_json(b"{" + head + rest)
        body = bodies.question(make_pod("p"), [node], names_only=False)
        assert b'"Nodes":{"metadata":{},"items":[{' + rest + b"]}" in body

    def test_objects_made_by_hand(self) -> None:
        pod = Pod.from_dict({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web"}})
        body = bodies.question(pod, [], names_only=True)
        assert body == b'{"Pod":{"metadata":{"name":"web"}},"Nodes":null,"NodeNames":[]}'


class TestFilterReplies:
    @pytest.mark.parametrize(
        "reply",
        [
            {"NodeNames": ["a", "b"], "FailedNodes": {"c": "no"}, "Error": ""},
            {"nodenames": ["a", "b"], "failedNodes": {"c": "no"}, "error": None},
            {"NODENAMES": ["a", "b"], "FAILEDNODES": {"c": "no"}, "more": [1, {}]},
        ],
    )
    def test_the_case_of_keys_does_not_matter(self, reply: dict[str, Any]) -> None:
        found = bodies.read_filter(encoded(reply), names_only=True)
        assert found == bodies.FilterReply(["a", "b"], {"c": "no"}, {}, "")

    def test_whole_nodes(self) -> None:
        items = [make_node("a").raw, make_node("b").raw]
        reply = {"Nodes": {"metadata": {}, "items": items}, "NodeNames": ["x"]}
        assert bodies.read_filter(encoded(reply), names_only=False).kept == ["a", "b"]
        lower = {"nodes": {"Items": items}, "nodenames": None}
        assert bodies.read_filter(encoded(lower), names_only=True).kept == ["a", "b"]

    @pytest.mark.parametrize("reply", [b"null", b"{}", b'{"Nodes":null,"NodeNames":null}'])
    @pytest.mark.parametrize("names_only", [True, False])
    def test_nothing_means_that_nothing_is_left(self, reply: bytes, names_only: bool) -> None:
        found = bodies.read_filter(reply, names_only=names_only)
        assert found == bodies.FilterReply([], {}, {}, "")

    def test_names_are_not_looked_at_if_nodes_were_sent(self) -> None:
        assert bodies.read_filter(b'{"NodeNames":["a"]}', names_only=False).kept == []

    def test_reasons(self) -> None:
        reply = {
            "NodeNames": [],
            "FailedNodes": {"a": "full", "b": None},
            "FailedAndUnresolvableNodes": {"c": "dedicated"},
            "Error": "half of it",
        }
        found = bodies.read_filter(encoded(reply), names_only=True)
        assert found.failed == {"a": "full", "b": ""}
        assert found.unresolvable == {"c": "dedicated"}
        assert found.error == "half of it"

    @pytest.mark.parametrize(
        "reply",
        [
            b"",
            b"[]",
            b"{",
            b"<html>",
            b'{"NodeNames":"a"}',
            b'{"NodeNames":[1]}',
            b'{"FailedNodes":["a"]}',
            b'{"Error":5}',
            b'{"NodeNames":["\xff"]}',
            b"[" * 100_000,
        ],
    )
    def test_what_cannot_be_read(self, reply: bytes) -> None:
        with pytest.raises(bodies.UNREADABLE):
            bodies.read_filter(reply, names_only=True)


class TestScores:
    @pytest.mark.parametrize(
        "reply",
        [
            b'[{"Host":"a","Score":3},{"Host":"b","Score":-1}]',
            b'[{"host":"a","score":3},{"HOST":"b","sCORE":-1,"more":{}}]',
        ],
    )
    def test_the_case_of_keys_does_not_matter(self, reply: bytes) -> None:
        assert bodies.read_scores(reply) == [HostPriority("a", 3), HostPriority("b", -1)]

    @pytest.mark.parametrize("reply", [b"null", b"[]"])
    def test_none(self, reply: bytes) -> None:
        assert bodies.read_scores(reply) == []

    def test_what_is_absent_is_zero(self) -> None:
        expected = [HostPriority("a", 0), HostPriority("", 0), HostPriority("", 7)]
        assert bodies.read_scores(b'[{"Host":"a"},null,{"Score":7}]') == expected

    @pytest.mark.parametrize(
        "reply",
        [
            b'[{"Host":"a","Score":3.5}]',
            b'[{"Host":"a","Score":3.0}]',
            b'[{"Host":"a","Score":"3"}]',
            b'[{"Host":"a","Score":9223372036854775808}]',
            b'{"Host":"a"}',
            b'{"error":"the disk is gone"}',
        ],
    )
    def test_what_go_would_reject(self, reply: bytes) -> None:
        with pytest.raises(bodies.UNREADABLE):
            bodies.read_scores(reply)


class TestVictims:
    def test_ids(self) -> None:
        reply = b"""{"nodeNameToMetaVictims":{
            "A":{"pods":[{"uid":"u1"},{"UID":"u2"}],"numPDBViolations":2},
            "a":{"Pods":null}, "b":null, "c":{"Pods":[null]}}}"""
        assert bodies.read_victims(reply) == {
            "A": MetaVictims([MetaPod("u1"), MetaPod("u2")], 2),
            "a": MetaVictims([], 0),
            "b": MetaVictims([], 0),
            "c": MetaVictims([MetaPod("")], 0),
        }

    @pytest.mark.parametrize("reply", [b"null", b"{}", b'{"NodeNameToVictims":{"a":{}}}'])
    def test_none(self, reply: bytes) -> None:
        assert bodies.read_victims(reply) == {}

    @pytest.mark.parametrize(
        "reply", [b'{"NodeNameToMetaVictims":[]}', b'{"NodeNameToMetaVictims":{"a":[]}}']
    )
    def test_what_cannot_be_read(self, reply: bytes) -> None:
        with pytest.raises(bodies.UNREADABLE):
            bodies.read_victims(reply)


def test_bind_errors() -> None:
    assert bodies.read_bind_error(b'{"Error":""}') == ""
    assert bodies.read_bind_error(b"{}") == ""
    assert bodies.read_bind_error(b'{"error":"pod is gone"}') == "pod is gone"
