"""``moor explain`` and pods with claims to devices: from files, from a cluster, from Python."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import mooring
from mooring.cli.explain.device_view import print_devices
from mooring.cli.terminal_output import TerminalPrinter
from mooring.framework.decisions.record import Record
from mooring.model.kinds import BY_NAME
from tests.unit.cli.cluster_server import ClusterServer, cluster_server
from tests.unit.cli.command_line import Run as Moor
from tests.unit.plugins.devices.device_objects import (
    DRIVER,
    GPUS,
    allocated,
    claim,
    claiming,
    device,
    published,
    template,
)

SAMPLE = Path(__file__).parents[4] / "docs" / "samples" / "devices.yaml"
OBJECTS: list[dict[str, Any]] = yaml.safe_load(SAMPLE.read_text())["items"]
WHO = "in use by ml/train-7 (claim train-7-gpu-x7k2p)"


@pytest.fixture
def cluster() -> Iterator[ClusterServer]:
    with cluster_server() as made:
        made.put(*OBJECTS)
        yield made


@pytest.fixture
def moor(
    tmp_path: Path,
    cluster: ClusterServer,
    monkeypatch: pytest.MonkeyPatch,
    command_line: Moor,
) -> Moor:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig(tmp_path)))
    return command_line


def test_a_live_cluster_is_explained_as_its_file(moor: Moor) -> None:
    code, live, err = moor("explain", "ml/train-8", "-o", "json")
    assert (code, err) == (1, "")
    code, of_file, _ = moor("explain", "ml/train-8", "-o", "json", "--snapshot", SAMPLE)
    assert code == 1
    found, expected = json.loads(live), json.loads(of_file)
    assert WHO in found["answer"]
    assert {**found, "history": None} == {**expected, "history": None}


def test_a_snapshot_of_a_cluster_has_its_devices(moor: Moor, tmp_path: Path) -> None:
    code, out, _ = moor("snapshot")
    file = tmp_path / "dump.json"
    file.write_text(out)
    assert code == 0
    kinds = {one["kind"] for one in json.loads(out)["items"]}
    assert {"DeviceClass", "ResourceSlice", "ResourceClaim", "ResourceClaimTemplate"} <= kinds
    code, out, _ = moor("explain", "ml/train-8", "--snapshot", file)
    assert code == 1
    assert "does not match" not in out  # there are two that do not
    assert "tolerate the device taint gpu.example.com/ecc-errors:NoSchedule" in out


def test_devices_that_never_became_ready(moor: Moor, cluster: ClusterServer) -> None:
    status = allocated("gpu-1/gpu-0", bindingConditions=["ready"])
    status["allocation"]["allocationTimestamp"] = "2020-01-01T00:00:00Z"
    waiting = claim("late", status=status)
    cluster.put(waiting, claiming("p", "late"))
    code, out, _ = moor("explain", "p")
    assert code == 1
    assert "whose devices are not ready: device binding timeout: claim=late" in " ".join(
        out.split()
    )


def test_claims_of_pods_that_are_forbidden(moor: Moor, cluster: ClusterServer) -> None:
    path = "/apis/resource.k8s.io/v1/resourceclaims"
    cluster.forbid(path, "list", "resourceclaims", "resource.k8s.io")
    code, out, err = moor("explain", "ml/train-8")
    assert code == 1
    assert "needs the claim train-8-gpu-q4w9d, which does not exist" in " ".join(out.split())
    assert "resourceclaims.resource.k8s.io are left out: listing is forbidden" in err


def test_json_of_one_node_has_the_devices_of_that_node(run: Moor) -> None:
    code, out, _ = run("ml/notebook-0", "--snapshot", SAMPLE, "-o", "json")
    assert code == 0
    allocations = json.loads(out)["allocations"]
    assert list(allocations) == ["gpu-1"]
    _, out, _ = run("ml/notebook-0", "--snapshot", SAMPLE, "--node", "gpu-1", "-o", "json")
    assert json.loads(out)["allocations"] == allocations
    _, out, _ = run("ml/notebook-0", "--snapshot", SAMPLE, "--node", "cpu-1", "-o", "json")
    assert json.loads(out)["allocations"] == {}


def test_devices_of_one_node(run: Moor) -> None:
    _, out, _ = run("ml/notebook-0", "--snapshot", SAMPLE, "--node", "gpu-1")
    assert "Devices it gets on gpu-1\n" in out
    _, out, _ = run("ml/notebook-0", "--snapshot", SAMPLE, "--node", "gpu-2")
    assert "Devices it gets" not in out


def test_all_pending_pods(run: Moor) -> None:
    code, out, _ = run("--pending", "--snapshot", SAMPLE, "-o", "json")
    assert code == 1
    found = json.loads(out)
    assert found["fitting"] == [{"pod": "ml/notebook-0", "schedulerName": "default-scheduler"}]
    [group] = found["groups"]
    assert WHO in group["text"]


def many(number: int) -> Record:
    result = {"driver": DRIVER, "pool": "a", "request": "gpu"}
    results = [{**result, "device": f"g{index}"} for index in range(number)]
    notes = {
        "allocations": {"a": {"default/mine": {"devices": {"results": results}}}},
        "bindingWait": ["a"],
    }
    return Record(pod="default/p", profile="x", priority=0, nodes=["a"], best=[0], notes=notes)


def test_many_devices_that_are_not_ready(capsys: pytest.CaptureFixture[str]) -> None:
    print_devices(TerminalPrinter(), many(20))
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == [
        "and 4 more (-o json shows all)",
        "the pod is bound when its devices are ready",
    ]
    assert sum(f"{DRIVER}/a" in line for line in lines) == 16


def test_python_takes_lists_of_all_kinds() -> None:
    def data(thing: Any) -> dict[str, Any]:
        assert type(thing) is BY_NAME[thing.kind_name].type
        return dict(thing.raw)

    conditional = {**device("g0"), "bindingConditions": ["ready"]}
    objects = {
        "nodes": [{"metadata": {"name": "a"}, "status": {"allocatable": {"pods": "9"}}}],
        "deviceClasses": [data(GPUS)],
        "resourceSlices": [data(published("a", conditional))],
        "resourceClaims": [data(claim("mine"))],
        "resourceClaimTemplates": [data(template("big"))],
    }
    pod = {
        "metadata": {"name": "p"},
        "spec": {
            "containers": [{"name": "c"}],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": "mine"}],
        },
    }
    found = mooring.explain(objects, pod).to_dict()
    [result] = found["allocations"]["a"]["default/mine"]["devices"]["results"]
    assert (result["device"], result["bindingConditions"]) == ("g0", ["ready"])
    assert found["bindingWait"] == ["a"]
    assert "postFilterDynamicResources" not in found
    pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "big"}]  # type: ignore[index]
    found = mooring.explain(objects, pod).to_dict()
    assert found["gated"] is True
    assert found["preEnqueue"]["DynamicResources"]["reasons"] == [
        'pod "default/p": ResourceClaim not created yet'
    ]
    gone = {**objects, "resourceSlices": []}
    pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "mine"}]  # type: ignore[index]
    assert mooring.explain(gone, pod).to_dict()["postFilterDynamicResources"] == {
        "code": "Unschedulable", "reasons": ["still not schedulable"],
    }  # fmt: skip
