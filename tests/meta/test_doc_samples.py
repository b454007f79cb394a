"""Python code in README and guides is a file in docs/samples, and every sample works."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import mooring as mr
from mooring.config.policy_say import policy_say
from mooring.config.runtimes import build_profiles, build_runtime
from mooring.explaining.explainer import Explainer
from mooring.framework.decisions.recording import record_decision
from mooring.framework.policy_checks.pure_reads import DECLARED, TEMPLATE, Read
from mooring.framework.policy_checks.purity import rule_purity
from mooring.framework.policy_checks.sources import Sources
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.plugins.in_tree import default_registry
from mooring.scheduler.queued_pod import SubQueue
from mooring.state.cluster import Cluster
from mooring.testing import FakeKubeScheduler, make_node, make_pod
from tests.unit.scheduler.world import World

ROOT = Path(__file__).parents[2]
SAMPLES = sorted((ROOT / "docs" / "samples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_on_a_page_is_a_sample(page: Path) -> None:
    texts = {sample.read_text() for sample in SAMPLES}
    for block in BLOCK.findall(page.read_text()):
        assert block in texts, f"{page.name} has code that is no file in docs/samples:\n{block}"


def test_every_sample_is_on_a_page() -> None:
    shown = {block for page in PAGES for block in BLOCK.findall(page.read_text())}
    unused = [sample.name for sample in SAMPLES if sample.read_text() not in shown]
    assert unused == []


POLICIES = [sample for sample in SAMPLES if "mr.Policy(" in sample.read_text()]


@pytest.mark.parametrize("sample", POLICIES, ids=lambda sample: sample.stem)
def test_a_sample_policy_places_a_pod(sample: Path) -> None:
    policy = mr.load(sample)
    assert policy.rules
    scheduler = FakeKubeScheduler(policy, [make_node("a"), make_node("b")])
    assert scheduler.schedule(make_pod()) in ("a", "b")


def test_both_ways_to_pack_gpus_agree() -> None:
    gpu = "nvidia.com/gpu"
    nodes = [make_node(f"n{number}", extended={gpu: 2 * number}) for number in range(5)]
    running = [make_pod(f"r{n}", requests={gpu: 1}, node=f"n{n}") for n in range(1, 4)]
    running += [make_pod("other", namespace="team", requests={gpu: 4}, node="n4")]
    single, arrays = (
        FakeKubeScheduler(ROOT / "docs" / "samples" / name, nodes, running)
        for name in ("fair_gpus.py", "fair_gpus_arrays.py")
    )
    pod = make_pod(requests={gpu: 2})
    assert single.filter(pod) == arrays.filter(pod)
    assert list(single.filter(pod).failed) == ["n0", "n1", "n2"]
    assert single.prioritize(pod) == arrays.prioritize(pod)
    without = make_pod(requests={"cpu": "1"})
    assert single.filter(without) == arrays.filter(without)
    assert single.filter(without).failed == {}
    assert set(single.prioritize(without).values()) == {0}


def test_devices_in_use_and_large_ones_are_spared() -> None:
    def gpu(name: str, memory: str) -> dict[str, Any]:
        return {"name": name, "capacity": {"memory": {"value": memory}}}

    def published(node: str, *devices: dict[str, Any]) -> ResourceSlice:
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        spec = {
            "driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": list(devices)
        }  # fmt: skip
        return ResourceSlice.from_dict({"metadata": {"name": node}, "spec": spec})

    used = {"request": "r", "driver": "gpu.example.com", "pool": "c", "device": "small"}
    claim = ResourceClaim.from_dict(
        {
            "metadata": {"name": "other", "namespace": "team"},
            "status": {
                "allocation": {"devices": {"results": [used]}},
                "reservedFor": [{"resource": "pods", "name": "other", "uid": "1"}],
            },
        }
    )
    large, small = gpu("large", "80Gi"), gpu("small", "40Gi")
    scheduler = FakeKubeScheduler(
        ROOT / "docs" / "samples" / "whole_gpus.py",
        [make_node(name) for name in "abcd"],
        objects=[
            published("a", large, gpu("huge", "141Gi")), published("b", large, small),
            published("c", small), claim,
        ],
    )  # fmt: skip
    reason = "GPUs are in use by another namespace"
    assert scheduler.filter(make_pod()).failed == {"c": reason}
    assert scheduler.filter(make_pod(namespace="team")).failed == {}
    assert scheduler.prioritize(make_pod()) == {"a": 0, "b": 5, "c": 0, "d": 0}


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("pure_function.py", DECLARED),
        ("fair_gpus.py", frozenset([("namespace",), ("requests", "nvidia.com/gpu")])),
    ],
)
def test_the_guide_says_which_functions_are_kept(name: str, reads: frozenset[Read]) -> None:
    rule = mr.load(ROOT / "docs" / "samples" / name).rules[0]
    assert rule_purity(rule, Sources()).reads == reads
    guide = (ROOT / "docs" / "guide" / "policies.md").read_text()
    of_the_pod, of_others = (
        line
        for line in guide.splitlines()
        if line.startswith(("| of the pod |", "| of the pods on"))
    )
    assert all(f"`{one}`" in of_the_pod for one in (*TEMPLATE, "annotations"))
    assert "the same without `annotations`" in of_others


def test_the_guide_says_how_much_say_a_policy_has() -> None:
    guide = " ".join((ROOT / "docs" / "guide" / "policies.md").read_text().split())
    policy = mr.load(ROOT / "docs" / "samples" / "fair_gpus.py")
    profile = build_profiles(None, default_registry(), [policy])["default-scheduler"]
    assert f"``` {policy_say(policy, profile)} ```" in guide


@pytest.mark.parametrize(("whole_range", "better"), [(False, ["b", "c"]), (True, ["a"])])
def test_the_guide_tells_why_to_use_the_whole_range(whole_range: bool, better: list[str]) -> None:
    gpu, labels = "nvidia.com/gpu", {"app": "trainer"}
    policy = mr.Policy("pack")

    @policy.score
    def pack(_pod: mr.Pod, node: mr.Node) -> float:
        if whole_range:
            return 100 if node.used[gpu] else 0
        return 100 * node.used[gpu] / node.allocatable[gpu]

    owner = {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "trainer", "uid": "u",
        "controller": True,
    }  # fmt: skip
    metadata = {"namespace": "default", "labels": labels, "ownerReferences": [owner]}
    container = {"name": "c", "image": "i", "resources": {"limits": {gpu: "1"}}}
    replicas = {
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "trainer", "namespace": "default", "uid": "u"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}},
    }  # fmt: skip

    def replica(name: str, **spec: str) -> dict[str, Any]:
        return {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata},
            "spec": {"containers": [container], **spec},
        }  # fmt: skip

    nodes = [
        make_node(name, extended={gpu: 16}, labels={"kubernetes.io/hostname": name})
        for name in ("a", "b", "c")
    ]
    objects = [*nodes, replicas, replica("first", nodeName="a")]
    record = Explainer(objects, policy=policy).explain(replica("second")).record
    assert record.selected == better
    assert record.scoring is not None
    points = {
        one.name: abs(one.weight * int(one.normalized[0] - one.normalized[1]))
        for one in record.scoring.scores
        if one.normalized is not None
    }
    assert (points["pack"], points["PodTopologySpread"]) == (1400 if whole_range else 84, 100)


def test_the_sample_that_declares_what_it_is_tells_the_truth() -> None:
    registry = default_registry()
    hot_pods = runpy.run_path(str(ROOT / "docs" / "samples" / "hot_pods_plugin.py"))["HotPods"]
    registry.add(hot_pods)
    config = {"profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "HotPods"}]}}}]}
    hot = {"example.com/hot": "yes"}
    cluster = Cluster()
    for name in ("a", "b"):
        cluster.put_node(make_node(name))
    for name, node in (("one", "a"), ("two", "a"), ("three", "b")):
        cluster.put_pod(make_pod(name, labels=hot, node=node))
    profile = build_profiles(config, registry)["default-scheduler"]
    runtime = build_runtime(profile, registry, cluster, lambda: 0)
    assert [one.scope for one in runtime.filters if one.name == "HotPods"] == [mr.hook.Scope.ROW]
    record = record_decision(runtime, make_pod(labels=hot))
    assert record.feasible == ["b"]
    assert record.filtering is not None
    rejection = record.filtering.rejection(0)
    assert rejection is not None
    assert rejection.verdict.reason == "node(s) had two hot pods"
    assert record_decision(runtime, make_pod(labels={"other": "x"})).feasible == ["a", "b"]
    pods = [make_pod(labels={**hot, "index": str(number)}) for number in range(2)]
    assert len({hot_pods().sign(pod) for pod in pods}) == 1
    assert hot_pods().sign(make_pod()) != hot_pods().sign(pods[0])


def test_the_sample_plugin_takes_arguments_and_keeps_products_together() -> None:
    registry = default_registry()
    registry.add(runpy.run_path(str(ROOT / "docs" / "samples" / "licence_plugin.py"))["Licences"])
    config = {
        "profiles": [
            {
                "plugins": {"multiPoint": {"enabled": [{"name": "Licences"}]}},
                "pluginConfig": [{"name": "Licences", "args": {"nodesPerProduct": 1}}],
            }
        ]
    }
    labels = {"example.com/product": "solver"}
    cluster = Cluster()
    cluster.put_node(make_node("a"))
    cluster.put_node(make_node("b"))
    cluster.put_pod(make_pod("running", labels=labels, node="b"))
    profile = build_profiles(config, registry)["default-scheduler"]
    runtime = build_runtime(profile, registry, cluster, lambda: 0)
    assert record_decision(runtime, make_pod("new", labels=labels)).feasible == ["b"]
    assert record_decision(runtime, make_pod("other")).feasible == ["a", "b"]


def sample(name: str, plugin: str) -> Any:
    return runpy.run_path(str(ROOT / "docs" / "samples" / name))[plugin]


def test_the_sample_plugin_holds_pods_back_and_requeues_them_when_that_helps() -> None:
    policy = mr.Policy("test")
    policy.add(sample("approval_plugin.py", "Approval")())
    closed = make_node("a", labels={"example.com/maintenance": "disk"})
    world = World(closed, make_pod("p"), policy=policy)

    def sub_queue() -> SubQueue:
        queued = world.core.queue.get("default/p")
        assert queued is not None
        return queued.sub_queue

    world.run()
    assert sub_queue() is SubQueue.GATED
    world.put(make_pod("p", labels={"example.com/approved": "yes"}))
    world.run()
    assert sub_queue() is SubQueue.UNSCHEDULABLE
    assert "1 node(s) were under maintenance" in world.events[-1][2]
    world.put(make_node("a", labels={"example.com/maintenance": "memory"}))
    world.wait(30)
    assert sub_queue() is SubQueue.UNSCHEDULABLE
    world.put(make_node("a"))
    world.wait(30)
    assert world.where("p") == "a"


def test_the_sample_plugin_preempts_batch_pods_only() -> None:
    registry = default_registry()
    registry.add(sample("make_room_plugin.py", "MakeRoomInBatch"))
    plugins = {"enabled": [{"name": "MakeRoomInBatch"}], "disabled": [{"name": "*"}]}
    config = {"profiles": [{"plugins": {"postFilter": plugins}}]}
    cluster = Cluster()
    for name, labels in (("a", {}), ("b", {"example.com/batch": "night"})):
        cluster.put_node(make_node(name, cpu="2"))
        cluster.put_pod(make_pod(f"on-{name}", labels=labels, requests={"cpu": "2"}, node=name))
    profile = build_profiles(config, registry)["default-scheduler"]
    runtime = build_runtime(profile, registry, cluster, lambda: 0)
    small, large = (make_pod(requests={"cpu": cpu}, spec={"priority": 10}) for cpu in ("1", "4"))
    result = record_decision(runtime, small).post_filter_result
    assert result is not None
    assert result.preemption is not None
    (found,) = result.preemption.candidates.values()
    assert (found.node, [one.name for one in found.victims]) == ("b", ["on-b"])
    assert cluster.columns.used("cpu").tolist() == [2000, 2000]
    pending = record_decision(runtime, large).message
    assert "preempting batch pods would not make room" in pending


def test_the_sample_plugin_says_what_would_help() -> None:
    policy = mr.load(ROOT / "docs" / "samples" / "remedies_plugin.py")
    nodes = [make_node("a", labels={"example.com/restarting": "soon"})]
    found = Explainer(nodes, policy=policy).explain(make_pod())
    assert found.failed == ()
    assert [one.combination.text for one in found.suggestions] == [
        "label the pod with example.com/restartable=true",
        "remove the label example.com/restarting from a",
    ]


def test_the_sample_explanation_says_what_its_comments_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sample = ROOT / "docs" / "samples" / "explain_in_python.py"
    runpy.run_path(str(sample))
    for line in capsys.readouterr().out.splitlines():
        assert f"# {line}" in sample.read_text()
