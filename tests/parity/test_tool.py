"""The parity tool itself: it notices what differs, and counts."""

import copy
import gzip
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tools import parity

Run = Callable[..., tuple[int, list[str]]]


@pytest.fixture(scope="module")
def case() -> dict[str, Any]:
    """One case in which nodes are scored and a pod is preempted for."""
    for one in parity.read_cases(parity.VECTORS / "preemption.ndjson.gz"):
        pods = one["expect"]["pods"]
        if any("score" in pod for pod in pods) and any("postFilter" in pod for pod in pods):
            return dict(one)
    raise AssertionError("no such case")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str | Path) -> tuple[int, list[str]]:
        monkeypatch.setattr(sys, "argv", ["parity", *map(str, arguments)])
        code = parity.main()
        return code, capsys.readouterr().out.splitlines()

    return call


def different(case: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> list[parity.Check]:
    changed = copy.deepcopy(case)
    change(changed["expect"])
    return [check for check in parity.compare(changed) if not check.agrees]


def scored(expect: dict[str, Any]) -> dict[str, Any]:
    return next(pod for pod in expect["pods"] if "score" in pod)


def preempted(expect: dict[str, Any]) -> dict[str, Any]:
    found = next(pod for pod in expect["pods"] if "postFilter" in pod)
    preemption: dict[str, Any] = found["postFilter"]
    return preemption


def test_a_case_agrees(case: dict[str, Any]) -> None:
    assert [check for check in parity.compare(case) if not check.agrees] == []


class TestWhatDiffers:
    def check(
        self, case: dict[str, Any], change: Callable[[dict[str, Any]], None], *place: str
    ) -> None:
        found = [one for one in different(case, change) if one.place.plugin != parity.RUN]
        assert [check.place[: len(place)] for check in found] == [place]

    def test_a_raw_score(self, case: dict[str, Any]) -> None:
        def change(expect: dict[str, Any]) -> None:
            raw = scored(expect)["score"]["TaintToleration"]["raw"]
            raw[min(raw)] += 1

        self.check(case, change, "TaintToleration", "raw")

    def test_a_weight(self, case: dict[str, Any]) -> None:
        def change(expect: dict[str, Any]) -> None:
            scored(expect)["score"]["ImageLocality"]["weight"] = 5

        self.check(case, change, "ImageLocality", "weight")

    def test_a_node_that_fits(self, case: dict[str, Any]) -> None:
        self.check(
            case, lambda expect: scored(expect)["feasible"].append("zz"), "(decision)", "feasible"
        )

    def test_a_reason(self, case: dict[str, Any]) -> None:
        def change(expect: dict[str, Any]) -> None:
            answers = scored(expect)["filter"]["NodeUnschedulable"]
            answers[min(answers)] = {"code": "Success", "reasons": ["why not"]}

        self.check(case, change, "NodeUnschedulable", "filter")

    def test_a_plugin_that_is_not_expected(self, case: dict[str, Any]) -> None:
        def change(expect: dict[str, Any]) -> None:
            del scored(expect)["preFilter"]["NodePorts"]

        self.check(case, change, "NodePorts", "preFilter")

    def test_the_order_of_plugins(self, case: dict[str, Any]) -> None:
        def change(expect: dict[str, Any]) -> None:
            next(iter(expect["profiles"].values()))["filter"].reverse()

        self.check(case, change, "(profiles)")

    def test_preemption(self, case: dict[str, Any]) -> None:
        def change(expect: dict[str, Any]) -> None:
            preempted(expect)["eligible"] = not preempted(expect)["eligible"]

        self.check(case, change, "DefaultPreemption", "eligible")

    def test_a_pod_for_which_kube_scheduler_took_too_long_is_left_out(
        self, case: dict[str, Any]
    ) -> None:
        def change(expect: dict[str, Any]) -> None:
            pod = scored(expect)
            pod["priority"] = -1
            pod["error"] = (
                'running "DynamicResources" filter plugin: node a: timed out trying to allocate '
                "devices"
            )

        assert different(case, change) == []

    def ran(self, case: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> list[str]:
        return [one.place.what for one in different(case, change) if one.place.plugin == parity.RUN]

    def test_the_nodes_that_run_may_choose(self, case: dict[str, Any]) -> None:
        def change(expect: dict[str, Any]) -> None:
            scored(expect)["selected"].append("zz")

        found = self.ran(case, change)
        assert found == ["selected, first", "selected, again", "selected, after others"]

    def test_whom_run_preempts(self, case: dict[str, Any]) -> None:
        def change(expect: dict[str, Any]) -> None:
            preempted(expect)["candidates"]["zz"] = {"victims": [], "pdbViolations": 0}

        assert "postFilter, first" in self.ran(case, change)

    def test_the_devices_that_run_reserves(self) -> None:
        def allocating(expect: dict[str, Any]) -> list[dict[str, Any]]:
            return [
                allocation
                for pod in expect["pods"]
                for node in pod.get("selected") or ()
                for allocation in (pod.get("allocations") or {}).get(node, {}).values()
                if allocation["devices"].get("results")
            ]

        cases = parity.read_cases(parity.VECTORS / "dra.ndjson.gz")
        one = dict(next(case for case in cases if allocating(case["expect"])))

        def change(expect: dict[str, Any]) -> None:
            for allocation in allocating(expect):
                allocation["devices"]["results"][0]["device"] = "another"

        assert "allocations, first" in self.ran(one, change)

    def test_a_case_that_cannot_be_read(self, case: dict[str, Any]) -> None:
        wrong = copy.deepcopy(case)
        wrong["case"]["objects"]["nodes"].append(wrong["case"]["objects"]["nodes"][0])
        [check] = parity.compare(wrong)
        assert "occurs more than once" in str(check)


class TestCommand:
    def test_the_last_line_counts_all_checks(
        self, run: Run, case: dict[str, Any], tmp_path: Path
    ) -> None:
        file = tmp_path / "some.ndjson.gz"
        file.write_bytes(gzip.compress(msgspec.json.encode(case)))
        code, lines = run(file)
        count = sum(1 for _ in parity.compare(case))
        assert code == 0
        assert lines[0] == f"some: {count} of {count} checks agree"
        assert lines[-1] == f"parity: {count} of {count} checks agree"

    def test_a_difference_is_shown_and_ends_with_1(
        self, run: Run, case: dict[str, Any], tmp_path: Path
    ) -> None:
        wrong = copy.deepcopy(case)
        scored(wrong["expect"])["priority"] = -1
        file = tmp_path / "some.ndjson"
        file.write_bytes(msgspec.json.encode(wrong))
        code, lines = run(file, "--show", "5")
        pod = scored(wrong["expect"])["pod"]
        assert code == 1
        assert lines[0] == f"{case['case']['id']} {pod} (decision) priority"
        assert lines[1] == "    expected -1"
        code, lines = run(file, "--plugin", "NodePorts")
        assert code == 0
        assert lines[1].split()[0] == "NodePorts"

    def test_an_oracle_answers_cases_without_answers(
        self, run: Run, case: dict[str, Any], tmp_path: Path
    ) -> None:
        answers = tmp_path / "answers"
        answers.write_bytes(msgspec.json.encode(case["expect"]) + b"\n")
        oracle = tmp_path / "oracle"
        oracle.write_text(f"#!/bin/sh\ncat > /dev/null\ncat {answers}\n")
        oracle.chmod(0o755)
        file = tmp_path / "some.ndjson"
        file.write_bytes(msgspec.json.encode(case["case"]))
        assert run(file, "--oracle", oracle)[0] == 0
        with pytest.raises(SystemExit, match="give --oracle PROGRAM"):
            run(file)
