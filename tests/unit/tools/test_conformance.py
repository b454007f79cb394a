"""``make conformance`` without Kubernetes: a program in place of the specs, and its results."""

import json
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tools.conformance.__main__ import main
from tools.conformance.results import ResultReader, SpecResult, summary

#: Writes what the specs would, after a look at the cluster that it was given.
PROGRAM = """#!{python}
import json, sys, urllib.request
from pathlib import Path

import yaml

options = dict(one.lstrip("-").partition("=")[::2] for one in sys.argv[1:])
config = yaml.safe_load(Path(options["kubeconfig"]).read_text())
server = config["clusters"][0]["cluster"]["server"]
nodes = json.load(urllib.request.urlopen(server + "/api/v1/nodes"))["items"]
seen = {{"nodes": len(nodes), "server": server, **options}}
Path("{folder}/seen.json").write_text(json.dumps(seen))
with open(options["results"], "w") as file:
    for one in {results!r}:
        file.write(json.dumps(one) + "\\n")
sys.exit({code})
"""

PASSED = {
    "name": "[sig-scheduling] LimitRange should apply defaults [Conformance]",
    "state": "passed", "seconds": 2.6, "message": "",
}  # fmt: skip
LEFT_OUT = {"name": "[sig-apps] Job", "state": "skipped", "seconds": 0, "message": ""}
SKIPPED = {"name": "[sig-scheduling] Zones", "state": "skipped", "message": "one zone only"}
FAILED = {
    "name": "[sig-scheduling] SchedulerPreemption [Serial] validates preemption",
    "state": "timedout", "seconds": 61, "message": "Waited for\n  pod a",
}  # fmt: skip


def conformance(folder: Path, *results: Mapping[str, object], code: int = 0) -> int:
    program = folder / "specs"
    program.write_text(
        PROGRAM.format(
            python=sys.executable, folder=folder, results=[*map(dict, results)], code=code
        )
    )
    program.chmod(0o755)
    return main(["--nodes", "2", "--folder", str(folder), "--program", str(program)])


def ended(server: str) -> bool:
    """Whether nobody listens there any more."""
    host, _, port = server.removeprefix("http://").partition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) != 0


def test_specs_that_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance(tmp_path, PASSED, LEFT_OUT, SKIPPED) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "passed      3s  LimitRange should apply defaults" in lines
    assert lines[-1] == "conformance: 1 passed, 0 failed, 1 skipped"
    assert not any("Job" in line for line in lines)
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert (seen["nodes"], seen["provider"]) == (2, "skeleton")
    assert seen["e2e-verify-service-account"] == "true"
    assert ended(seen["server"])


def test_a_spec_that_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance(tmp_path, PASSED, FAILED, code=1) == 1
    out = capsys.readouterr().out
    assert "conformance: 1 passed, 1 failed" in out
    table = out.partition("RESULT")[2]
    assert "SchedulerPreemption validates preemption" in table
    assert "Waited for pod a" in table
    assert str(tmp_path) in out.splitlines()[-1]


def test_specs_that_do_not_run_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance(tmp_path) == 1
    assert "0 passed, 0 failed" in capsys.readouterr().out


def test_specs_that_are_not_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--program", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.endswith("none is missing; `make conformance` builds it.\n")
    assert list(tmp_path.iterdir()) == []


def test_results_are_read_once_and_only_whole_lines(tmp_path: Path) -> None:
    file = tmp_path / "results"
    reader = ResultReader(file)
    assert reader.new() == []
    first, second = json.dumps(PASSED) + "\n", json.dumps(FAILED) + "\n"
    file.write_text(first + second[:20])
    assert [one.outcome for one in reader.new()] == ["passed"]
    assert reader.new() == []
    file.write_text(first + second)
    assert [one.outcome for one in reader.new()] == ["failed"]


def test_a_long_message_is_cut() -> None:
    result = SpecResult("a", "panicked", 1.0, "word " * 100)
    assert len(result.reason) == 200
    assert summary([result]) == "0 passed, 1 failed"
