"""The configurations that guides of other projects tell people to write."""

from pathlib import Path

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
from tests.unit.deploy.source_documents import DOCUMENTS, files_of

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
    return {Path(one.source).name: one for one in migrate_all(files_of(folder))}


def test_000_a_policy_without_predicates() -> None:
    found = documents("000")
    result = found["scheduler.yaml"]
    assert configuration(result.text)["extenders"] == [EXTENDER]
    assert names(profile_of(result.text), "filter") == CHECKED | LATER
    said = notes(result, action=True)
    assert "pods are placed on full nodes" in said
    # The pod mounts a ConfigMap of another name, with a file of another name.
    assert "config.yaml of ConfigMap my-scheduler-config, which is not among the given" in said
    assert "v1.15.0 is too old" in said
    assert "livenessProbe: port 10251" in said
    assert found["pod.yaml"].state == "other"


def test_001_a_policy_in_a_file() -> None:
    found = documents("001")
    config = configuration(found["extender-config.yaml"].text)
    assert config["extenders"] == [EXTENDER]
    assert config["clientConnection"] == {"kubeconfig": "/etc/kubernetes/scheduler.conf"}
    assert found["extender-policy.json"].state == "merged"
    # kubectl makes the ConfigMap of the files.
    said = notes(found["scheduler.yaml"], action=True)
    assert "not among the given files" not in said
    assert (
        "is extender-config.yaml of ConfigMap scheduler-extender, for which the file "
        "extender-config.yaml is taken; make the ConfigMap of it again: kubectl create configmap "
        "scheduler-extender -n kube-system --from-file=extender-config.yaml"
    ) in said


def test_002_a_second_scheduler() -> None:
    result = documents("002")["extender.yaml"]
    config = configuration(result.text)
    assert config["leaderElection"] == {
        "leaderElect": False,
        "resourceName": "my-scheduler",
        "resourceNamespace": "kube-system",
    }
    assert config["extenders"][0]["preemptVerb"] == "preemption"
    profile = profile_of(result.text)
    assert profile.scheduler_name == "my-scheduler"
    assert names(profile, "filter") == CHOSEN | LATER
    assert weights(profile) == {
        "NodeResourcesFit": 1,
        "NodeResourcesBalancedAllocation": 1,
        "PodTopologySpread": 1,
        "DynamicResources": 2,
    }


def test_003_a_plugin_that_scores_alone() -> None:
    found = documents("003")
    profile = profile_of(found["scheduler-config.yaml"].text)
    assert weights(profile) == {"NodeResourcesAllocatable": 1}
    assert found["kube-scheduler.yaml"].state == "other"
    said = notes(found["kube-scheduler.yaml"])
    assert "scheduler-config.yaml of ConfigMap own-scheduler-config, for which the file" in said


def test_004_an_extender_behind_a_node_port() -> None:
    result = documents("004")["scheduler.yaml"]
    config = configuration(result.text)
    assert config["leaderElection"] == {
        "leaderElect": True,
        "resourceName": "extended-scheduler",
        "resourceNamespace": "default",
    }
    extender = config["extenders"][0]
    assert extender["urlPrefix"] == "http://localhost:30036/my_scheduler_extension"
    assert (extender["prioritizeVerb"], extender["weight"]) == ("my_new_priorities/image_score", 1)
    profile = profile_of(result.text)
    assert profile.scheduler_name == "extended-scheduler"
    assert names(profile, "filter") == CHOSEN | LATER
    policy = next(
        one
        for one in yaml.safe_load_all(result.text)
        if one["metadata"]["name"] == "extended-scheduler-policy"
    )
    assert policy["data"] == {}


@pytest.mark.parametrize("folder", DOCUMENTS)
def test_the_result_needs_no_migration(folder: str) -> None:
    first = [one for one in documents(folder).values() if one.state != "merged"]
    again = migrate_all([(one.source, one.text) for one in first])
    assert {one.state for one in again} <= {"current", "other"}
    assert [one.text for one in again] == [one.text for one in first]
