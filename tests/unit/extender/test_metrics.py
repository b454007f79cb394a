# ruff: noqa: ARG005 - a policy's function takes what it is given
from pathlib import Path

import pytest

import mooring as mr
from mooring.extender.metrics import ExtenderMetrics
from mooring.framework.rules import FilterRule
from mooring.testing import make_node, make_pod
from tests.unit.extender.asgi import args, compact, extender, sample

POD = make_pod("web")
NAMES = args(POD, names=["a", "b"])
VICTIMS = compact({"Pod": POD.raw, "NodeNameToVictims": {"a": {"Pods": [make_pod("low").raw]}}})
BINDING = compact({"PodName": "web", "PodNamespace": "default", "PodUID": "u", "Node": "a"})
VERBS = [
    ("filter", "/filter", NAMES),
    ("filter", "/predicates/picky", NAMES),
    ("prioritize", "/prioritize", NAMES),
    ("prioritize", "/priorities/rating", NAMES),
    ("preempt", "/preempt", VICTIMS),
    ("preempt", "/preemption", VICTIMS),
    ("bind", "/bind", BINDING),
]


def make_policy() -> mr.Policy:
    policy = mr.Policy("mine")
    policy.filter(name="picky")(lambda pod, node: node.name == "a" or "wrong zone")
    policy.score(name="rating")(lambda pod, node: 1)
    policy.preempt(name="sparing")(lambda pod, node, victims: None)
    policy.bind(name="marking")(lambda binding: "not here")
    return policy


@pytest.mark.parametrize(("verb", "path", "body"), VERBS)
def test_requests_are_counted_timed_and_measured(verb: str, path: str, body: bytes) -> None:
    with extender(make_policy()) as caller:
        sent = [caller.post(path, body) for _ in range(3)]
        got = sum(len(reply.body) for reply in sent)
        text = caller.get("/metrics").body
        assert sample(text, "mooring_extender_requests_total", verb=verb, code="200") == 3
        assert sample(text, "mooring_extender_requests_total") == 3
        assert sample(text, "mooring_extender_request_duration_seconds_count", verb=verb) == 3
        assert sample(text, "mooring_extender_request_duration_seconds_sum", verb=verb) > 0
        assert sample(text, "mooring_extender_request_bytes_total", verb=verb) == 3 * len(body)
        assert sample(text, "mooring_extender_reply_bytes_total", verb=verb) == got
        assert sample(text, "mooring_extender_errors_total") == 0
        hook, function = {
            "filter": ("filter", "picky"),
            "prioritize": ("score", "rating"),
            "preempt": ("preempt", "sparing"),
            "bind": ("bind", "marking"),
        }[verb]
        count = "mooring_policy_function_duration_seconds_count"
        assert sample(text, count, hook=hook, function=function) == 3
        assert sample(text, count) == 3
        assert sample(text, "mooring_policy_function_duration_seconds_sum") > 0


def test_rejections_are_counted_by_function_and_reason() -> None:
    policy = make_policy()
    policy.filter(name="strict", reason="no")(lambda pod, node: False)
    with extender(policy) as caller:
        for _ in range(2):
            caller.post("/filter", args(POD, names=["a", "b", "c"]))
        rejections = "mooring_policy_rejections_total"
        assert caller.metric(rejections, function="picky", reason="wrong zone") == 4
        assert caller.metric(rejections, function="strict", reason="no") == 6
        assert caller.metric(rejections) == 10


def test_whole_nodes_are_counted_by_how_they_were_read() -> None:
    with extender(make_policy()) as caller:
        caller.post("/filter", args(POD, [make_node("a"), make_node("b")]))
        caller.post("/filter", args(POD, [make_node("a"), make_node("b", cpu="1")]))
        assert caller.metric("mooring_extender_whole_nodes_total", how="decoded") == 3
        assert caller.metric("mooring_extender_whole_nodes_total", how="recognised") == 1


def rule(name: str) -> FilterRule:
    return FilterRule(kind="filter", name=name, function=print)


def test_reasons_are_capped_for_each_function() -> None:
    metrics = ExtenderMetrics()
    for number in range(500):
        metrics.rejected(rule("chatty"), f"number {number}", 1)
    metrics.rejected(rule("chatty"), "number 3", 7)
    metrics.rejected(rule("calm"), "number 499", 1)
    text = metrics.text()
    lines = [line for line in text.decode().splitlines() if 'function="chatty"' in line]
    assert len(lines) == 51
    rejections = "mooring_policy_rejections_total"
    assert sample(text, rejections, function="chatty") == 507
    assert sample(text, rejections, function="chatty", reason="other") == 450
    assert sample(text, rejections, function="chatty", reason="number 3") == 8
    assert sample(text, rejections, function="calm", reason="number 499") == 1


@pytest.mark.parametrize("reason", ["x" * 100_000, "two\nlines", 'a "quote" \\', "日本", "\udcff"])
def test_odd_reasons_keep_the_metrics_readable(reason: str) -> None:
    metrics = ExtenderMetrics()
    metrics.rejected(rule("odd"), reason, 1)
    assert sample(metrics.text(), "mooring_policy_rejections_total", function="odd") == 1
    assert len(metrics.text()) < 20_000


def test_an_odd_reason_is_not_the_end_of_the_server() -> None:
    policy = mr.Policy("odd")
    policy.filter(name="odd")(lambda pod, node: "\udcff")
    with extender(policy) as caller:
        assert set(caller.post("/filter", NAMES).json()["FailedNodes"].values()) == {"?"}
        assert caller.get("/metrics").status == 200


def test_workers_are_added_up_from_their_shared_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    assert ExtenderMetrics().text() == b""  # no worker has written anything
