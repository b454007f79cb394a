"""``moor explain`` in this process: what it prints, and how it ends."""

import io
import json
import re
import sys
from pathlib import Path

import msgspec
import pytest
import yaml

from mooring.testing import make_node, make_pod
from tests.unit.cli.command_line import Run as Explain
from tests.unit.cli.command_line import as_object, rejected, snapshot_text
from tests.unit.cli.explain.explained_pods import BUSY, NODES, WAITING


class TestTable:
    def test_a_pod_that_fits(self, explain: Explain) -> None:
        code, out, err = explain("shop/web", [*NODES[1:], make_node("d", cpu="16"), WAITING])
        assert (code, err) == (0, "")
        lines = out.splitlines()
        assert lines[0].startswith("✓ shop/web goes to d with ")
        assert "more than b: NodeResourcesFit gives" in lines[0]
        assert lines[2] == ("pending · default-scheduler · priority 0 · requests 2 cpu, 1Gi memory")
        assert "2 of 3 nodes fit" in lines
        assert "✓ 2  b, d" in lines
        assert any(
            line.startswith("✗ 1  c")
            and line.endswith("NodeUnschedulable: may not use a cordoned node")
            for line in lines
        )
        assert not any(line != line.rstrip() for line in lines)

    def test_a_pod_that_does_not_fit(self, explain: Explain) -> None:
        pod = make_pod("web", namespace="shop", requests={"cpu": "9"})
        code, out, err = explain("shop/web", [*NODES, *BUSY, pod])
        assert (code, err) == (1, "")
        lines = out.splitlines()
        assert lines[:3] == [
            "✗ shop/web is pending: it needs 9 cpu, and the largest node it may use has 8 (b).",
            "  This rules out 2 of 3 nodes; the other one is ruled out for other reasons.",
            "  Smallest change that helps: request 1 less cpu (8 instead of 9).",
        ]
        assert "0 of 3 nodes fit" in lines
        assert (
            "✗ 2  a, b   NodeResourcesFit: needs 9 cpu, and the largest node here has 8 (b)"
            in lines
        )
        assert "1. request 1 less cpu (8 instead of 9)  → fits then on b\n" in out

    def test_a_pod_that_is_on_a_node(self, explain: Explain) -> None:
        code, out, _ = explain("default/x", [*NODES, *BUSY])
        assert code == 0
        assert out.startswith("✓ default/x is on a, which now ranks 2nd of 2 nodes that fit, ")
        assert "\non a, evaluated as if unscheduled · default-scheduler" in out

    def test_a_pod_that_finished(self, explain: Explain) -> None:
        done = {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "job"},
            "spec": {"nodeName": "a"}, "status": {"phase": "Succeeded"},
        }  # fmt: skip
        code, out, err = explain("job", [*NODES, done])
        assert (code, err) == (0, "")
        assert "\non a, evaluated as if unscheduled · " in out

    def test_a_pod_on_a_node_that_is_not_there(self, explain: Explain) -> None:
        code, out, err = explain("lost", [*NODES, make_pod("lost", node="z")])
        assert code == 0
        assert out.startswith(
            "✓ default/lost is on z, which is not among the nodes that were read.\n"
            "  As if unscheduled, default/lost goes to "
        )
        assert "\non z, evaluated as if unscheduled · " in out
        assert "1 object is left out:" in err

    def test_a_pod_on_a_node_without_any_nodes(self, explain: Explain) -> None:
        code, out, _ = explain("lost", [make_pod("lost", node="z")])
        assert code == 1
        assert "pending" not in out
        assert out.startswith(
            "✗ default/lost is on z, which is not among the nodes that were read: there are none.\n"
        )

    def test_a_pod_that_fits_nowhere_and_is_on_a_node_that_is_not_there(
        self, explain: Explain
    ) -> None:
        lost = make_pod("lost", node="z", requests={"cpu": "1000"})
        code, out, _ = explain("lost", [*NODES, lost])
        assert code == 1
        assert out.splitlines()[1].startswith(
            "  As if unscheduled, it does not fit: it needs 1000 "
        )

    def test_a_pod_that_is_held_back(self, explain: Explain) -> None:
        pod = make_pod("web", spec={"schedulingGates": [{"name": "g"}]})
        code, out, _ = explain("web", [*NODES, pod])
        assert code == 1
        assert (
            "✗ default/web is pending: it is waiting for the scheduling gate g to be removed.\n"
        ) in out
        assert "1. remove the scheduling gate g" in out

    def test_a_scheduler_without_a_known_profile(self, explain: Explain) -> None:
        code, out, err = explain("web", [*NODES, make_pod("web", spec={"schedulerName": "x"})])
        assert code == 0
        assert "pending · x with the profile of default-scheduler · " in out
        assert err.startswith(
            "moor: there is no profile for the scheduler x, so the profile of default-scheduler"
        )

    def test_a_cluster_without_nodes(self, explain: Explain) -> None:
        code, out, _ = explain("shop/web", [WAITING])
        assert code == 1
        assert out.startswith("✗ shop/web is pending: no nodes available to schedule pods.\n")

    def test_many_nodes_are_grouped(self, explain: Explain) -> None:
        nodes = [make_node(f"n{number}", unschedulable=number % 2 == 0) for number in range(50)]
        _, out, _ = explain("shop/web", [*nodes, WAITING])
        assert "✓ 25  n1, n3, n5 and 22 more" in out
        assert "✗ 25  n0, n2, n4 and 22 more" in out
        assert "and 13 more nodes with " in out

    def test_a_line_names_a_few_nodes(self, explain: Explain) -> None:
        few = [make_node(f"few-{number}", unschedulable=True) for number in range(4)]
        many = [make_node(f"many-{number}") for number in range(5)]
        _, out, _ = explain("shop/web", [*few, *many, WAITING])
        lines = out.splitlines()
        assert "✓ 5  many-0, many-1, many-2 and 2 more" in lines
        assert any(line.startswith("✗ 4  few-0, few-1, few-2, few-3 ") for line in lines)

    def test_one_and_many(self, explain: Explain) -> None:
        nodes = [make_node(f"n{number}") for number in range(14)]
        _, out, _ = explain("shop/web", [*nodes[:13], WAITING])
        assert re.search(r"\nand 1 more node with \d+ points \(-o wide shows all\)\n", out)
        _, out, _ = explain("shop/web", [*nodes, WAITING])
        assert re.search(r"\nand 2 more nodes with \d+ points \(-o wide shows all\)\n", out)
        _, out, _ = explain("shop/web", [*nodes[:13], make_node("small", cpu="3"), WAITING])
        assert re.search(r"\nand 2 more nodes with \d+ to \d+ points \(-o wide", out)
        _, out, _ = explain("shop/web", [*NODES[1:], WAITING])
        assert "1 of 2 nodes fits\n" in out

    def test_many_different_verdicts_are_cut_short(self, explain: Explain) -> None:
        free = [f"x.io/r{number}" for number in range(16)]
        nodes = [make_node(f"n{n}", extended={name: 1}) for n, name in enumerate(free)]
        pod = make_pod("web", requests=dict.fromkeys(free, 1))
        _, out, _ = explain("web", [*nodes, pod])
        assert "and 4 more nodes (-o wide shows all)" in out
        _, out, _ = explain("web", [*nodes[:13], pod])
        assert "and 1 more node (-o wide shows all)" in out

    @pytest.mark.parametrize("width", [60, 100])
    def test_a_terminal_is_not_overrun(
        self, explain: Explain, monkeypatch: pytest.MonkeyPatch, width: int
    ) -> None:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", str(width))
        pod = make_pod("web", requests={"cpu": "9"})
        _, out, _ = explain("web", [*NODES, *BUSY, pod])
        plain_text = re.sub(r"\x1b\[[0-9;]*m", "", out)
        assert plain_text != out
        assert max(map(len, plain_text.splitlines())) <= width

    def test_names_are_no_markup(self, explain: Explain) -> None:
        pod = make_pod("web", spec={"schedulingGates": [{"name": "a[bold]b"}]})
        _, out, _ = explain("web", [*NODES, pod])
        assert "the scheduling gate a[bold]b to be removed" in out

    def test_what_preemption_would_do(self, explain: Explain) -> None:
        vip = make_pod("vip", requests={"cpu": "4"}, priority=9)
        _, out, _ = explain("vip", [NODES[0], BUSY[0], vip])
        assert "would preempt 1 pod of lower priority on a: default/x.\n" in out


class TestNode:
    def test_a_node_that_fits_but_is_not_the_best(self, explain: Explain) -> None:
        things = [make_node("a", cpu="4"), make_node("b", cpu="16"), WAITING]
        code, out, _ = explain("shop/web", things, "--node", "a")
        assert code == 0
        assert "Results of each plugin for a" in out
        assert "NodeResourcesFit      ✓" in out
        assert "NodeAffinity             not applicable" in out
        points = {
            line.split()[0]: line.split()[1:]
            for line in out.partition("Points")[2].splitlines()
            if line.startswith(("TaintToleration", "total"))
        }
        assert points["TaintToleration"] == ["0", "100", "3", "300"]
        assert "✓ a fits; 1 node has more points. It has " in out
        assert "less than b: NodeResourcesFit gives" in out

    def test_the_best_node(self, explain: Explain) -> None:
        _, out, _ = explain("shop/web", [NODES[1], WAITING], "--node", "b")
        assert "✓ b fits and may be chosen." in out

    def test_a_node_that_does_not_fit(self, explain: Explain) -> None:
        code, out, _ = explain("shop/web", [*NODES, *BUSY, WAITING], "--node", "c")
        assert code == 0
        assert out.startswith("✗ shop/web does not fit on c: it may not use a cordoned node.\n")
        assert "NodeUnschedulable     ✗  may not use a cordoned node" in out
        assert "1. uncordon c (first find out why it is cordoned)  → fits then on b, c\n" in out

    def test_a_node_that_is_not_there(self, explain: Explain) -> None:
        assert rejected(explain("shop/web", [*NODES, WAITING], "--node", "node")) == (
            "there is no node node in the snapshot, which has 3 nodes"
        )


class TestJson:
    def test_the_record_and_more(self, explain: Explain) -> None:
        pod = make_pod("web", requests={"cpu": "9"})
        bad = make_pod("bad", requests={"cpu": "lots"}, node="a")
        code, out, _ = explain("web", [*NODES, pod, bad], "-o", "json")
        found = json.loads(out)
        assert code == 1
        assert found["pod"] == "default/web"
        assert found["filter"]["NodeUnschedulable"]["c"]["code"] == "UnschedulableAndUnresolvable"
        assert found["message"].startswith("0/3 nodes are available: ")
        first = found["suggestions"][0]
        assert first["text"] == "request 1 less cpu (8 instead of 9)"
        assert (first["nodes"], first["node"]) == (["b"], "b")
        assert [one["object"] for one in found["skippedObjects"]] == ["Pod default/bad"]

    def test_one_node(self, explain: Explain) -> None:
        _, out, _ = explain("shop/web", [*NODES, WAITING], "-o", "json", "--node", "b")
        found = json.loads(out)
        assert list(found["filter"]["NodeUnschedulable"]) == ["b"]
        assert list(found["total"]) == ["b"]
        assert list(found["score"]["TaintToleration"]["raw"]) == ["b"]
        assert found["nodeStatus"] == {}
        assert found["feasible"] == ["a", "b"]

    def test_a_pod_that_is_on_a_node(self, explain: Explain) -> None:
        _, out, _ = explain("default/x", [*NODES, *BUSY], "-o", "json")
        found = json.loads(out)
        assert (found["boundTo"], found["suggestions"]) == ("a", [])


class TestSnapshots:
    def test_a_folder_of_files(self, run: Explain, tmp_path: Path) -> None:
        folder = tmp_path / "dump"
        (folder / "deep").mkdir(parents=True)
        (folder / "nodes.yaml").write_text(yaml.safe_dump_all([as_object(one) for one in NODES]))
        (folder / "deep" / "pods.json").write_text(snapshot_text([WAITING]))
        (folder / "README.md").write_text("not a snapshot")
        code, out, err = run("shop/web", "-s", folder)
        assert (code, err) == (0, "")
        assert "2 of 3 nodes fit" in out

    def test_standard_input(self, run: Explain, monkeypatch: pytest.MonkeyPatch) -> None:
        data = io.TextIOWrapper(io.BytesIO(snapshot_text([*NODES, WAITING]).encode()))
        monkeypatch.setattr(sys, "stdin", data)
        assert run("shop/web", "-s", "-")[0] == 0

    def test_a_pod_from_a_manifest(self, explain: Explain, tmp_path: Path) -> None:
        file = tmp_path / "pod.yaml"
        file.write_text("kind: Pod\napiVersion: v1\nmetadata: {name: new}\nspec: {}\n")
        code, out, _ = explain(str(file), NODES)
        assert code == 0
        assert out.startswith("✓ default/new goes to ")

    def test_a_manifest_with_two_pods(self, explain: Explain, tmp_path: Path) -> None:
        file = tmp_path / "pods.json"
        file.write_text(snapshot_text([WAITING, make_pod()]))
        assert rejected(explain(str(file), NODES)).endswith(
            "contains 2 pods; specify a file with exactly one"
        )

    def test_bad_objects_are_left_out_with_a_count(self, explain: Explain) -> None:
        bad = [make_pod(f"bad{n}", requests={"cpu": "lots"}, node="a") for n in range(7)]
        code, out, err = explain("shop/web", [*NODES, *bad, WAITING])
        assert code == 0
        lines = err.splitlines()
        assert lines[0] == "moor: 7 objects are left out:"
        assert lines[1].startswith("  Pod default/bad0: field spec.containers[0]")
        assert lines[-1] == "  and 2 more (-o json lists all)"
        assert "shop/web goes to" in out


class TestRejections:
    def test_no_such_file(self, run: Explain) -> None:
        assert rejected(run("web", "-s", "nothing.json")) == (
            "nothing.json does not exist; specify a file, a directory or -"
        )

    def test_an_empty_folder(self, run: Explain, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        assert "has no .json, .yaml or .yml files" in rejected(run("web", "-s", "empty"))

    def test_a_file_without_objects(self, run: Explain, tmp_path: Path) -> None:
        (tmp_path / "empty.yaml").write_text("# nothing\n")
        assert rejected(run("web", "-s", "empty.yaml")).startswith(
            "empty.yaml has no Kubernetes objects; create one with: kubectl get nodes,pods"
        )

    def test_a_file_that_is_broken(self, run: Explain, tmp_path: Path) -> None:
        (tmp_path / "broken.json").write_text('{"kind": "List", "items": [')
        assert rejected(run("web", "-s", "broken.json")).startswith(
            "broken.json is not valid JSON: "
        )

    def test_a_pod_that_is_not_there(self, explain: Explain) -> None:
        assert rejected(explain("web", [*NODES, WAITING])) == (
            "there is no pod default/web in the snapshot; did you mean shop/web?"
        )
        assert rejected(explain("shop/wib", [*NODES, WAITING])) == (
            "there is no pod shop/wib in the snapshot; did you mean shop/web?"
        )
        assert rejected(explain("zzz", NODES)) == (
            "there is no pod default/zzz in the snapshot, which has 0 pods"
        )

    def test_a_pod_that_could_not_be_read(self, explain: Explain) -> None:
        broken = {"kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": 3}}
        assert "1 object could not be used: Pod default/web cannot be read" in rejected(
            explain("web", [*NODES, broken])
        )

    def test_a_pod_that_is_wrong(self, explain: Explain) -> None:
        wrong = make_pod("web", requests={"cpu": "lots"})
        assert "requests[cpu]: 'lots' is not a valid quantity" in rejected(
            explain("web", [*NODES, wrong])
        )

    def test_a_configuration_that_is_wrong(self, explain: Explain, tmp_path: Path) -> None:
        config = tmp_path / "config.yaml"
        config.write_text("profiles:\n- plugins: {score: {enabled: [{name: ImageLocalty}]}}\n")
        said = rejected(explain("shop/web", [*NODES, WAITING], "--config", config))
        assert said.startswith(f"{config}: profiles[0].plugins.score.enabled[0].name: ")
        assert "did you mean ImageLocality?" in said

    @pytest.mark.parametrize("text", ["- a\n", "a: [", "3"])
    def test_a_configuration_that_is_none(
        self, explain: Explain, tmp_path: Path, text: str
    ) -> None:
        config = tmp_path / "config.yaml"
        config.write_text(text)
        assert str(config) in rejected(explain("shop/web", [*NODES, WAITING], "--config", config))

    def test_a_policy_that_is_not_there(self, explain: Explain) -> None:
        assert "nope.py does not exist" in rejected(
            explain("shop/web", [*NODES, WAITING], "--policy", "nope.py")
        )


def test_json_is_what_the_library_says(explain: Explain) -> None:
    from mooring.explaining.explainer import explain as library

    things = [*NODES, *BUSY, WAITING]
    _, out, _ = explain("shop/web", things, "-o", "json")
    found = json.loads(out)
    expected = msgspec.json.decode(msgspec.json.encode(library(things, "shop/web").to_dict()))
    assert {key: found[key] for key in expected} == expected
