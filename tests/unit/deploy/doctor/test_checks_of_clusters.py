"""Checks of a cluster, as data; and the same checks after the advice was followed."""

import dataclasses
from typing import Any

import pytest

from mooring.deploy.doctor.evidence import (
    ClusterEvidence,
    Evidence,
    Permission,
    PermissionAnswer,
    PodOutlook,
    PolicyEvidence,
)
from mooring.deploy.doctor.findings import CheckResult, DoctorSeverity, run_check
from mooring.deploy.doctor.fixes import apply_edits
from mooring.deploy.doctor.gathering import evidence_of, policy_evidence
from mooring.deploy.doctor.permissions import scheduler_permissions
from mooring.deploy.doctor.registry import CHECKS
from mooring.framework.policy import Policy
from mooring.model.node import Node
from mooring.model.pod import Pod
from tests.unit.deploy.doctor.cases import CONFIG, POD

BY_ID = {one.id: one for one in CHECKS}


def result(check: str, evidence: Evidence) -> CheckResult:
    return run_check(BY_ID[check], evidence)


def judged(check: str, **fields: Any) -> CheckResult:
    return result(check, Evidence(cluster=ClusterEvidence(**fields)))


def node(name: str, *taints: str) -> dict[str, Any]:
    effects = [{"key": "k", "effect": effect} for effect in taints]
    return {"metadata": {"name": name}, "spec": {"taints": effects}}


def pod(name: str, scheduler: str = "default-scheduler", **more: Any) -> dict[str, Any]:
    status = {key: more[key] for key in ("phase", "reason", "conditions") if key in more}
    spec = {"schedulerName": scheduler, "nodeName": more.get("node", "")}
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": spec, "status": status}


@pytest.mark.parametrize("check", ["versions", "clock-skew", "permissions", "one-feasible-node"])
def test_without_a_cluster_nothing_is_checked(check: str) -> None:
    assert "--kubeconfig" in result(check, Evidence()).reason
    assert judged(check, problem="it is gone").reason == "the cluster cannot be read"


def test_a_cluster_that_does_not_answer() -> None:
    [found] = judged("cluster-reachable", problem="It cannot be reached.").findings
    assert found.what == "It cannot be reached."
    assert judged("cluster-reachable").severity is DoctorSeverity.OK


def test_what_we_may_not_read_is_said_with_the_permission() -> None:
    unreadable = Permission("list", "nodes"), Permission("list", "pods")
    found = Evidence(cluster=ClusterEvidence(unreadable=unreadable))
    [said] = result("cluster-reachable", found).findings
    assert said.severity is DoctorSeverity.WARNING
    assert said.what == (
        "The user of the kubeconfig may not list nodes, pods, so what needs them is not checked."
    )
    assert said.advice == (
        'Bind to it a ClusterRole with the rules {apiGroups: [""], resources: [nodes, pods], '
        "verbs: [list]}."
    )
    reason = "listing nodes is forbidden"
    assert result("one-feasible-node", found).reason == reason
    assert result("second-scheduler", found).reason == "listing pods is forbidden"
    extender = evidence_of([("config.yaml", CONFIG)])
    extender = dataclasses.replace(extender, cluster=found.cluster)
    assert result("node-cache-size", extender).reason == reason


def test_a_name_that_a_hidden_pod_may_serve_is_a_warning() -> None:
    unreadable = (Permission("list", "pods"),)
    files = evidence_of([("pod.yaml", POD)])
    for one, severity in ((unreadable, DoctorSeverity.WARNING), ((), DoctorSeverity.ERROR)):
        cluster = ClusterEvidence(unreadable=one)
        [said] = result("scheduler-name", dataclasses.replace(files, cluster=cluster)).findings
        assert said.severity is severity


@pytest.mark.parametrize(
    ("version", "says"),
    [("v1.36.4", ""), ("v1.30.1", ""), ("v1.20.0", "no kubescheduler"), ("v1.40.0", "newer than")],
)
def test_versions_of_the_api_server(version: str, says: str) -> None:
    found = judged("versions", version=version).findings
    assert [says in one.what for one in found] == ([True] if says else [])


def test_an_old_python() -> None:
    old = Evidence(cluster=ClusterEvidence(version="v1.36.4"), python=(3, 9))
    [found] = result("versions", old).findings
    assert found.what == "This is Python 3.9, and mooring needs 3.11 or newer."


@pytest.mark.parametrize(
    ("skew", "says"),
    [(None, ""), (1.5, ""), (-4, ""), (61.0, "61 s ahead of"), (-3600, "3600 s behind")],
)
def test_clocks_that_differ(skew: float | None, says: str) -> None:
    found = judged("clock-skew", skew_seconds=skew).findings
    assert [says in one.what for one in found] == ([True] if says else [])


def test_permissions_that_are_missing_are_named() -> None:
    answers = [
        PermissionAnswer("joe", one, allowed=one.resource != "pods/binding")
        for one in scheduler_permissions(lease=("kube-system", "packer"))
    ]
    [found] = judged("permissions", permissions=tuple(answers)).findings
    assert found.what == "joe lacks 1 permission that moor run needs: create pods/binding."
    allowed = [one._replace(allowed=True) for one in answers]
    assert judged("permissions", permissions=tuple(allowed)).severity is DoctorSeverity.OK
    unknown = judged("permissions", permissions_unknown="we may not ask")
    assert unknown.reason == "we may not ask"


def test_one_node_that_takes_pods_is_no_choice() -> None:
    nodes = node("main", "NoSchedule"), node("worker", "PreferNoSchedule")
    [found] = judged("one-feasible-node", nodes=nodes).findings
    assert found.what == "1 of 2 nodes takes ordinary pods, so no score is ever asked."
    assert "kubectl taint node main TAINT-" in found.advice
    untainted = node("main"), node("worker")
    assert judged("one-feasible-node", nodes=untainted).severity is DoctorSeverity.OK


def test_a_pod_that_fits_on_one_node_is_named() -> None:
    outlooks = PodOutlook("shop/gpu", 1, 5), PodOutlook("shop/web", 4, 5)
    [found] = judged("one-feasible-node", nodes=(node("a"),), outlooks=outlooks).findings
    assert found.what == "shop/gpu fits on one node alone (of 5), so no score is asked about it."


def test_two_schedulers_that_overfill_a_node() -> None:
    pods = (
        pod("a", node="n1", phase="Running"),
        pod("b", "packer", node="n1", phase="Running"),
        pod("c", "packer", node="n1", phase="Failed", reason="OutOfcpu"),
    )
    [found] = judged("second-scheduler", pods=pods).findings
    assert found.what == (
        "default-scheduler and packer place pods on the same 1 node, and kubelets rejected 1 pod "
        "for want of room (OutOfcpu: shop/c on n1)."
    )
    # kubectl delete pods -A --field-selector status.phase=Failed
    assert judged("second-scheduler", pods=pods[:2]).severity is DoctorSeverity.OK
    apart = (pods[0], pod("b", "packer", node="n2", phase="Running"), pods[2])
    assert judged("second-scheduler", pods=apart).severity is DoctorSeverity.OK


def test_pods_that_wait_for_a_scheduler_nobody_has_seen() -> None:
    waiting = pod("a", "paker"), pod("b", "paker")
    [found] = judged("scheduler-name", pods=waiting).findings
    assert found.what == (
        "2 pods with schedulerName paker waited for a scheduler that nobody has seen: shop/a, "
        "shop/b."
    )
    condition = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    seen = (*waiting, pod("c", "paker", conditions=condition))
    assert judged("scheduler-name", pods=seen).severity is DoctorSeverity.OK
    event = {"reason": "Scheduled", "source": {"component": "paker"}}
    found_by_event = judged("scheduler-name", pods=waiting, events=(event,))
    assert found_by_event.severity is DoctorSeverity.OK


@pytest.mark.parametrize(("nodes", "findings"), [(200, 0), (201, 1)])
def test_whole_nodes_are_too_much_beyond_two_hundred(nodes: int, findings: int) -> None:
    config = CONFIG.replace("nodeCacheCapable: true", "nodeCacheCapable: false")

    def judge(text: str) -> CheckResult:
        evidence = evidence_of([("config.yaml", text)])
        many = ClusterEvidence(nodes=tuple(node(f"n{place}") for place in range(nodes)))
        return result(
            "node-cache-size",
            Evidence(
                configurations=evidence.configurations, extenders=evidence.extenders, cluster=many
            ),
        )

    found = judge(config).findings
    assert len(found) == findings
    for one in found:
        assert judge(apply_edits(config, one.edits)).severity is DoctorSeverity.OK


def scoring(weight: int | None, config: str = "") -> Evidence:
    policy = Policy("packing", weight=weight) if weight else Policy("packing")

    @policy.score
    def same(_pod: Pod, _node: Node) -> float:
        return 1

    evidence = evidence_of([("config.yaml", config)] if config else [])
    found: PolicyEvidence = policy_evidence(evidence, policy, "policy.py")
    return Evidence(policy=found)


def test_a_policy_whose_weight_decides_nothing() -> None:
    [found] = result("policy-say", scoring(1)).findings
    assert "policy packing can decide 7% of a node's total score (weight 1 of 15)" in found.what
    assert found.advice.startswith("Write weight=14 in mr.Policy(...)")
    assert result("policy-say", scoring(14)).severity is DoctorSeverity.OK
    assert result("policy-say", scoring(None)).severity is DoctorSeverity.OK


def test_a_policy_that_no_profile_asks() -> None:
    config = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- schedulerName: packer\n  plugins:\n    score:\n      disabled:\n      - name: packing\n"
    )
    [found] = result("policy-say", scoring(None, config)).findings
    assert "the profile packer does not ask it" in found.what
    enabled = config.partition("  plugins:")[0]
    assert result("policy-say", scoring(None, enabled)).severity is DoctorSeverity.OK
