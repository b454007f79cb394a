"""The configurations that guides of other projects tell people to write."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.deploy.migration import Migrated, migrate_all
from tests.unit.deploy.migration.migrated_configuration import (
    configuration,
    names,
    notes,
    profile_of,
    weights,
)

DATA = Path(__file__).parent / "data"
EXTENDER = {
    "urlPrefix": "http://localhost:8888/",
    "filterVerb": "filter",
    "prioritizeVerb": "prioritize",
    "weight": 1,
    "enableHTTPS": False,
}
CHECKED = {"NodeUnschedulable", "TaintToleration"}
CHOSEN = CHECKED | {
    "NodeName", "NodePorts", "NodeAffinity", "NodeResourcesFit", "VolumeRestrictions"
}  # fmt: skip
LATER = {"DynamicResources", "NodeDeclaredFeatures"}


def documents(folder: str) -> dict[str, Migrated]:
    files = sorted((DATA / folder).iterdir())
    found = migrate_all([(one.name, one.read_text()) for one in files])
    return {one.source: one for one in found}


def test_000_a_policy_without_predicates() -> None:
    found = documents("000")
    config = found["scheduler-config.yaml"]
    assert configuration(config.text)["extenders"] == [EXTENDER]
    assert names(profile_of(config.text), "filter") == CHECKED | LATER
    said = notes(config, action=True)
    assert "pods are placed on full nodes" in said
    assert "--config=FOLDER/policy.cfg" in said
    said = notes(found["static-pod.yaml"], action=True)
    # It mounts a ConfigMap of another name, with a file of another name.
    assert "config.yaml of ConfigMap lucky-config, which is not among the given files" in said
    assert "v1.15.0 is too old" in said
    assert "livenessProbe: port 10251" in said


def test_001_a_policy_in_a_file() -> None:
    found = documents("001")
    config = configuration(found["scheduler-extender-config.yaml"].text)
    assert config["extenders"] == [EXTENDER]
    assert config["clientConnection"] == {"kubeconfig": "/etc/kubernetes/scheduler.conf"}
    assert config["leaderElection"] == {"leaderElect": False}
    assert found["scheduler-extender-policy.json"].state == "merged"


def test_002_a_second_scheduler() -> None:
    result = documents("002")["extender.yaml"]
    config = configuration(result.text)
    assert config["leaderElection"] == {
        "leaderElect": True,
        "resourceName": "second-scheduler",
        "resourceNamespace": "kube-system",
    }
    assert config["extenders"][0]["preemptVerb"] == "preemption"
    profile = profile_of(result.text)
    assert profile.scheduler_name == "second-scheduler"
    assert names(profile, "filter") == CHOSEN | LATER
    assert weights(profile) == {
        "NodeResourcesFit": 1,
        "NodeResourcesBalancedAllocation": 1,
        "PodTopologySpread": 1,
        "DynamicResources": 2,
    }
    deployment = list(yaml.safe_load_all(result.text))[-1]
    container: dict[str, Any] = deployment["spec"]["template"]["spec"]["containers"][0]
    assert "--logtostderr=true" not in container["args"]
    assert container["args"][-2:] == ["-v", "4"]


def test_003_a_plugin_that_scores_alone() -> None:
    found = documents("003")
    profile = profile_of(found["scheduler-config.yaml"].text)
    assert weights(profile) == {"NodeResourcesAllocatable": 1}
    assert found["kube-scheduler.yaml"].state == "other"
    assert notes(found["kube-scheduler.yaml"]) == ""


def test_004_an_extender_behind_a_node_port() -> None:
    found = documents("004")
    config = configuration(found["config.yaml"].text)
    assert config["leaderElection"] == {
        "leaderElect": True,
        "resourceName": "image-scheduler",
        "resourceNamespace": "default",
    }
    extender = config["extenders"][0]
    assert extender["urlPrefix"] == "http://localhost:30036/my_scheduler_extension"
    assert (extender["prioritizeVerb"], extender["weight"]) == ("my_new_priorities/image_score", 3)
    profile = profile_of(found["config.yaml"].text)
    assert profile.scheduler_name == "image-scheduler"
    assert names(profile, "filter") == CHOSEN | LATER
    assert yaml.safe_load(found["policy.yaml"].text)["data"] == {}


@pytest.mark.parametrize("folder", sorted(one.name for one in DATA.iterdir()))
def test_the_result_needs_no_migration(folder: str) -> None:
    first = [one for one in documents(folder).values() if one.state != "merged"]
    again = migrate_all([(one.source, one.text) for one in first])
    assert {one.state for one in again} <= {"current", "other"}
    assert [one.text for one in again] == [one.text for one in first]
