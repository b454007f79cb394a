"""`moor explain` and `moor run` say the same about every case, and a difference would be found.

Some hundred cases here; `make agreement CASES=10000` compares as many as you like.
"""

import itertools
import os
from collections.abc import Iterator

import pytest

from mooring.framework.fit_error import NO_NODES
from tools.agreement import __main__ as command_line
from tools.agreement.cases import Case, make_case
from tools.agreement.differences import differences
from tools.agreement.plants import PLANTS
from tools.agreement.sides import Said, explained, ran

CASES = int(os.environ.get("AGREEMENT_CASES", "400"))
#: So many cases are looked at for a planted difference at most.
PLANTED_CASES = 200


@pytest.fixture(autouse=True)
def no_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Plugins fail on purpose."""
    with caplog.at_level("CRITICAL"):
        yield


@pytest.mark.parametrize("part", range(4))
def test_both_say_the_same(part: int) -> None:
    found = [
        str(one)
        for seed in range(part * CASES // 4, (part + 1) * CASES // 4)
        for one in differences(make_case(seed))
    ]
    assert found[:3] == []


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_difference_is_found(plant: str) -> None:
    cases = (make_case(seed) for seed in range(PLANTED_CASES))
    assert any(differences(case, PLANTS[plant](case)) for case in cases)


def test_the_cases_are_of_every_kind() -> None:
    kinds = {kind for seed in range(300) for kind in kinds_of(make_case(seed))}
    assert kinds == {
        "bound", "scored", "nominated", "gated", "pending", "no nodes", "preempts", "reviewed",
        "extended", "failed", "policy", "devices", "extended resources", "cleaned up",
        "no devices",
    }  # fmt: skip


def kinds_of(case: Case) -> Iterator[str]:
    """What happens in a case."""
    done, said = ran(case), explained(case)
    yield from (kind for kind, yes in facts(case, said).items() if yes)
    if done.node:
        yield "bound"
    if done.victims is not None:
        yield "preempts"
    if done.reason == "SchedulerError":
        yield "failed"
    if done.devices:
        yield "extended resources" if "<extended-resources>" in done.devices else "devices"
    if done.cleans_up:
        yield "cleaned up"


def facts(case: Case, said: Said) -> dict[str, bool]:
    found = said.preempting
    none_left = "preemption: no candidate node for preemption"
    return {
        "scored": said.totals is not None,
        "nominated": said.nominated,
        "gated": said.gated,
        "pending": bool(said.message),
        "no nodes": said.message == NO_NODES,
        "reviewed": found is not None and none_left in found.reasons,
        "extended": case.extended,
        "policy": case.policy is not None,
        "no devices": "cannot allocate all claims" in said.message,
    }


def test_a_cluster_without_nodes_is_unschedulable_for_both() -> None:
    case = next(
        case for case in map(make_case, itertools.count()) if ran(case).said.message == NO_NODES
    )
    assert explained(case).message == NO_NODES
    assert (ran(case).reason, ran(case).note) == ("Unschedulable", NO_NODES)


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["--cases", "3"]) == 0
    assert capsys.readouterr().out.startswith("agreement: 3 of 3 cases agree")
