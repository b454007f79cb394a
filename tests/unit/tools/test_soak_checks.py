"""What must hold after a phase, on clusters made by hand: every check finds what it is for."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tools.soak import checks
from tools.soak.audit import Audit, Write
from tools.soak.objects import Node, Pod
from tools.soak.publish import FOLDER, published
from tools.soak.quantities import Amounts, amounts
from tools.soak.script import TROUBLES, TROUBLES_OF_TWO, phases
from tools.soak.troubles import TROUBLES as FUNCTIONS


def pod(name: str, node: str = "", cpu: str = "1", **spec: Any) -> Pod:
    status = spec.pop("status", {})
    requests = {"cpu": cpu, "memory": "64Mi"}
    content = {
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"nodeName": node, "containers": [{"resources": {"requests": requests}}], **spec},
        "status": status,
    }
    return msgspec.convert(content, Pod)


def node(name: str, cpu: str = "2", pods: str = "10", **spec: Any) -> Node:
    labels = spec.pop("labels", {})
    room = {"cpu": cpu, "memory": "1Gi", "pods": pods}
    content = {
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": room},
    }
    return msgspec.convert(content, Node)


def binding(name: str, to: str, user: str = "a", status: int = 201) -> Write:
    path = "pods/binding"
    return Write(user, "create", path, name, status, 1, 1, 1, uid=f"uid-{name}", node=to)


def test_amounts_are_read() -> None:
    assert amounts({"cpu": "500m", "memory": "64Mi"}, pods=1) == (500, 2**26, 1)
    assert amounts({"cpu": "1.5", "memory": "2Gi", "pods": "110"}) == (1500, 2**31, 110)
    assert not Amounts(1, 1, 1).covers(Amounts(1, 2, 1))


def test_a_pod_waits_although_there_is_room() -> None:
    assert len(checks.waiting([pod("plain-1")], [node("n")])) == 1


@pytest.mark.parametrize(
    ("others", "where"),
    [
        ([pod("plain-2", "n", cpu="2")], node("n")),
        ([], node("n", cpu="500m")),
        ([], node("n", pods="0")),
        ([], node("n", unschedulable=True)),
        ([], node("n", taints=[{"key": "k", "effect": "NoSchedule"}])),
    ],
)
def test_a_pod_waits_because_there_is_no_room(others: list[Pod], where: Node) -> None:
    assert checks.waiting([pod("plain-1"), *others], [where]) == []


def test_a_pod_with_a_selector_waits_for_its_nodes_only() -> None:
    choosy = pod("filler-1", nodeSelector={"pool": "tight"})
    assert checks.waiting([choosy], [node("n")]) == []
    assert len(checks.waiting([choosy], [node("n", labels={"pool": "tight"})])) == 1


def test_an_important_pod_waits_although_others_could_make_room() -> None:
    low, high = pod("filler-1", "n", cpu="2"), pod("important-1", priority=1000)
    (sentence,) = checks.waiting([low, high], [node("n")])
    assert "room after preemption" in sentence
    assert (
        checks.waiting([pod("important-2", "n", cpu="2", priority=1000), high], [node("n")]) == []
    )


def test_finished_pods_take_no_room_and_some_pods_are_to_wait() -> None:
    done = pod("plain-2", "n", cpu="2", status={"phase": "Succeeded"})
    assert len(checks.waiting([done, pod("plain-1")], [node("n")])) == 1
    assert checks.waiting([pod("oversized-1"), pod("claim-1")], [node("n")]) == []
    assert checks.overfull([done, pod("plain-1", "n")], [node("n", cpu="1")]) == []


def test_a_node_is_overfull() -> None:
    pods = [pod("a", "n"), pod("b", "n"), pod("c", "n"), pod("d", "gone", cpu="99")]
    assert len(checks.overfull(pods, [node("n")])) == 1
    assert checks.overfull(pods[1:], [node("n")]) == []
    assert len(checks.overfull(pods[1:], [node("n", pods="1")])) == 1


def test_a_pod_is_bound_twice_or_elsewhere() -> None:
    here = pod("p", "n1")
    assert checks.bound_once([here], [binding("p", "n1"), binding("p", "n2", status=409)]) == []
    (twice,) = checks.bound_once([], [binding("p", "n1"), binding("p", "n1", user="b")])
    assert "bound 2 times" in twice
    (elsewhere,) = checks.bound_once([here], [binding("p", "n2")])
    assert "is on 'n1' and was bound to n2" in elsewhere


def test_a_bound_pod_is_still_nominated() -> None:
    assert checks.left_nominated([pod("p", "n", status={"nominatedNodeName": "m"})])
    assert not checks.left_nominated([pod("p", "n", status={"nominatedNodeName": "n"}), pod("q")])


def test_a_traceback_is_found(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text("all is well\n")
    bad.write_text('so far\nTraceback (most recent call last):\n  File "x"\nValueError: no\nmore\n')
    assert checks.tracebacks([good]) == []
    assert checks.tracebacks([good, bad]) == [f"{bad} has a traceback: ValueError: no"]


def test_the_same_seed_is_the_same_script_and_another_is_another() -> None:
    def some(seed: int, replicas: int) -> list[object]:
        return [one for one, _ in zip(phases(seed, replicas), range(40), strict=False)]

    assert some(1, 2) == some(1, 2)
    assert some(1, 2) != some(2, 2)
    assert {one.trouble for one in some(3, 1)[: len(TROUBLES)]} == set(TROUBLES)  # type: ignore[attr-defined]
    both = len(TROUBLES) + len(TROUBLES_OF_TWO)
    assert {one.trouble for one in some(3, 2)[:both]} == set(FUNCTIONS)  # type: ignore[attr-defined]


def test_writes_are_joined_with_the_time_at_which_they_were_sent(tmp_path: Path) -> None:
    log, journal = tmp_path / "audit", tmp_path / "journal"
    audit = Audit(log, journal)
    assert audit.writes() == []
    event = {
        "auditID": "one",
        "verb": "create",
        "user": {"username": "moor-a"},
        "objectRef": {"resource": "pods", "subresource": "binding", "name": "p"},
        "requestObject": {"metadata": {"uid": "u"}, "target": {"name": "n"}},
        "responseStatus": {"code": 201},
        "requestReceivedTimestamp": "1970-01-01T00:00:09.000000Z",
        "stageTimestamp": "1970-01-01T00:00:10.000000Z",
    }
    journal.write_bytes(b'{"time":5.0,"method":"POST","audit_id":"one"}\n{"time":')
    line = msgspec.json.encode(event)
    log.write_bytes(line[:50])
    assert audit.writes() == []
    log.write_bytes(line + b"\n" + line.replace(b'"one"', b'"two"') + b"\n")
    first, second = audit.writes()
    assert first == Write("moor-a", "create", "pods/binding", "p", 201, 5, 9, 10, "u", "n")
    assert second.sent == 9
    assert audit.writes() == [first, second]


def test_the_published_table_is_that_of_the_figures() -> None:
    page = (FOLDER / "soak.md").read_text()
    runs = msgspec.json.decode((FOLDER / "soak.json").read_bytes())["runs"]
    assert runs
    assert published(page, runs) == page
