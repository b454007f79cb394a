"""``moor explain`` with a configuration and with a policy."""

import json
import re
from pathlib import Path

import pytest

from mooring.testing import make_pod
from tests.unit.cli.command_line import Run as Explain
from tests.unit.cli.command_line import as_object, rejected
from tests.unit.cli.explain.explained_pods import INTERRUPTED, NODES, WAITING


class TestConfigurationAndPolicy:
    def test_a_configuration_decides(self, explain: Explain, tmp_path: Path) -> None:
        config = tmp_path / "config.yaml"
        config.write_text(
            "profiles:\n- plugins: {filter: {disabled: [{name: NodeUnschedulable}]}}\n"
        )
        _, out, _ = explain("shop/web", [*NODES, WAITING], "--config", config)
        assert "3 of 3 nodes fit" in out

    def test_extenders_are_not_asked_and_that_is_said(
        self, explain: Explain, tmp_path: Path
    ) -> None:
        config = tmp_path / "config.yaml"
        config.write_text("extenders:\n- {urlPrefix: http://localhost, filterVerb: f}\n")
        code, _, err = explain("shop/web", [*NODES, WAITING], "--config", config)
        said = "the extender http://localhost was not called; use --ask-extenders to call it"
        assert (code, err) == (0, f"moor: {said}\n")

    def test_a_policy_takes_part_and_sees_every_field(
        self, explain: Explain, tmp_path: Path
    ) -> None:
        (tmp_path / "mine.py").write_text(
            "import mooring as mr\n"
            "policy = mr.Policy('mine')\n"
            "@policy.filter\n"
            "def zoned(pod, node):\n"
            "    return mr.accept_if(node.raw['spec'].get('podCIDR'), 'no pod network')\n"
        )
        node = as_object(NODES[1])
        with_network = {**node, "spec": {"podCIDR": "10.0.0.0/24"}}
        things = [NODES[0], with_network, WAITING]
        code, out, _ = explain("shop/web", things, "--policy", "mine.py")
        assert code == 0
        assert "mine: no pod network" in out
        assert "✓ shop/web goes to b, the only node that fits." in out

    def test_a_policy_has_half_the_say_and_that_is_said(
        self, explain: Explain, tmp_path: Path
    ) -> None:
        (tmp_path / "mine.py").write_text(
            "import mooring as mr\n"
            "policy = mr.Policy('mine')\n"
            "@policy.score\n"
            "def b(pod, node):\n"
            "    return 100 * (node.name == 'b')\n"
        )
        said = "policy mine can decide 50% of a node's total score (weight 14 of 28)"
        code, out, _ = explain("shop/web", [*NODES, WAITING], "--policy", "mine.py")
        assert code == 0
        assert "×14" in out
        assert said in out
        _, out, _ = explain("shop/web", [*NODES, WAITING], "--policy", "mine.py", "--node", "b")
        assert re.search(r"^mine +100 +100 +14 +1400$", out, re.MULTILINE)
        assert said in out
        _, out, _ = explain("shop/web", [*NODES, WAITING], "--policy", "mine.py", "-o", "json")
        assert json.loads(out)["policy"] == {"name": "mine", "weight": 14, "totalWeight": 28}

    def test_a_policy_adds_a_note_to_its_reason(self, explain: Explain, tmp_path: Path) -> None:
        (tmp_path / "mine.py").write_text(
            "import mooring as mr\n"
            "policy = mr.Policy('mine')\n"
            "@policy.filter\n"
            "def f(pod, node):\n"
            "    return mr.reject('too far', note='by 3 miles')\n"
        )
        _, out, _ = explain("shop/web", [*NODES, WAITING], "--policy", "mine.py")
        assert "mine: too far (by 3 miles)" in out
        _, out, _ = explain("shop/web", [*NODES, WAITING], "--policy", "mine.py", "-o", "wide")
        assert "2 too far." in out

    def test_a_policy_that_raises_is_wrong_input(self, explain: Explain, tmp_path: Path) -> None:
        (tmp_path / "mine.py").write_text(
            "import mooring as mr\n"
            "policy = mr.Policy('mine')\n"
            "@policy.filter\n"
            "def racks(pod, node):\n"
            "    return node.labels['rack'] == 'r1'\n"
        )
        sentence = rejected(explain("shop/web", [*NODES, WAITING], "--policy", "mine.py"))
        assert "racks" in sentence
        assert "KeyError" in sentence
        assert "--hook-timeout" not in sentence

    def test_a_policy_that_raises_about_nodes_that_others_reject_is_wrong_input(
        self, explain: Explain, tmp_path: Path
    ) -> None:
        (tmp_path / "mine.py").write_text(
            "import mooring as mr\n"
            "policy = mr.Policy('mine')\n"
            "@policy.filter\n"
            "def racks(pod, node):\n"
            "    return node.labels['rack'] == 'r1'\n"
        )
        gang = make_pod("gang", namespace="shop", spec={"schedulingGroup": {}})
        code, out, err = explain("shop/gang", [*NODES, gang], "--policy", "mine.py")
        assert code == 2
        assert "0 of 3 nodes fit" in out
        (line,) = err.splitlines()
        assert line.startswith(
            "moor: plugin mine failed in filter for pod shop/gang: filter 'racks'"
        )
        assert "KeyError" in line

    @pytest.mark.parametrize("hangs", ["time.sleep(600)", "[x for x in iter(int, 1)]"])
    def test_a_policy_that_hangs_is_interrupted_and_named(
        self, explain: Explain, tmp_path: Path, hangs: str
    ) -> None:
        (tmp_path / "mine.py").write_text(
            "import mooring as mr, time\n"
            "policy = mr.Policy('mine')\n"
            "@policy.filter\n"
            f"def stuck(pod, node):\n    {hangs}\n"
        )
        things = [*NODES, WAITING]
        code, out, err = explain("shop/web", things, "--policy", "mine.py", "--hook-timeout", "0.1")
        assert (code, out) == (2, "")
        assert (
            "filter 'stuck' was interrupted on node a: the decision took longer than 0.1 seconds"
            in err
        )
        assert err.endswith("; fix it, or raise --hook-timeout\n")
        assert len(err.splitlines()) == 1

    @pytest.mark.parametrize(
        ("goes_wrong", "said"),
        [
            ("raise KeyError('rack')", "KeyError: 'rack'"),
            ("while True: pass", f"{INTERRUPTED}; fix it, or raise --hook-timeout"),
        ],
        ids=["raises", "hangs"],
    )
    def test_a_plugin_that_cannot_say_what_would_help_is_named_beside_the_explanation(
        self, explain: Explain, tmp_path: Path, goes_wrong: str, said: str
    ) -> None:
        (tmp_path / "mine.py").write_text(
            "import mooring as mr\n"
            "class Racks(mr.hook.Filter, mr.hook.Remedies):\n"
            "    def filter(self, pod, node):\n"
            "        return 'no rack'\n"
            "    def remedies(self, case):\n"
            f"        {goes_wrong}\n"
            "        yield\n"
            "policy = mr.Policy('mine')\n"
            "policy.add(Racks())\n"
        )
        things = [*NODES, WAITING]
        code, out, err = explain("shop/web", things, "--policy", "mine.py", "--hook-timeout", "0.1")
        assert code == 1
        assert "mine: no rack" in out
        assert err == (
            f"moor: plugin Racks failed in remedies for pod shop/web: {said}; "
            "the explanation leaves it out\n"
        )
