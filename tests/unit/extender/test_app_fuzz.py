"""Whatever is sent, every endpoint answers in its own form and goes on answering."""

import copy
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mooring as mr
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.extender.asgi import Caller, Reply, args, compact, extender

MAX_BODY = 20_000
PATHS = [
    "/filter", "/prioritize", "/preempt", "/preemption", "/bind", "/predicates/picky",
    "/priorities/rating", "/predicates/nope", "/metrics", "/nothing",
]  # fmt: skip
VALID: list[Any] = [
    json.loads(file.read_bytes())
    for file in sorted((Path(__file__).parents[2] / "wire" / "requests").glob("*.json"))
    if file.stem != "cluster"
]
ODD: list[Any] = [
    None, True, 0, -1, 1.5, 1e308, 2**63, 2**64, -(2**70), "", "x", "\0", "9" * 5000, "1e9999",
    "1e-9999", "500m", "NaN", "a" * 300, "\u2028😀", [], {}, [None], [[]], [{}], {"": None},
    {"name": None}, {"metadata": {"name": ""}}, [{"UID": None}], json.loads("[" * 300 + "]" * 300),
]  # fmt: skip
HUGE = [b"", b"[" * 5000, b'{"Pod":' * 5000, b" " * (MAX_BODY + 1), b"\xef\xbb\xbf{}"]
# By number, so that a failure's report stays readable.
odd = st.integers(0, len(ODD) - 1).map(lambda number: copy.deepcopy(ODD[number]))
huge = st.integers(0, len(HUGE) - 1).map(lambda number: HUGE[number])
valid = st.integers(0, len(VALID) - 1).map(lambda number: copy.deepcopy(VALID[number]))
leaves = st.one_of(odd, st.text(max_size=5), st.integers(), st.floats())
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value, as container and key."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from places(inner)


@st.composite
def changed(draw: st.DrawFn) -> bytes:
    """A valid request of some verb with a few things in it replaced, removed or added."""
    body = draw(valid)
    for _ in range(draw(st.integers(0, 3))):
        found = list(places(body))
        container, key = found[draw(st.integers(0, len(found) - 1))]
        if draw(st.integers(0, 3)) == 0:
            del container[key]
        else:
            container[key] = draw(odd)
        if not body:
            break
    return compact(body)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """The bytes of a valid request, damaged."""
    body = draw(changed())
    at = draw(st.integers(0, len(body)))
    return body[:at] + draw(st.binary(max_size=3)) + body[at + draw(st.integers(0, 3)) :]


bodies = st.one_of(changed(), damaged(), values.map(compact), st.binary(max_size=50), huge)


def make_policy() -> mr.Policy:
    policy = mr.Policy("fuzz")

    @policy.filter
    def picky(pod: mr.Pod, node: mr.Node) -> str | bool:
        if node.unschedulable or node.taints:
            return f"not for {pod.key}"
        return all(node.free[name] >= amount for name, amount in pod.requests.items())

    @policy.score
    def rating(pod: mr.Pod, node: mr.Node) -> float:
        return min(100, len(set(pod.images) & set(node.images)) + len(node.labels))

    @policy.preempt
    def sparing(pod: mr.Pod, node: mr.Node, victims: Sequence[mr.Pod]) -> list[mr.Pod]:
        return [victim for victim in victims if victim.priority < pod.priority or node.ready]

    @policy.bind
    def marking(binding: mr.Binding) -> mr.Binding:
        return binding.annotate({"on": binding.node_name})

    return policy


@pytest.fixture(scope="module", params=["stateless", "caching"])
def caller(request: pytest.FixtureRequest) -> Iterator[Caller]:
    cluster = None
    if request.param == "caching":
        cluster = Cluster()
        cluster.put_node(make_node("worker-01"))
        cluster.put_pod(make_pod("web", namespace="shop"))
    with extender(make_policy(), cluster=cluster, max_body=MAX_BODY) as made:
        yield made


def check(path: str, reply: Reply) -> None:
    assert reply.headers["content-type"] == "application/json"
    found = reply.json()
    if reply.status != 200:
        wanted = {"/metrics": {405}, "/nothing": {404}, "/predicates/nope": {404}}
        assert reply.status in wanted.get(path, {400, 413})
        assert list(found) == ["error"]
        assert found["error"]
        assert "Traceback" not in found["error"]
        assert path not in ("/filter", "/predicates/picky", "/bind") or reply.status == 413
    elif path in ("/filter", "/predicates/picky"):
        assert list(found) == [
            "Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error",
        ]  # fmt: skip
        assert isinstance(found["Error"], str)
        if found["Error"]:
            assert not any(list(found.values())[:4])
    elif path in ("/prioritize", "/priorities/rating"):
        assert all(list(one) == ["Host", "Score"] for one in found)
        assert all(isinstance(one["Score"], int) and 0 <= one["Score"] <= 10 for one in found)
    elif path in ("/preempt", "/preemption"):
        assert list(found) == ["NodeNameToMetaVictims"]
        for victims in found["NodeNameToMetaVictims"].values():
            assert victims["Pods"]
            assert all(isinstance(pod["UID"], str) for pod in victims["Pods"])
    else:
        assert path == "/bind"
        assert list(found) == ["Error"]
        assert found["Error"]  # there is no cluster to bind in


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(PATHS), bodies)
def test_every_answer_has_its_form(caller: Caller, path: str, body: bytes) -> None:
    check(path, caller.post(path, body))


def test_afterwards_all_is_well(caller: Caller) -> None:
    """On the same server as the fuzzing above."""
    caller.post("/filter", b"{")
    reply = caller.post("/priorities/rating", args(make_pod("web"), [make_node("a")]))
    assert reply.json() == [{"Host": "a", "Score": 0}]
    assert caller.get("/livez").status == 200
    # Bad input and faults of the policy are told apart from faults of our own.
    assert caller.metric("mooring_extender_errors_total", kind="internal") == 0
    assert caller.metric("mooring_extender_errors_total", kind="input") > 0
