"""``moor check``, and how every command rejects a policy that cannot work."""

import json
import re
from pathlib import Path

import pytest

from mooring.framework.loading import load
from tests.unit.cli.command_line import KUBECONFIG, Run

ROOT = Path(__file__).parents[3]
BROKEN = """\
import mooring as mr

policy = mr.Policy("broken")


@policy.filter
def fits(pod: mr.Pod, node: mr.Node) -> bool:
    return node.lables.get("rack") == "r1"


@policy.score
async def rate(pod: mr.Pod) -> float:
    return 1
"""
PROBLEMS = [
    "policy.py, line 8: Node has no attribute 'lables'; did you mean node.labels?",
    (
        "policy.py, line 12: score function 'rate' is async, but nothing awaits it; use def "
        "(only a bind function may be async)"
    ),
]
POLICY = """\
import mooring as mr

policy = mr.Policy("team-racks")
GPU = "nvidia.com/gpu"
TIER = "tier"


@policy.filter
def racks(pod: mr.Pod, node: mr.Node) -> str | None:
    if pod.labels.get("team") == "red" and node.labels.get("rack") != "r7":
        return "kept for team red"
    return None


@policy.score(max_score=10)
def gpus(pod: mr.Pod, node: mr.Node) -> float:
    return 10 if node.free[GPU] else 0


@policy.score
def same(pod: mr.Pod, node: mr.Node) -> float:
    return 50 if TIER in node.annotations or TIER in pod.annotations else 50


@policy.preempt
def spare(pod: mr.Pod, node: mr.Node, victims: list[mr.Pod]) -> bool:
    return not any(victim.labels.get("team") == "red" for victim in victims)


@policy.bind
async def tell(binding: mr.Binding) -> mr.Binding:
    return binding.annotate({"example.com/rack": "r7"})
"""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cluster from outside, and a terminal of its own."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOG_LEVEL", "ERROR")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def moor(command_line: Run) -> Run:
    return command_line


def write(name: str, text: str) -> Path:
    Path(name).write_text(text)
    return Path(name)


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "policy.py", "--port", "0"],
        ["serve", "policy.py", "--port", "0", "--workers", "2"],
        ["run", "policy.py", "--kubeconfig", "kubeconfig"],
        ["explain", "default/web", "--snapshot", "pod.json", "--policy", "policy.py"],
        ["cluster", "--port", "0", "--kubeconfig", "k", "--scheduler", "--policy", "policy.py"],
        ["demo", "--policy", "policy.py"],
    ],
    ids=lambda arguments: " ".join(arguments[:1] + arguments[-2:]),
)
def test_every_command_rejects_a_policy_that_cannot_work(moor: Run, arguments: list[str]) -> None:
    write("policy.py", BROKEN)
    write("kubeconfig", KUBECONFIG)
    write("pod.json", json.dumps({"kind": "Pod", "metadata": {"name": "web"}}))
    code, out, err = moor(*arguments)
    assert (code, out) == (2, "")
    more = " (and 1 more problem: moor check policy.py lists all)"
    assert err == f"moor: {PROBLEMS[0]}{more}\n"


def test_a_check_lists_every_problem(moor: Run) -> None:
    write("policy.py", BROKEN)
    code, out, err = moor("check", "policy.py")
    assert (code, out) == (2, "")
    assert err.splitlines() == [f"moor: {problem}" for problem in PROBLEMS]


def test_a_policy_that_is_not_there(moor: Run) -> None:
    code, out, err = moor("check", "away.py")
    assert (code, out) == (2, "")
    assert err.startswith("moor: away.py does not exist; ")


def test_a_check_prints_what_each_function_said(moor: Run) -> None:
    write("policy.py", POLICY)
    code, out, err = moor("check", "policy.py")
    assert (code, err) == (0, "")
    assert (
        out
        == """\
✓ policy team-racks: 5 functions, no problems found

Results between decisions:
  filter racks  kept until a node or its pods change
  score gpus    kept until a node or its pods change
  score same    kept until a node or its pods change

Results on a synthetic cluster:
node     zone  cpu free  memory free   pods  also
node-a1  a     8 of 8    32Gi of 32Gi  0
node-a2  a     5 of 8    20Gi of 32Gi  2     3 of 4 nvidia.com/gpu free, rack=r7, tier=true
node-b1  b     15 of 16  63Gi of 64Gi  1
node-b2  b     16 of 16  64Gi of 64Gi  0     4 of 4 nvidia.com/gpu free, rack=r7, tier=true

pod plain: 500m cpu, 512Mi memory
  filter racks   accepts all nodes
  score gpus     node-a2 10, node-b2 10, node-a1 0, node-b1 0 (of 10)
  score same     50 for all 4 nodes
  preempt spare  node-a2: dropped
                 node-b1: 1 of 1 victims remain
  bind tell      not called: it may have side effects; --bind calls it
  goes to        node-b2

pod special: 2 cpu, 4Gi memory, 1 nvidia.com/gpu, priority 100, team=red, tier=true
  filter racks   accepts node-a2, node-b2
                 rejects node-a1, node-b1: kept for team red
  score gpus     10 for both nodes (of 10)
  score same     50 for both nodes
  preempt spare  node-a2: dropped
                 node-b1: 1 of 1 victims remain
  bind tell      not called: it may have side effects; --bind calls it
  goes to        node-b2

To try it on your own pods and nodes:
  moor explain POD --policy policy.py
"""
    )


def test_a_bind_function_is_run_if_wanted(moor: Run) -> None:
    write("policy.py", POLICY)
    code, out, err = moor("check", "--bind", "policy.py")
    assert (code, err) == (0, "")
    assert "bind tell      binds the pod to node-b2 and writes example.com/rack=r7" in out
    write("policy.py", POLICY.replace("return binding.annotate", "return 'no' or binding.annotate"))
    assert "bind tell      rejects node-b2: no" in moor("check", "--bind", "policy.py")[1]


@pytest.mark.parametrize("word", ["def", "async def"])
def test_a_bind_function_that_hangs_is_ended(moor: Run, word: str) -> None:
    write(
        "policy.py",
        "import asyncio, time\nimport mooring as mr\npolicy = mr.Policy('p')\n"
        f"@policy.bind\n{word} stuck(binding):\n"
        f"    {'time.sleep(600)' if word == 'def' else 'await asyncio.sleep(600)'}\n",
    )
    code, out, err = moor("check", "--bind", "policy.py", "--hook-timeout", "0.1")
    assert code == 2
    assert "✗ policy p: 1 function, 1 failed" in out
    assert "policy.py, line " in err
    assert "bind 'stuck' " in err
    assert "took longer than 0.1 seconds" in err


def test_at_80_columns_nothing_is_wider(moor: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    write("policy.py", POLICY)
    code, out, _ = moor("check", "policy.py")
    assert code == 0
    assert "rack=r7" in out
    plain = out.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "")
    assert max(map(len, plain.splitlines())) <= 80


def test_functions_that_are_called_every_time(moor: Run) -> None:
    write("policy.py", POLICY.replace("10 if node", "10 if hash(node.name) or node"))
    code, out, err = moor("check", "policy.py")
    assert (code, err) == (0, "")
    assert out.splitlines()[2:6] == [
        "Results between decisions:",
        "  filter racks  called every time: so is score gpus",
        "  score gpus    called every time: it calls hash (line 17)",
        "  score same    called every time: so is score gpus",
    ]
    found = json.loads(moor("check", "policy.py", "-o", "json")[1])["functions"]
    assert [(one["name"], one.get("kept"), one.get("calledBecause")) for one in found] == [
        ("racks", False, "so is score gpus"),
        ("gpus", False, "it calls hash (line 17)"),
        ("same", False, "so is score gpus"),
        ("spare", None, None),
        ("tell", None, None),
    ]


FAILING = """\
import mooring as mr

policy = mr.Policy("failing")


@policy.filter
def team(pod: mr.Pod, node: mr.Node) -> bool:
    return colour(pod) == "red"


def colour(pod: mr.Pod) -> str:
    return pod.labels["team"]


@policy.score
def huge(pod: mr.Pod, node: mr.Node) -> float:
    return 300
"""


def test_what_fails_is_told_with_its_line(moor: Run) -> None:
    write("policy.py", FAILING)
    code, out, err = moor("check", "policy.py")
    assert code == 2
    assert out.startswith("✗ policy failing: 2 functions, 2 failed\n")
    assert "  filter team    failed on node node-a1: KeyError: 'team'\n" in out
    assert "  stays pending  a function failed\n" in out
    assert err.splitlines() == [
        "moor: policy.py, line 12: filter 'team' failed on node node-a1: KeyError: 'team'",
        (
            "moor: policy.py, line 16: score 'huge' returned 300 for node node-a1; it must return "
            "a number from 0 to 100"
        ),
    ]


def test_what_hangs_is_interrupted(moor: Run) -> None:
    hangs = "    while True: pass\n"
    write("policy.py", FAILING.partition("\n\ndef colour")[0].rpartition("    return")[0] + hangs)
    code, out, err = moor("check", "policy.py", "--hook-timeout", "0.1")
    assert code == 2
    assert "filter team" in out
    assert "policy.py, line 8: filter 'team' was interrupted on node node-a1: " in err


@pytest.mark.parametrize(
    "hangs", ["while True: pass", "import neighbour_that_hangs", "while True: time.sleep(0.01)"]
)
def test_a_file_that_hangs_is_interrupted(
    moor: Run, monkeypatch: pytest.MonkeyPatch, hangs: str
) -> None:
    monkeypatch.setattr("mooring.cli.policy_loading.LOAD_SECONDS", 0.3)
    write("neighbour_that_hangs.py", "while True: pass\n")
    write("policy.py", f"import time\ntry:\n    {hangs}\nexcept Exception: pass\n")
    assert moor("check", "policy.py") == (2, "", (
        "moor: policy.py, line 3: loading it took longer than 0.3 seconds; fix what blocks it\n"
    ))  # fmt: skip


@pytest.mark.parametrize("leave", ["os._exit(5)", "sys.exit(5)"])
def test_a_policy_that_ends_the_process_is_told(moor: Run, leave: str) -> None:
    write("policy.py", f"import os, sys\n{leave}\n")
    code, out, err = moor("check", "policy.py")
    assert (code, out) == (2, "")
    said = leave if "_exit" in leave else "5"
    assert err == f"moor: policy.py, line 2 raised SystemExit: {said}\n"


def test_a_function_that_ends_the_process_is_told(moor: Run) -> None:
    write(
        "policy.py",
        POLICY.replace(
            '    if pod.labels.get("team")', "    import os\n    os._exit(5)\n    if pod"
        ),
    )
    code, _, err = moor("check", "policy.py")
    assert code == 2
    assert "it tried to end the process (SystemExit: os._exit(5))" in err


def test_a_child_of_a_policy_may_end_as_it_likes(moor: Run) -> None:
    child = "import os\nchild = os.fork()\nif not child: os._exit(7)\n"
    told = "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
    write("policy.py", child + told + POLICY)
    assert moor("check", "policy.py")[0] == 0


def test_a_policy_whose_answers_change_is_told(moor: Run) -> None:
    write(
        "policy.py",
        "import itertools\nimport mooring as mr\npolicy = mr.Policy('p')\ncalls = itertools.count()"
        "\n@policy.filter\ndef later(pod, node): return next(calls) >= 4\n",
    )
    code, out, _ = moor("check", "policy.py")
    assert code == 0
    assert "goes to       node-b2 (called again, the policy returned something else)" in out


def test_plugins_are_asked_as_in_a_scheduler(moor: Run) -> None:
    write(
        "policy.py",
        """\
import mooring as mr
from mooring import hook


class Gang(hook.PreEnqueue, hook.PreFilter, hook.Filter, hook.Score, hook.Permit):
    def pre_enqueue(self, pod): return True
    def pre_filter(self, cycle):
        return hook.SKIP if cycle.pod.name == "plain" else ["node-a1", "node-b1"]
    def filter(self, pod, node): return node.name != "node-b1" or "too far"
    def score(self, pod, node): return 7
    def permit(self, cycle, node): raise RuntimeError


policy = mr.Policy("gangs")
policy.add(Gang())
""",
    )
    code, out, err = moor("check", "policy.py")
    assert (code, err) == (0, "")
    assert out.startswith("✓ policy gangs: 1 plugin, no problems found\n")
    plain, special = out.partition("pod plain")[2].split("pod special")
    assert "  pre_enqueue Gang  admits the pod\n" in plain
    assert "  pre_filter Gang   not applicable to this pod\n" in plain
    assert "  permit Gang       not called: runs only in moor run\n" in plain
    assert "  pre_filter Gang   only node-a1, node-b1\n" in special
    assert "rejects node-b1: too far\n" in special
    assert "  goes to           node-a1\n" in special


def test_what_a_policy_prints_is_no_part_of_the_result(moor: Run) -> None:
    write("policy.py", f'print("loaded")\n{POLICY}')
    code, out, err = moor("check", "policy.py", "-o", "json")
    assert (code, err) == (0, "loaded\n")
    assert json.loads(out)["policy"] == "team-racks"


def test_json(moor: Run) -> None:
    write("policy.py", POLICY)
    code, out, err = moor("check", "policy.py", "-o", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["policy"], found["problems"]) == ("team-racks", [])
    assert found["functions"][0] == {
        "kind": "filter", "name": "racks", "file": "policy.py", "line": 9, "kept": True,
    }  # fmt: skip
    plain, special = found["pods"]
    assert (plain["pod"], special["pod"]) == ("default/plain", "default/special")
    assert special["selected"] == ["node-b2"]
    assert special["answers"][0] == {
        "kind": "filter",
        "name": "racks",
        "accepted": ["node-a2", "node-b2"],
        "rejected": {"kept for team red": ["node-a1", "node-b1"]},
    }
    assert plain["answers"][1]["scores"]["node-a2"] == 10
    write("policy.py", FAILING)
    code, out, err = moor("check", "policy.py", "-o", "json")
    assert code == 2
    assert [f"moor: {problem}" for problem in json.loads(out)["problems"]] == err.splitlines()


CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: batch
  plugins:
    multiPoint:
      {}: [{{name: {}}}]
"""


def test_a_configuration_decides_beside_the_policy(moor: Run) -> None:
    write("policy.py", POLICY)
    write("scheduler.yaml", CONFIG.format("enabled", "team-racks"))
    code, out, err = moor("check", "policy.py", "--config", "scheduler.yaml")
    assert (code, err) == (0, "")
    assert "\nResults on a synthetic cluster, with profile batch of scheduler.yaml:\n" in out
    write("scheduler.yaml", CONFIG.format("disabled", "team-racks"))
    code, _, err = moor("check", "policy.py", "--config", "scheduler.yaml")
    assert (code, err) == (0, "moor: no profile in scheduler.yaml enables the policy team-racks\n")


def test_a_configuration_that_does_not_fit_the_policy(moor: Run) -> None:
    write("policy.py", POLICY)
    write("scheduler.yaml", CONFIG.format("enabled", "team-rakcs"))
    code, out, err = moor("check", "policy.py", "--config", "scheduler.yaml")
    assert (code, out) == (2, "")
    assert err.startswith("moor: scheduler.yaml: profiles[0].plugins.multiPoint.enabled[0].name: ")
    assert "did you mean team-racks?" in err


SAMPLES = sorted((ROOT / "docs" / "samples").glob("*.py"))
EXAMPLES = [
    *sorted((ROOT / "examples").glob("*/policy.py")),
    *(one for one in SAMPLES if "mr.Policy(" in one.read_text()),
]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_every_example_and_every_policy_of_the_guides_passes(moor: Run, file: Path) -> None:
    code, out, err = moor("check", "--bind", file)
    assert (code, err) == (0, ""), out
    assert "no problems found" in out


PLUGINS = [one for one in SAMPLES if "(hook." in one.read_text() and one not in EXAMPLES]


@pytest.mark.parametrize("file", PLUGINS, ids=lambda file: str(file.stem))
def test_every_plugin_of_the_guides_passes(file: Path) -> None:
    assert len(PLUGINS) >= 4
    write(file.name, file.read_text())
    write(
        "policy.py",
        f"import inspect\nimport mooring as mr\nimport {file.stem} as sample\n"
        "policy = mr.Policy('p')\n"
        "for one in list(vars(sample).values()):\n"
        "    if isinstance(one, type) and issubclass(one, mr.hook.Hook):\n"
        # A registry would give it a handle.
        "        given = [None] if 'handle' in inspect.signature(one).parameters else []\n"
        "        policy.add(one(one.Args()) if one.Args else one(*given))\n",
    )
    assert [*load("policy.py").plugins]


GUIDE = ROOT / "docs" / "guide" / "check.md"
SHOWN = re.findall(r"^```console\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("session", SHOWN, ids=[one.partition("\n")[0] for one in SHOWN])
def test_the_guide_shows_what_is_printed(moor: Run, session: str) -> None:
    before, typed, shown = re.split(r"^\$ (moor check .*)\n", session, flags=re.MULTILINE)
    name = typed.split()[-1]
    written = before.removeprefix(f"$ cat {name}\n")
    sample = ROOT / "docs" / "samples" / name
    write(name, written or sample.read_text())
    _, out, err = moor(*typed.split()[1:])
    assert out + err == shown


def test_the_guide_shows_sessions_of_both_kinds() -> None:
    assert [session.startswith("$ cat ") for session in SHOWN] == [False, True]
