import copy
from typing import Any

import pytest

from mooring.embedded.admission.pod_strategy import qos_class
from mooring.embedded.admission.strategy import prepare_for_create, prepare_for_update
from mooring.embedded.defaults.defaults import set_defaults
from mooring.embedded.resources import (
    CSI_DRIVERS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    POD_TEMPLATES,
    PODS,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    SERVICE_ACCOUNTS,
    SERVICES,
    STATEFUL_SETS,
    Obj,
    Resource,
)

NOW = "2026-01-01T00:00:00Z"
LATER = "2026-01-01T00:00:09Z"
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "nginx"}]},
}


def created(resource: Resource, metadata: Obj | None = None, **fields: Any) -> Obj:
    obj = {
        "metadata": {"name": "x", "uid": "u", "creationTimestamp": NOW, **(metadata or {})},
        **copy.deepcopy(fields),
    }
    set_defaults(resource, obj)
    prepare_for_create(resource, obj)
    return obj


def updated(resource: Resource, old: Obj, subresource: str = "", **fields: Any) -> Obj:
    obj = copy.deepcopy(old) | fields
    set_defaults(resource, obj)
    prepare_for_update(resource, obj, old, subresource, LATER)
    return obj


def pod(**spec: Any) -> Obj:
    labels = {"app": "web", "hash": "1"}
    given = {"containers": [{"name": "c", "image": "nginx"}], **spec}
    return created(PODS, {"labels": labels}, spec=given, status={"phase": "Running"})


def test_a_new_pod_is_pending() -> None:
    made = pod()

    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made["metadata"]["generation"] == 1


def test_a_gated_pod_says_so() -> None:
    assert pod(schedulingGates=[{"name": "g"}])["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": NOW,
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }
    ]


def test_label_keys_become_conditions() -> None:
    term = {"topologyKey": "z", "labelSelector": {}, "matchLabelKeys": ["hash", "none"]}
    against = {"topologyKey": "z", "labelSelector": {}, "mismatchLabelKeys": ["app"]}
    blind = {"topologyKey": "z", "matchLabelKeys": ["hash"]}
    wish = {"weight": 1, "podAffinityTerm": copy.deepcopy(term)}
    made = pod(
        affinity={
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [term],
                "preferredDuringSchedulingIgnoredDuringExecution": [wish],
            },
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [against, blind]},
        },
        topologySpreadConstraints=[
            {"labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["hash"]}
        ],
    )["spec"]
    mine = [{"key": "hash", "operator": "In", "values": ["1"]}]
    near, apart = made["affinity"]["podAffinity"], made["affinity"]["podAntiAffinity"]
    preferred = near["preferredDuringSchedulingIgnoredDuringExecution"][0]["podAffinityTerm"]

    first = near["requiredDuringSchedulingIgnoredDuringExecution"][0]
    assert first["labelSelector"] == preferred["labelSelector"] == {"matchExpressions": mine}
    one, other = apart["requiredDuringSchedulingIgnoredDuringExecution"]
    assert one["labelSelector"]["matchExpressions"] == [
        {"key": "app", "operator": "NotIn", "values": ["web"]}
    ]
    assert "labelSelector" not in other
    assert made["topologySpreadConstraints"][0]["labelSelector"] == {
        "matchLabels": {"a": "b"},
        "matchExpressions": mine,
    }


def _asking(requests: Obj | None = None, limits: Obj | None = None) -> Obj:
    return {"resources": {"requests": requests or {}, "limits": limits or {}}}


_FULL = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [{"resources": {}}]}, "BestEffort"),
        ({"containers": [_asking({"example.com/gpu": "1"})]}, "BestEffort"),
        ({"containers": [_asking({"cpu": "0"}, {"cpu": "0"})]}, "BestEffort"),
        ({"containers": [_asking({"cpu": "1"})]}, "Burstable"),
        ({"containers": [_asking(_FULL, _FULL)]}, "Guaranteed"),
        ({"containers": [_asking({"cpu": "1000m", "memory": "1024Mi"}, _FULL)]}, "Guaranteed"),
        ({"containers": [_asking(_FULL, {**_FULL, "cpu": "2"})]}, "Burstable"),
        ({"containers": [_asking({"cpu": "1"}, {"cpu": "1"})]}, "Burstable"),
        ({"containers": [_asking(_FULL, _FULL), {"resources": {}}]}, "Burstable"),
        (
            {"containers": [_asking(_FULL, _FULL)], "initContainers": [{"resources": {}}]},
            "Burstable",
        ),
        ({"containers": [{"resources": {}}], **_asking(_FULL, _FULL)}, "Guaranteed"),
        ({"containers": [_asking(_FULL, _FULL)], **_asking({"cpu": "1"})}, "Burstable"),
        ({"containers": [_asking(_FULL, _FULL)], **_asking()}, "BestEffort"),
    ],
)
def test_quality_of_service(spec: Obj, expected: str) -> None:
    assert qos_class(spec) == expected


def test_fields_of_features_that_are_off_are_dropped() -> None:
    made = pod(
        schedulingGroup={"podGroupName": "g"},
        containers=[{"name": "c", "lifecycle": {"stopSignal": "SIGTERM"}}],
    )["spec"]

    assert "schedulingGroup" not in made
    assert made["containers"][0]["lifecycle"] == {}


def test_a_pod_counts_its_changes() -> None:
    old = pod()

    same = updated(PODS, old, status={"phase": "Failed"})
    assert same["metadata"]["generation"] == 1
    assert same["status"]["phase"] == "Pending"
    changed = copy.deepcopy(old["spec"])
    changed["containers"][0]["image"] = "other"
    assert updated(PODS, old, spec=changed)["metadata"]["generation"] == 2


def test_a_kubelet_changes_the_status_only() -> None:
    old = pod()
    old["metadata"] |= {"ownerReferences": [{"uid": "o"}], "deletionTimestamp": NOW}
    old["metadata"]["deletionGracePeriodSeconds"] = 30
    old["status"]["observedGeneration"] = 4
    old["status"]["conditions"] = [{"type": "Ready", "status": "False", "observedGeneration": 3}]
    metadata = {"name": "x", "labels": {"new": "label"}, "generation": 9}
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "New", "status": "True"}],
    }

    made = updated(PODS, old, "status", metadata=metadata, status=status, spec={"containers": []})

    assert made["spec"] == old["spec"]
    assert made["metadata"] == {**old["metadata"], "labels": {"new": "label"}}
    assert (made["status"]["qosClass"], made["status"]["observedGeneration"]) == ("BestEffort", 4)
    observed = [one.get("observedGeneration") for one in made["status"]["conditions"]]
    assert observed == [3, None]


def test_a_new_namespace() -> None:
    namespace = created(NAMESPACES, spec={"finalizers": ["mine/x"]}, status={"phase": "Gone"})

    assert namespace["status"] == {"phase": "Active"}
    assert namespace["spec"]["finalizers"] == ["mine/x", "kubernetes"]
    old = created(NAMESPACES)
    assert updated(NAMESPACES, old, spec={})["spec"] == {"finalizers": ["kubernetes"]}
    emptied = updated(NAMESPACES, old, "finalize", spec={}, status={"phase": "Terminating"})
    assert (emptied["spec"], emptied["status"]) == ({}, {"phase": "Active"})


def test_a_node_is_created_with_its_status() -> None:
    status = {"capacity": {"cpu": "1"}, "config": {}}
    node = created(NODES, spec={"configSource": {}}, status=status)

    assert node["status"]["capacity"] == {"cpu": "1"}
    assert "config" not in node["status"]
    assert "configSource" not in node["spec"]
    assert updated(NODES, node, status={})["status"] == node["status"]
    ready = updated(NODES, node, "status", spec={"unschedulable": True}, status={"phase": "x"})
    assert ready["spec"] == node["spec"]
    assert ready["status"]["phase"] == "x"


def test_volumes_note_when_their_phase_changes() -> None:
    volume = created(PERSISTENT_VOLUMES, status={"phase": "Bound"})
    field = "lastPhaseTransitionTime"

    assert volume["status"] == {"phase": "Pending", field: NOW}
    bound = updated(PERSISTENT_VOLUMES, volume, "status", status={"phase": "Bound"})
    assert bound["status"] == {"phase": "Bound", field: LATER}
    same = updated(PERSISTENT_VOLUMES, volume, "status", status={"phase": "Pending"})
    assert same["status"] == {"phase": "Pending", field: NOW}


@pytest.mark.parametrize(
    ("given", "source", "reference"),
    [
        ({"dataSource": {"kind": "PersistentVolumeClaim", "name": "c"}}, True, True),
        ({"dataSource": {"kind": "Other", "name": "c"}}, False, False),
        ({"dataSourceRef": {"apiGroup": "a", "kind": "Other", "name": "c"}}, True, True),
        ({"dataSourceRef": {"kind": "Other", "name": "c", "namespace": "n"}}, False, False),
        ({}, False, False),
    ],
)
def test_claims_name_their_source_twice(given: Obj, source: bool, reference: bool) -> None:
    claim = created(PERSISTENT_VOLUME_CLAIMS, spec=given)

    assert ("dataSource" in claim["spec"]) is source
    assert ("dataSourceRef" in claim["spec"]) is reference
    assert claim["status"] == {"phase": "Pending"}
    assert updated(PERSISTENT_VOLUME_CLAIMS, claim)["spec"] == claim["spec"]


def test_a_job_selects_its_pods_by_its_id() -> None:
    job = created(JOBS, spec={"template": TEMPLATE}, status={"active": 3})
    labels = {
        "app": "web",
        "job-name": "x",
        "batch.kubernetes.io/job-name": "x",
        "controller-uid": "u",
        "batch.kubernetes.io/controller-uid": "u",
    }

    assert job["spec"]["template"]["metadata"]["labels"] == labels
    assert job["metadata"]["labels"] == labels
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert (job["status"], job["metadata"]["generation"]) == ({}, 1)
    own = created(JOBS, {"labels": {"my": "own"}}, spec={"template": TEMPLATE})
    assert own["metadata"]["labels"] == {"my": "own"}
    manual = created(JOBS, spec={"template": TEMPLATE, "manualSelector": True})
    assert "selector" not in manual["spec"]


def test_a_deployment_counts_changes_of_its_annotations_too() -> None:
    old = created(DEPLOYMENTS, spec={"template": TEMPLATE}, status={"replicas": 3})
    assert old["status"] == {}

    noted = {**old["metadata"], "annotations": {"a": "b"}, "generation": 50}
    assert updated(DEPLOYMENTS, old, metadata=noted)["metadata"]["generation"] == 2
    labelled = {**old["metadata"], "labels": {"a": "b"}}
    assert updated(DEPLOYMENTS, old, metadata=labelled)["metadata"]["generation"] == 1
    scaled = updated(DEPLOYMENTS, old, spec={**old["spec"], "replicas": 5})
    assert scaled["metadata"]["generation"] == 2
    status = updated(
        DEPLOYMENTS, old, "status", metadata=labelled, spec=scaled["spec"], status={"replicas": 5}
    )
    assert status["metadata"] == old["metadata"]
    assert (status["spec"], status["status"]) == (old["spec"], {"replicas": 5})


def test_a_daemon_set_counts_changes_of_its_template() -> None:
    old = created(DAEMON_SETS, spec={"template": TEMPLATE})
    key = "deprecated.daemonset.template.generation"

    assert old["metadata"]["annotations"] == {key: "1"}
    other = copy.deepcopy(old["spec"])
    other["template"]["spec"]["containers"][0]["image"] = "other"
    changed = updated(DAEMON_SETS, old, spec=other)
    assert changed["metadata"]["annotations"] == {key: "2"}
    assert changed["metadata"]["generation"] == 2
    slower = updated(DAEMON_SETS, old, spec={**old["spec"], "minReadySeconds": 5})
    assert slower["metadata"]["annotations"] == {key: "1"}
    assert slower["metadata"]["generation"] == 2


def test_kinds_without_status_are_numbered_or_not() -> None:
    template = created(POD_TEMPLATES, template=TEMPLATE)
    assert template["metadata"]["generation"] == 1
    other = copy.deepcopy(template["template"])
    other["metadata"]["labels"] = {"b": "c"}
    assert updated(POD_TEMPLATES, template, template=other)["metadata"]["generation"] == 2
    assert created(PRIORITY_CLASSES, value=1)["metadata"]["generation"] == 1
    assert "generation" not in created(SERVICES, spec={})["metadata"]
    driver = created(CSI_DRIVERS, spec={"preventPodSchedulingIfMissing": True})
    assert "preventPodSchedulingIfMissing" not in driver["spec"]
    changed = updated(CSI_DRIVERS, driver, spec={**driver["spec"], "attachRequired": False})
    assert changed["metadata"]["generation"] == 1


def test_small_matters() -> None:
    secrets = [{"name": "s", "namespace": "n"}, {}]
    assert created(SERVICE_ACCOUNTS, secrets=secrets)["secrets"] == [{"name": "s"}, {}]
    lease = created(LEASES, spec={"holderIdentity": "me", "strategy": "s", "preferredHolder": "p"})
    assert lease["spec"] == {"holderIdentity": "me"}
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}}
    stateful = created(STATEFUL_SETS, spec={"updateStrategy": rolling, "template": TEMPLATE})
    assert stateful["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 0}
    devices = [{"name": "d", "taints": [{"key": "k", "effect": "NoSchedule"}]}]
    made = created(RESOURCE_SLICES, spec={"devices": devices})["spec"]["devices"][0]["taints"]
    assert made == [{"key": "k", "effect": "NoSchedule", "timeAdded": NOW}]
    budget = created(POD_DISRUPTION_BUDGETS, spec={}, status={"disruptionsAllowed": 3})
    assert budget["status"]["disruptionsAllowed"] == 0
    balanced = {"loadBalancer": {"ingress": [{"ip": "1"}]}}
    service = created(SERVICES, spec={"type": "LoadBalancer"})
    service["status"] = balanced
    assert updated(SERVICES, service)["status"] == balanced
    plain = updated(SERVICES, service, spec={"type": "ClusterIP"})
    assert plain["status"] == {"loadBalancer": {}}


def test_the_status_of_a_claim_to_devices_is_all_that_can_be_written() -> None:
    old = created(RESOURCE_CLAIMS, {"labels": {"a": "b"}}, spec={"devices": {}})
    metadata = {"name": "x", "labels": {"c": "d"}, "finalizers": ["f"]}

    made = updated(RESOURCE_CLAIMS, old, "status", metadata=metadata, spec={})

    assert made["metadata"] == old["metadata"]
    assert made["spec"] == old["spec"]


def test_an_ending_object_goes_on_ending() -> None:
    old = created(REPLICA_SETS, spec={"template": TEMPLATE})
    old["metadata"] |= {"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0}

    made = updated(REPLICA_SETS, old, metadata={"name": "x", "creationTimestamp": LATER})

    assert made["metadata"] == old["metadata"]
