"""`moor run` in place of the real kube-scheduler v1.36.4 and beside it: same file, same words.

One configuration file is given to both, one after the other, and the same pods are scheduled by
both; what a user sees of them must not differ.
"""

import json
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.errors import ApiError
from mooring.testing.child_process import ProcessError
from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import BaseControlPlane, ControlPlane, KubeScheduler
from tests.e2e.pod_helpers import (
    described,
    events_of,
    node_of,
    nodes,
    note_of,
    pod,
    schedule,
    scheduled_condition,
    unschedulable,
)

RBAC = Path(__file__).parents[2] / "docs" / "samples" / "scheduler-rbac.yaml"
#: As an administrator has it: comments, two profiles, arguments, disabled plugins.
CONFIG = """
# The scheduler of the cluster.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: KUBECONFIG
leaderElection:
  leaderElect: false
parallelism: 8
percentageOfNodesToScore: 100
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 8
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources:
        - {name: cpu, weight: 3}
        - {name: memory, weight: 1}
- schedulerName: no-taints
  plugins:
    multiPoint:
      disabled:
      - name: TaintToleration
"""
FLEET: dict[str, dict[str, Any]] = {
    "small": {"cpu": "2", "labels": {"zone": "a"}},
    "large": {"cpu": "16", "labels": {"zone": "b"}},
    "tainted": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]},
}


def the_pods(namespace: str) -> list[dict[str, Any]]:
    """Pods of every fate, those that are bound first."""

    def make(name: str, **spec: Any) -> dict[str, Any]:
        return pod(name, namespace, spec.pop("scheduler", "default-scheduler"), **spec)

    def claims(*names: str) -> list[dict[str, Any]]:
        return [{"name": n, "persistentVolumeClaim": {"claimName": n}} for n in names]

    anti = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {}, "topologyKey": "zone"}
            ]
        }
    }
    labelled = make("by-label", nodeSelector={"zone": "b"})
    labelled["metadata"]["labels"] = {"app": "web"}
    ports = [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    spread = {
        "maxSkew": 1,
        "topologyKey": "rack",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
    }
    return [
        make("packed", requests={"cpu": "1"}),  # MostAllocated prefers the small node
        labelled,
        make("first-port", nodeSelector={"zone": "a"}, containers=ports),
        make("other-profile", scheduler="no-taints", requests={"cpu": "5"}, nodeName=None,
             nodeSelector={"kubernetes.io/hostname": "tainted"}),
        make("too-big", requests={"cpu": "100", "memory": "1Ti"}),
        make("nowhere", nodeSelector={"zone": "c"}),
        make("second-port", nodeSelector={"zone": "a"}, containers=ports),
        make("alone", affinity=anti),
        make("no-rack", topologySpreadConstraints=[spread]),
        make("no-claim", volumes=claims("missing")),
        make("claim-waits", volumes=claims("immediate")),
        make("no-class", volumes=claims("classless")),
        make("never-evicts", requests={"cpu": "15"}, preemptionPolicy="Never",
             priorityClassName="test-polite"),
    ]  # fmt: skip


def claim(name: str, namespace: str, storage_class: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "storageClassName": storage_class,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


@pytest.fixture
def cluster(plane: BaseControlPlane) -> Iterator[BaseControlPlane]:
    """Nodes, a storage class and a priority class."""
    polite = {"metadata": {"name": "test-polite"}, "value": 10, "preemptionPolicy": "Never"}
    plane.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **polite})
    plane.create(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "immediate"},
            "provisioner": "example.com/nobody",
        }
    )
    try:
        with nodes(plane, **FLEET):
            yield plane
    finally:
        api = {"PriorityClass": "scheduling.k8s.io/v1", "StorageClass": "storage.k8s.io/v1"}
        plane.delete("PriorityClass", "test-polite", api_version=api["PriorityClass"])
        plane.delete("StorageClass", "immediate", api_version=api["StorageClass"])


def outcome(plane: BaseControlPlane, namespace: str) -> dict[str, dict[str, Any]]:
    """Schedule the pods one after the other; what a user sees of each of them."""
    plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    plane.create(claim("immediate", namespace, "immediate"))
    plane.create(claim("classless", namespace, "nonexistent"))
    seen = {}
    for manifest in the_pods(namespace):
        name = manifest["metadata"]["name"]
        found = schedule(plane, manifest)
        bound = "nodeName" in found["spec"]
        note_of(plane, name, namespace, "Scheduled" if bound else "FailedScheduling")
        seen[name] = {
            "node": found["spec"].get("nodeName"),
            "condition": told(scheduled_condition(found)),
            "nominated": found["status"].get("nominatedNodeName"),
            "event": event_form(events_of(plane, name, namespace)[0], namespace),
            "describe": described(plane, name, namespace),
        }
    gated = pod("gated", namespace, "default-scheduler")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    plane.create(gated)
    # A pod that comes later is done: the gated one was not forgotten, it is held.
    schedule(plane, pod("after", namespace, "default-scheduler", nodeSelector={"zone": "b"}))
    found = plane.get("Pod", "gated", namespace)
    assert events_of(plane, "gated", namespace) == []
    seen["gated"] = {
        "condition": told(scheduled_condition(found)),
        "describe": described(plane, "gated", namespace),
    }
    return seen


def told(condition: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in condition.items() if not key.endswith("Time")}


def event_form(event: dict[str, Any], namespace: str) -> dict[str, Any]:
    """An event without what differs from one pod or process to the other."""
    instance, _, _ = event["reportingInstance"].rpartition("-")
    kept = {
        key: event[key].replace(namespace, "NAMESPACE")
        for key in ("reason", "note", "type", "action", "reportingController")
    }
    regarding = sorted(event["regarding"])
    series = {"series", "deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedCount"}
    fields = sorted(set(event) - series)
    return {**kept, "instance": instance, "regarding": regarding, "fields": fields}


@pytest.mark.kube  # kube-scheduler takes part
def test_a_configuration_file_of_kube_scheduler_gives_what_kube_scheduler_gives(
    cluster: BaseControlPlane, tmp_path: Path
) -> None:
    kubeconfig = cluster.kubeconfig_for("system:kube-scheduler", name="both-schedulers")
    file = tmp_path / "scheduler.yaml"
    file.write_text(CONFIG.replace("KUBECONFIG", str(kubeconfig)))
    namespaces = {"kube": "seen-by-kube", "moor": "seen-by-moor"}
    try:
        with KubeScheduler(cluster, file.read_text()):
            expected = outcome(cluster, namespaces["kube"])
        listed = cluster.kubectl("get", "events", "--namespace", namespaces["kube"])
        assert re.search(r"Normal +Scheduled +pod/packed +Successfully assigned", listed)
        cluster.delete_namespace(namespaces["kube"])
        # The very file: also the API server's address and who we are come from it.
        with MoorRun(cluster, file) as scheduler:
            found = outcome(cluster, namespaces["moor"])
            assert found == expected
            shown = json.loads(scheduler.get("/configz"))
            [configuration] = shown.values()
            assert [one["schedulerName"] for one in configuration["profiles"]] == [
                "default-scheduler", "no-taints",
            ]  # fmt: skip
        # What is compared is what one would expect.
        assert found["packed"]["node"] == "small"
        assert found["by-label"]["event"]["note"] == (
            "Successfully assigned NAMESPACE/by-label to large"
        )
        assert found["other-profile"]["node"] == "tainted"
        assert found["other-profile"]["event"]["reportingController"] == "no-taints"
        assert found["too-big"]["condition"]["reason"] == "Unschedulable"
        assert found["too-big"]["condition"]["message"].startswith(
            "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu"
        )
        assert found["gated"]["condition"]["reason"] == "SchedulingGated"
        assert "Warning FailedScheduling AGE default-scheduler" in found["nowhere"]["describe"]
    finally:
        for namespace in namespaces.values():
            if any(
                one["metadata"]["name"] == namespace for one in cluster.list_objects("Namespace")
            ):
                cluster.delete_namespace(namespace)


@pytest.mark.kube  # kube-scheduler takes part
def test_it_works_beside_kube_scheduler_and_sees_what_that_binds(
    plane: BaseControlPlane, namespace: str
) -> None:
    with (
        nodes(plane, one={"cpu": "2"}, two={"cpu": "2"}),
        KubeScheduler(plane),
        MoorRun(plane, args=["--scheduler-name", "beside"]) as scheduler,
    ):
        theirs = [pod(f"theirs-{n}", namespace, "default-scheduler", requests={"cpu": "1500m"})
                  for n in range(2)]  # fmt: skip
        plane.create(theirs[0])
        first = node_of(plane, "theirs-0", namespace)
        plane.wait_for(
            lambda: (
                'mooring_foreign_binds_total{scheduler="default-scheduler"} 1.0'
                in scheduler.metrics()
            ),
            "the other scheduler's binding to be counted",
        )
        ours = schedule(plane, pod("ours", namespace, "beside", requests={"cpu": "1"}))
        assert ours["spec"]["nodeName"] != first
        # And the other way round: no room is left that kube-scheduler could use.
        rejected = schedule(plane, theirs[1])
        assert scheduled_condition(rejected)["message"].startswith(
            "0/2 nodes are available: 2 Insufficient cpu."
        )
        plane.create(pod("third", namespace, "beside", requests={"cpu": "1500m"}))
        unschedulable(plane, "third", namespace, "0/2 nodes are available: 2 Insufficient cpu.")
        assert "scheduler default-scheduler binds pods to the same nodes" in scheduler.log()
        # A pod that goes makes room at once.
        plane.delete("Pod", "ours", namespace)
        plane.wait_for(
            lambda: any(
                plane.get("Pod", name, namespace)["spec"].get("nodeName")
                for name in ("third", "theirs-1")
            ),
            "a waiting pod to take the place",
            60,
        )


@pytest.mark.kube  # the embedded API server knows no permissions
def test_it_runs_with_the_documented_rights_and_no_others(
    control_plane: ControlPlane, namespace: str
) -> None:
    plane = control_plane
    documents = list(yaml.safe_load_all(RBAC.read_text()))
    plane.kubectl("apply", f"--filename={RBAC}")
    account = "system:serviceaccount:kube-system:mooring-scheduler"
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/mooring-scheduler"
    try:
        kubeconfig = plane.kubeconfig_with_token("kube-system", "mooring-scheduler")
        plane.wait_for(
            lambda: may(plane, account, "create", "pods/binding"), "permissions to be granted"
        )
        for verb, resource in [
            ("create", "pods"), ("update", "pods"), ("patch", "nodes"), ("get", "secrets"),
            ("delete", "persistentvolumeclaims"), ("deletecollection", "pods"),
        ]:  # fmt: skip
            assert not may(plane, account, verb, resource), f"{verb} {resource}"
        args = ["--scheduler-name", "mooring-scheduler", "--leader-elect"]
        low = {"nodeName": "only", "requests": {"cpu": "3"}}
        with (
            nodes(plane, only={"cpu": "4"}),
            MoorRun(plane, args=args, kubeconfig=kubeconfig) as scheduler,
        ):
            plane.create(pod("low", namespace, "nobody", **low))
            plane.create(pod("bound", namespace, "mooring-scheduler"))
            assert node_of(plane, "bound", namespace) == "only"
            note_of(plane, "bound", namespace, "Scheduled")
            held = plane.request("GET", lease)["spec"]["holderIdentity"]
            assert held
            high = pod("high", namespace, "mooring-scheduler", requests={"cpu": "2"})
            high["spec"]["priorityClassName"] = "system-node-critical"
            plane.create(high)
            note_of(plane, "low", namespace, "Preempted")
            plane.delete("Pod", "low", namespace)  # there is no kubelet that would end it
            assert node_of(plane, "high", namespace) == "only"
            scheduler.stop()
            assert plane.request("GET", lease)["spec"].get("holderIdentity", "") == ""
            log = scheduler.log()
        assert "forbidden" not in log.lower()
        assert " stopped" in log
    finally:
        for document in documents:
            place = document["metadata"].get("namespace", "")
            plane.kubectl(
                "delete", document["kind"], document["metadata"]["name"], "--ignore-not-found",
                f"--namespace={place}",
            )  # fmt: skip
        with suppress(ApiError):
            plane.request("DELETE", lease)


def may(plane: BaseControlPlane, user: str, verb: str, resource: str) -> bool:
    """Whether a user has a permission in the whole cluster."""
    kind, _, subresource = resource.partition("/")
    attributes = {"verb": verb, "resource": kind, "subresource": subresource}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes},
    }
    allowed: bool = plane.create(review)["status"]["allowed"]
    return allowed


@pytest.mark.kube  # the embedded API server knows no permissions
def test_missing_permissions_end_it_with_a_sentence_that_names_them(
    control_plane: ControlPlane,
) -> None:
    kubeconfig = control_plane.kubeconfig_for("nobody-at-all")
    with pytest.raises(ProcessError) as raised:
        MoorRun(control_plane, kubeconfig=kubeconfig).start()
    said = str(raised.value)
    assert "ended with status 1" in said or "ended with status 2" in said
    assert 'cannot list resource "' in said
    assert "Traceback" not in said


def test_health_metrics_and_a_clean_end(plane: BaseControlPlane, namespace: str) -> None:
    with nodes(plane, one={}), MoorRun(plane) as scheduler:
        for path in ("/healthz", "/livez", "/readyz"):
            assert scheduler.get(path) == "ok"
        schedule(plane, pod("p", namespace, "default-scheduler"))
        note_of(plane, "p", namespace, "Scheduled")
        schedule(plane, pod("big", namespace, "default-scheduler", requests={"cpu": "100"}))
        metrics = scheduler.metrics()
        for line in (
            'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1.0',
            'scheduler_pending_pods{queue="unschedulable"} 1.0',
            'scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"} 1',
        ):
            assert line in metrics
        process = scheduler
        process.send(signal.SIGTERM)
        assert process.wait_ended() == 0
        assert "stopping: no new pods are scheduled" in process.log()
