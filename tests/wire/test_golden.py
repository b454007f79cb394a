"""Every verb, byte for byte.

The requests were written by Go with the types of k8s.io/kube-scheduler v0.36.4; the replies were
read by Go with the same types, unknown fields forbidden.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

import mooring as mr
from mooring.state.cluster import Cluster
from tests.unit.extender.asgi import Caller, Reply, extender

HERE = Path(__file__).parent


def request(name: str) -> bytes:
    return (HERE / "requests" / f"{name}.json").read_bytes().rstrip(b"\n")


def expected(name: str) -> bytes:
    return (HERE / "replies" / f"{name}.json").read_bytes().rstrip(b"\n")


def make_policy() -> mr.Policy:
    policy = mr.Policy("golden")

    @policy.filter
    def zone(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
        ok = node.labels.get("topology.kubernetes.io/zone") == "a"
        return mr.accept_if(ok, 'not in "a" <zone> & ümlaut')

    @policy.filter(unresolvable=True)
    def dedicated(pod: mr.Pod, node: mr.Node) -> str | None:
        return "node is dedicated" if node.taints else None

    @policy.score
    def images(pod: mr.Pod, node: mr.Node) -> float:
        return 100 if set(pod.images) & set(node.images) else 0

    @policy.score(weight=2, max_score=16_000)
    def cores(pod: mr.Pod, node: mr.Node) -> float:
        return node.allocatable["cpu"]

    @policy.preempt
    def spare(pod: mr.Pod, node: mr.Node, victims: Sequence[mr.Pod]) -> list[mr.Pod]:
        return [victim for victim in victims if victim.name != "low-1"]

    return policy


class _Cached(msgspec.Struct):
    nodes: list[msgspec.Raw]
    pods: list[msgspec.Raw]


def make_cluster() -> Cluster:
    cached = msgspec.json.decode(request("cluster"), type=_Cached)
    cluster = Cluster()
    for raw in cached.nodes:
        cluster.put_node(mr.Node.from_json(bytes(raw)))
    for raw in cached.pods:
        cluster.put_pod(mr.Pod.from_json(bytes(raw)))
    return cluster


@pytest.fixture
def stateless() -> Iterator[Caller]:
    with extender(make_policy()) as caller:
        yield caller


@pytest.fixture
def caching() -> Iterator[Caller]:
    with extender(make_policy(), cluster=make_cluster()) as caller:
        yield caller


def check(reply: Reply, name: str, status: int = 200) -> None:
    assert reply.body == expected(name)
    assert reply.status == status
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["content-length"] == str(len(reply.body))


@pytest.mark.parametrize("name", ["whole", "both", "no_items", "no_names", "bare_pod"])
def test_filter(stateless: Caller, name: str) -> None:
    for _ in range(2):  # the second time from memory
        check(stateless.post("/filter", request(name)), f"filter_{name}")


@pytest.mark.parametrize("name", ["nulls", "only_pod"])
def test_filter_of_an_incomplete_request(stateless: Caller, name: str) -> None:
    check(stateless.post("/filter", request(name)), f"filter_{name}")


def test_filter_by_names(caching: Caller) -> None:
    check(caching.post("/filter", request("names")), "filter_names")


def test_filter_of_whole_nodes_beside_a_node_cache(caching: Caller) -> None:
    check(caching.post("/filter", request("whole")), "filter_whole")


@pytest.mark.parametrize("name", ["whole", "both", "no_items", "no_names"])
def test_prioritize(stateless: Caller, name: str) -> None:
    for _ in range(2):
        check(stateless.post("/prioritize", request(name)), f"prioritize_{name}")


def test_prioritize_by_names(caching: Caller) -> None:
    check(caching.post("/prioritize", request("names")), "prioritize_names")


@pytest.mark.parametrize("name", ["nulls", "only_pod"])
def test_prioritize_of_an_incomplete_request(stateless: Caller, name: str) -> None:
    check(stateless.post("/prioritize", request(name)), f"prioritize_{name}", 400)


@pytest.mark.parametrize("path", ["/preempt", "/preemption"])
def test_preempt_by_pods(stateless: Caller, caching: Caller, path: str) -> None:
    check(stateless.post(path, request("victims")), "preempt_victims")
    check(caching.post(path, request("victims")), "preempt_victims")


def test_preempt_by_ids(caching: Caller) -> None:
    check(caching.post("/preempt", request("victim_ids")), "preempt_victim_ids")


def test_preempt_by_ids_without_a_say_returns_what_came() -> None:
    with extender(mr.Policy("silent")) as caller:
        check(caller.post("/preempt", request("victim_ids")), "preempt_unasked")


def test_preempt_of_an_incomplete_request(stateless: Caller) -> None:
    check(stateless.post("/preempt", request("no_victims")), "preempt_no_victims", 400)


def test_bind(stateless: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    bound = []

    class FakeClient:
        async def bind(self, *args: object) -> None:
            bound.append(args)

    monkeypatch.setattr(stateless.service._bindings, "client", FakeClient())
    check(stateless.post("/bind", request("binding")), "bind_binding")
    uid = "c0ffee00-0000-4000-8000-000000000001"
    assert bound == [("shop", "web", uid, "worker-01", {})]


@pytest.mark.parametrize("name", ["binding", "empty_binding"])
def test_bind_that_cannot_be(stateless: Caller, name: str) -> None:
    check(stateless.post("/bind", request(name)), f"bind_rejected_{name}")


def test_the_kept_nodes_are_the_bytes_received(stateless: Caller) -> None:
    sent = msgspec.json.decode(request("whole"), type=dict[str, msgspec.Raw])
    reply = stateless.post("/filter", request("whole")).body
    got = msgspec.json.decode(reply, type=dict[str, msgspec.Raw])
    assert list(got) == [
        "Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error",
    ]  # fmt: skip
    before = [bytes(raw) for raw in _items(sent["Nodes"])]
    after = [bytes(raw) for raw in _items(got["Nodes"])]
    assert after == [before[0], before[3]]


def _items(nodes: msgspec.Raw) -> list[msgspec.Raw]:
    class NodeList(msgspec.Struct):
        items: list[msgspec.Raw]

    return msgspec.json.decode(nodes, type=NodeList).items
