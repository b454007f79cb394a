"""``moor plugins``: what it lists, for people, pipes and programs."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mooring.plugins.in_tree import DEFAULT_PLUGINS
from tests.unit.cli import command_line as in_process

Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, command_line: in_process.Run) -> Run:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str) -> str:
        code, out, err = command_line("plugins", *arguments)
        assert (code, err) == (0, "")
        return out

    return call


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package is installed that offers a good and a broken plugin."""
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\n")
    offers = "[mooring.plugins]\nAcme = acme_good:Acme\nAcmeOld = acme_gone:Acme\n"
    (info / "entry_points.txt").write_text(offers)
    (tmp_path / "acme_good.py").write_text(
        "import mooring\n"
        "class Acme(mooring.hook.Filter):\n"
        "    '''Keeps pods on our own nodes.'''\n"
        "    def filter(self, pod, node):\n"
        "        return True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)


def as_json(run: Run) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(run("-o", "json"))}


def test_json(run: Run) -> None:
    found = as_json(run)
    assert found["InterPodAffinity"] == {
        "name": "InterPodAffinity",
        "default": True,
        "weight": 2,
        "points": ["preFilter", "filter", "preScore", "score"],
        "arguments": {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": False},
        "summary": found["InterPodAffinity"]["summary"],
        "origin": "mooring",
    }
    assert found["NodeName"]["weight"] is None
    assert found["NodeName"]["arguments"] == {}
    assert found["VolumeBinding"]["weight"] == 1
    assert found["GangScheduling"]["default"] is False
    default = [name for name, one in found.items() if one["default"]]
    assert default == [plugin.name for plugin in DEFAULT_PLUGINS]


def test_a_pipe_gets_one_line_for_each_plugin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    heading, *lines = run().splitlines()
    assert heading.split() == ["PLUGIN", "DEFAULT", "POINTS", "ARGUMENTS", "WHAT", "IT", "DOES"]
    assert [line.split()[0] for line in lines] == list(as_json(run))
    rows = {line.split()[0]: re.split(r"  +", line) for line in lines}
    assert rows["InterPodAffinity"][1:4] == [
        "weight 2",
        "preFilter,filter,preScore,score",
        "hardPodAffinityWeight=1 ignorePreferredTermsOfExistingPods=false",
    ]
    assert rows["NodeName"][1:4] == ["yes", "filter", "-"]
    assert rows["SchedulerTimestamp"][1] == "-"
    assert not any(line.endswith(" ") for line in lines)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_terminal_gets_a_paragraph_for_each_plugin(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    text = re.sub(r"\x1b\[[0-9;]*m", "", run())
    assert max(map(len, text.splitlines())) <= columns
    for name in as_json(run):
        assert re.search(rf"^{name}\b", text, re.MULTILINE), name
    paragraphs = {one.split()[0]: one.split("\n") for one in text.strip().split("\n\n")}
    head, *about = (line.rstrip() for line in paragraphs["InterPodAffinity"])
    assert head == "InterPodAffinity  default, weight 2"
    assert "    Extension points: preFilter, filter, preScore, score" in about
    assert any("hardPodAffinityWeight=1" in line for line in about)
    assert paragraphs["NodeName"][0].rstrip() == "NodeName  default"
    assert paragraphs["SchedulerTimestamp"][0].rstrip() == "SchedulerTimestamp"


@pytest.mark.usefixtures("acme")
def test_installed_packages(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found = as_json(run)
    assert found["Acme"]["origin"] == "package acme"
    assert found["Acme"]["points"] == ["filter"]
    problem = (
        "plugin 'AcmeOld' of package acme (acme_gone:Acme) cannot be loaded: "
        "ModuleNotFoundError: No module named 'acme_gone'"
    )
    assert found["AcmeOld"] == {"name": "AcmeOld", "problem": problem}
    *_, good, broken = run().splitlines()
    assert good.split()[0] == "Acme"
    assert good.endswith("Keeps pods on our own nodes. (package acme)")
    assert broken.split()[0] == "AcmeOld"
    assert broken.endswith(problem)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "acme_gone" in run()
