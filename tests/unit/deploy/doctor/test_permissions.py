import dataclasses
from pathlib import Path

import yaml

import mooring as mr
from mooring.deploy.doctor.evidence import Permission
from mooring.deploy.doctor.gathering import evidence_of, policy_evidence
from mooring.deploy.doctor.permissions import (
    as_rules,
    in_words,
    needed_permissions,
    scheduler_permissions,
)
from tests.unit.deploy.doctor.cases import CONFIG, EXTENDER

SAMPLE = Path(__file__).parents[4] / "docs" / "samples" / "scheduler-rbac.yaml"
LEASE = ("kube-system", "mooring-scheduler")


def test_what_a_scheduler_needs_is_in_the_documented_role() -> None:
    """Which also has get for what is watched, and devices, which need not be there."""
    allowed = {
        Permission(verb, resource, group, document["metadata"].get("namespace", ""), name)
        for document in yaml.safe_load_all(SAMPLE.read_text())
        for rule in document.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
        if group != "resource.k8s.io"
    }
    needed = set(scheduler_permissions(lease=LEASE))
    assert needed <= allowed
    assert {one.verb for one in allowed - needed} == {"get"}


def test_a_scheduler_with_fewer_plugins_needs_less() -> None:
    point = {"disabled": [{"name": "*"}]}
    binds = {"enabled": [{"name": "DefaultBinder"}]}
    sorts = {"enabled": [{"name": "PrioritySort"}]}
    plugins = {"multiPoint": point, "bind": binds, "queueSort": sorts}
    settings = {"profiles": [{"schedulerName": "small", "plugins": plugins}]}
    needed = scheduler_permissions(settings)
    read = [one.resource for one in needed if one.verb == "watch"]
    assert sorted(read) == ["nodes", "pods"]


def of_extender(config: str = CONFIG, extender: str = EXTENDER) -> set[Permission]:
    [found] = needed_permissions(evidence_of([("c.yaml", config), ("e.yaml", extender)]))
    return set(found.permissions)


def test_an_extender_needs_less() -> None:
    binds = CONFIG.replace("  weight", "  bindVerb: bind\n  weight")
    assert of_extender() == {Permission(verb, "nodes") for verb in ("list", "watch")}
    assert of_extender() < of_extender(binds) < set(scheduler_permissions())
    alone = EXTENDER.replace("policy.py]", "policy.py, --no-node-cache]")
    assert of_extender(extender=alone) == set()


def test_an_extender_whose_policy_reads_devices_needs_these() -> None:
    policy = mr.Policy("gpus", usage=False)
    policy.filter(name="free")(lambda pod, node: bool(node.devices.free))  # noqa: ARG005
    evidence = evidence_of([("c.yaml", CONFIG), ("e.yaml", EXTENDER)])
    read = dataclasses.replace(evidence, policy=policy_evidence(evidence, policy, "policy.py"))
    [found] = needed_permissions(read)
    assert set(found.permissions) - of_extender() == {
        Permission(verb, what, "resource.k8s.io")
        for verb in ("list", "watch")
        for what in ("resourceslices", "resourceclaims")
    }


def test_permissions_in_words() -> None:
    lease = Permission("get", "leases", "coordination.k8s.io", "kube-system", "packer")
    read = [Permission(verb, what) for what in ("nodes", "pods") for verb in ("list", "watch")]
    assert in_words([*read, lease]) == (
        "list, watch nodes, pods; get leases.coordination.k8s.io packer in kube-system"
    )


def test_permissions_as_rules() -> None:
    lease = Permission("get", "leases", "coordination.k8s.io", "kube-system", "packer")
    read = [Permission(verb, what) for what in ("nodes", "pods") for verb in ("list", "watch")]
    first, second = as_rules([*read, lease])
    assert first == '{apiGroups: [""], resources: [nodes, pods], verbs: [list, watch]}'
    assert second == (
        "{apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [packer], "
        "verbs: [get]}"
    )
