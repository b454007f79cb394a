"""``moor extender-test``: what is printed, exit codes, and what the guide shows."""

import contextlib
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from mooring.cli.deploy.extender_test_view import print_report
from mooring.deploy.extender_test.checks import CHECKS, Severity
from mooring.deploy.extender_test.findings import VERBS, ExtenderReport, Finding
from mooring.testing.child_process import free_port
from mooring.testing.moor_serve import MoorServe
from tests.unit.cli.command_line import Run, rejected
from tests.unit.deploy.extender_test.faults import FAULTS
from tests.unit.deploy.extender_test.wrong_extender import Fault, serving_apart

ROOT = Path(__file__).parents[4]
GUIDE = (ROOT / "docs" / "guide" / "extender-test.md").read_text()
BLOCKS = re.findall(r"^```console\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
QUICK = ("--nodes", "10,20", "--requests", "2")


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cluster from outside, and a terminal of its own."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def moor(command_line: Run) -> Run:
    return partial(command_line, "extender-test")


def _config(url: str, **fields: object) -> Path:
    entry = {"urlPrefix": url, "filterVerb": "filter", **fields}
    file = Path("scheduler.yaml")
    file.write_text(
        json.dumps(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "extenders": [entry],
            }
        )
    )
    return file


def test_a_right_extender(moor: Run) -> None:
    with serving_apart() as extender:
        code, out, err = moor(extender.url, *QUICK)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"{extender.url} was asked filter, prioritize, preempt, bind; whole")
    assert "✓  filter-subset           keeps only nodes it was asked about" in lines
    assert re.fullmatch(rf"✓ {extender.url}: \d+ checks passed", lines[-1])
    assert max(map(len, lines)) <= 80
    table = out.partition("Milliseconds, by the number of nodes:\n")[2].splitlines()
    assert table[0].split() == ["verb", "sent", "nodes", "kB", "p50", "p90", "p99", "max"]
    assert len([line for line in table if line.startswith(("filter", "prio", "preempt"))]) == 12


def test_a_wrong_extender(moor: Run) -> None:
    with serving_apart(FAULTS["hundred"]) as extender:
        code, out, err = moor(extender.url, "--prioritize-verb", "/prioritize", *QUICK)
    assert (code, err) == (1, "")
    assert "✗  prioritize-range" in out
    assert out.splitlines()[-1].endswith(" failed (2 costs)")
    assert "\n  came            the score 100 for moor-test-node-00001\n" in out


def test_the_last_line_counts_hints_in_the_plural(
    capsys: pytest.CaptureFixture[str],
) -> None:
    hints = [
        Finding(check="fields", verb=verb, outcome="failed", severity=Severity.HINT)
        for verb in VERBS
    ]
    report = ExtenderReport(
        url="http://extender", reachable=True, findings=hints, notes=[], latency=[]
    )
    print_report(report)
    assert capsys.readouterr().out.endswith(": 0 checks passed, 4 failed (4 hints)\n")


def test_only_hints_are_no_failure_and_can_be_left_out(moor: Run) -> None:
    with serving_apart(FAULTS["duplicates"]) as extender:
        code, out, _ = moor(extender.url, "--node-cache", *QUICK)
        assert code == 0
        assert "!  filter-duplicates" in out
        assert out.splitlines()[-1].endswith(" checks passed, 1 failed (1 hint)")
        code, out, _ = moor(extender.url, "--node-cache", "--skip", "filter-duplicates", *QUICK)
        assert code == 0
        assert "filter-duplicates" not in out


def test_a_configuration_says_what_must_be_served_and_in_which_mode(moor: Run) -> None:
    with serving_apart() as extender:
        file = _config(extender.url, preemptVerb="no-such-verb", nodeCacheCapable=True)
        code, out, _ = moor("--config", file, *QUICK)
    assert code == 1
    assert out.startswith(f"{extender.url} was asked filter, preempt; nodes by name")
    assert "breaks            served (preempt; nodes by name)" in out


def test_json(moor: Run) -> None:
    with serving_apart(FAULTS["silent"]) as extender:
        code, out, _ = moor(
            "--config", _config(extender.url, nodeCacheCapable=True), "-o", "json", *QUICK
        )
    assert code == 1
    (report,) = json.loads(out)["extenders"]
    assert report["url"] == extender.url
    failed = [one for one in report["findings"] if one["outcome"] == "failed"]
    assert failed == [
        {
            "check": "filter-complete",
            "verb": "filter",
            "mode": "names",
            "outcome": "failed",
            "severity": "costs",
            "sent": "an ordinary pod, 12 made-up nodes by name",
            "came": "it neither keeps nor rejects moor-test-node-00003",
            "kubeScheduler": CHECKS["filter-complete"].consequence,
            "advice": CHECKS["filter-complete"].advice,
        }
    ]
    assert [row["nodes"] for row in report["latency"]] == [10, 20]


def test_junit(moor: Run) -> None:
    evil = Fault(
        verb="filter", checks=set(), change=lambda *_: {"Error": "\x1b[31m\x00 <b> ]]> \ud800"}
    )
    with serving_apart(evil) as extender:
        code, out, _ = moor("--config", _config(extender.url), "-o", "junit", *QUICK)
    assert code == 1
    root = ET.fromstring(out)  # noqa: S314 - our own
    suite = root.find("testsuite")
    assert suite is not None
    cases = suite.findall("testcase")
    assert suite.get("name") == extender.url
    assert suite.get("tests") == str(len(cases))
    assert suite.get("failures") == "1"
    failed = [one for one in cases if one.find("failure") is not None]
    assert [(one.get("classname"), one.get("name")) for one in failed] == [
        ("extender.filter.whole", "filter-error")
    ]
    assert int(suite.get("skipped", 0)) == len(
        [one for one in cases if one.find("skipped") is not None]
    )


def test_hints_are_no_failures_in_junit(moor: Run) -> None:
    with serving_apart(FAULTS["two-values"]) as extender:
        code, out, _ = moor(
            "--config", _config(extender.url, nodeCacheCapable=True), "-o", "junit", *QUICK
        )
    assert code == 0
    root = ET.fromstring(out)  # noqa: S314 - our own
    assert root.find(".//failure") is None
    hint = root.find(".//testcase[@name='trailing-data']/system-out")
    assert hint is not None
    assert (hint.text or "").startswith("hint\nexpected: it sends nothing after the JSON value\n")


def test_nothing_listens(moor: Run) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    code, out, _ = moor(url)
    assert code == 2
    assert "  came            it cannot be reached: connection refused\n" in out


def test_nodes_of_a_snapshot_are_sent(moor: Run) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "real-1"}}
    pod = {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "uid": "u-1"},
        "spec": {"nodeName": "real-1", "containers": [{"name": "c", "image": "i"}]},
    }  # fmt: skip
    file = Path("nodes.json")
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, pod]}))
    with serving_apart() as extender:
        code, _, err = moor(extender.url, "--snapshot", file, *QUICK)
        asked = [body for path, body in extender.asked if path == "/preempt"]
        names = [body for path, body in extender.asked if path == "/filter"]
    assert (code, err) == (0, "")
    assert any(b'"real-1"' in body for body in names)
    assert not any(b"moor-test-node-00001" in body for body in names)
    assert any(b'"u-1"' in body for body in asked)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "give either the extender's URL or --config FILE"),
        (("http://h", "--config", "f.yaml"), "give either the extender's URL or --config FILE"),
        (("--config", "missing.yaml"), "missing.yaml does not exist"),
        (("--config", "none.yaml"), "none.yaml has no extenders to test"),
        (("--config", "old.yaml"), "old.yaml: "),
        (("--config", "none.yaml", "--bind-verb", "b"), "verbs and TLS come from --config"),
        (("localhost:8888",), "localhost:8888 is not an address; give one such as http://"),
        (("http://h", "--nodes", "ten"), "--nodes takes numbers from 1 to 100000"),
        (("http://h", "--nodes", "0"), "--nodes takes numbers from 1 to 100000"),
        (("http://h", "--skip", "nothing"), "there is no check 'nothing'"),
        (("http://h", "--bind", "web"), "--bind POD and --bind-node NODE belong together"),
        (("http://h", "--snapshot", "empty.yaml"), "empty.yaml has no nodes"),
        (
            ("http://h", *(f"--{verb}-verb=" for verb in VERBS)),
            "there is no verb left to test",
        ),
        (("https://h", "--cert-file", "a"), "--cert-file and --key-file belong together"),
        (("https://h", "--key-file", "a"), "--cert-file and --key-file belong together"),
        (("http://h", "--timeout", "inf"), "invalid value for '--timeout': must be at most 3600"),
        (("https://h", "--ca-file", "missing.crt"), "The certificate authority of extender"),
        (
            ("http://h", "--bind-verb", "", "--bind", "web", "--bind-node", "n"),
            "--bind needs an extender with a bind verb",
        ),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_sentence(moor: Run, arguments: tuple[str, ...], sentence: str) -> None:
    Path("none.yaml").write_text("apiVersion: kubescheduler.config.k8s.io/v1\n")
    Path("old.yaml").write_text("apiVersion: kubescheduler.config.k8s.io/v1beta3\n")
    Path("empty.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    assert rejected(moor(*arguments)).startswith(sentence)


# -- the guide


def _masked(text: str) -> str:
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8888", text)
    return re.sub(r"\b\d+(\.\d+)?\b", "#", text)


def _shown(block: str) -> tuple[list[str], str]:
    command, _, output = block.partition("\n")
    return command.removeprefix("$ moor extender-test ").split(), output


@contextlib.contextmanager
def _extender_of_the_guide(name: str) -> Iterator[str]:
    if name in FAULTS:
        with serving_apart(FAULTS[name]) as extender:
            yield extender.url
    else:
        with MoorServe(ROOT / "examples" / name / "policy.py") as server:
            yield server.url


@pytest.mark.parametrize("name", ["04-ssd-filter", "silent", "status-500"])
def test_the_guide_shows_what_is_printed(moor: Run, name: str) -> None:
    block = BLOCKS[["04-ssd-filter", "silent", "status-500"].index(name)]
    arguments, shown = _shown(block)
    (config,) = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    with _extender_of_the_guide(name) as url:
        Path("scheduler.yaml").write_text(_at(url, config))
        code, out, _ = moor(*(_at(url, one) for one in arguments))
    assert code == (1 if name in FAULTS else 0)
    for part in shown.split("…\n"):
        assert _masked(part.strip()) in _masked(out)
    assert _at(url, shown).splitlines()[-1] in out.splitlines()


def _at(url: str, text: str) -> str:
    return re.sub(r"http://127\.0\.0\.1:\d+", url, text)


def test_the_guide_has_every_check() -> None:
    rows = [
        f"| `{one.id}` | {one.severity} | {one.expects} | {one.consequence} | {one.advice} |"
        for one in CHECKS.values()
    ]
    table = GUIDE.partition("| check | severity |")[2].partition("\n\n")[0].splitlines()[2:]
    assert table == rows
