"""Chance is chance, and with a seed it repeats itself."""

import logging
from pathlib import Path

import pytest

from mooring.testing import FakeKubeScheduler, make_node, make_pod

HERE = Path(__file__).parent
POD = make_pod("web")


def scheduler(
    monkeypatch: pytest.MonkeyPatch, seed: str, *, node_cache: bool = True
) -> FakeKubeScheduler:
    monkeypatch.setenv("SEED", seed)
    nodes = [make_node(f"node-{number}") for number in range(1000)]
    return FakeKubeScheduler(HERE / "policy.py", nodes, node_cache=node_cache)


@pytest.mark.parametrize("node_cache", [True, False])
def test_about_half_of_the_nodes_are_kept(
    monkeypatch: pytest.MonkeyPatch, node_cache: bool
) -> None:
    fake = scheduler(monkeypatch, "1", node_cache=node_cache)
    reply = fake.filter(POD)
    assert 450 < len(reply.kept) < 550
    assert {*reply.kept, *reply.failed} == {*fake.nodes}
    assert {*reply.failed.values()} == {"Well, you're not lucky"}
    assert reply.unresolvable == {}


@pytest.mark.parametrize("node_cache", [True, False])
def test_scores_are_all_whole_numbers_from_0_to_10(
    monkeypatch: pytest.MonkeyPatch, node_cache: bool
) -> None:
    scores = scheduler(monkeypatch, "1", node_cache=node_cache).prioritize(POD)
    assert {*scores.values()} == {*range(11)}
    assert len(scores) == 1000


def test_a_seed_repeats_the_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    first, again, other = (scheduler(monkeypatch, seed).filter(POD).kept for seed in "112")
    assert first == again
    assert first != other


def test_every_decision_is_a_log_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "lucky")
    answers = scheduler(monkeypatch, "4", node_cache=False).answers
    request = (HERE / "request.json").read_bytes()
    answers.filter(request)
    lines = "\n".join(record.getMessage() for record in caplog.records)
    assert f"```text\n{lines}\n```" in (HERE / "README.md").read_text()

    caplog.clear()
    answers.prioritize(request)
    assert [record.getMessage() for record in caplog.records] == [
        "pod default/web is lucky to get score 9 on node node-a",
        "pod default/web is lucky to get score 10 on node node-b",
        "pod default/web is lucky to get score 6 on node node-c",
    ]
