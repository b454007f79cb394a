"""What the embedded API server stores, compared with what the real one stores."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from mooring.embedded.resources import Obj
from mooring.embedded.schema.canonical_values import canonical, canonical_resource
from mooring.testing.real_kubernetes import ControlPlane
from tests.e2e.real_and_embedded import RealAndEmbedded, comparable, read_objects, without_times
from tools.stored_form import TARGET, default_modules, document

pytestmark = pytest.mark.kube

OBJECTS = read_objects()


@pytest.fixture
def both(control_plane: ControlPlane, namespace: str) -> Iterator[RealAndEmbedded]:
    stored = RealAndEmbedded(control_plane, namespace)
    yield stored
    stored.clean()


@pytest.mark.parametrize("name", OBJECTS)
def test_a_new_object_is_stored_as_the_real_one_stores_it(both: RealAndEmbedded, name: str) -> None:
    real, ours = both.create(OBJECTS[name])

    assert without_times(comparable(ours)) == without_times(comparable(real))


@pytest.mark.parametrize("name", OBJECTS)
def test_what_is_stored_is_not_changed_by_being_stored_again(
    both: RealAndEmbedded, name: str
) -> None:
    real, _ = both.create(OBJECTS[name])

    again, ours = both.update(real, lambda _: None)

    assert comparable(ours) == comparable(again)
    assert again["metadata"].get("generation") == real["metadata"].get("generation")


def _replicas(obj: Obj) -> None:
    obj["spec"]["replicas"] = 5


def _image(obj: Obj) -> None:
    obj["spec"]["template"]["spec"]["containers"][0]["image"] = "other:1"


def _annotation(obj: Obj) -> None:
    obj["metadata"].setdefault("annotations", {})["a"] = "b"


def _status(obj: Obj) -> None:
    obj["status"] = {"observedGeneration": 9, "replicas": 7}


def _forgetful(obj: Obj) -> None:
    """A client that sends only what it knows."""
    for field in ("generation", "creationTimestamp", "managedFields"):
        obj["metadata"].pop(field, None)
    for field in ("priority", "preemptionPolicy", "tolerations", "clusterIP", "clusterIPs"):
        obj["spec"].pop(field, None)
    obj["metadata"]["generation"] = 77


def _to_node_port(obj: Obj) -> None:
    obj["spec"]["type"] = "NodePort"


def _to_cluster_ip(obj: Obj) -> None:
    obj["spec"]["type"] = "ClusterIP"


def _to_external(obj: Obj) -> None:
    obj["spec"].update(type="ExternalName", externalName="example.com")


def _pod_image(obj: Obj) -> None:
    obj["spec"]["containers"][0]["image"] = "other:2"


def _gates(obj: Obj) -> None:
    obj["spec"]["schedulingGates"] = []


def _unschedulable(obj: Obj) -> None:
    obj["spec"]["unschedulable"] = True
    obj["status"] = {}


def _suspend(obj: Obj) -> None:
    obj["spec"]["suspend"] = True


def _finalizers(obj: Obj) -> None:
    obj["spec"]["finalizers"] = []
    obj["metadata"].pop("labels")


def _min_available(obj: Obj) -> None:
    obj["spec"]["minAvailable"] = "50%"


def _egress(obj: Obj) -> None:
    obj["spec"]["egress"] = [{"ports": [{"port": 53}]}]


_CHANGES = [
    (name, change)
    for names, changes in [
        (["Deployment/web", "ReplicaSet/rs", "StatefulSet/db"], [_replicas, _annotation, _status]),
        (["Deployment/web", "DaemonSet/agent", "ReplicaSet/rs"], [_image]),
        (["DaemonSet/agent", "Job/job", "Service/plain"], [_annotation, _status]),
        (["Pod/minimal", "Service/plain", "Service/node-port", "Pod/critical"], [_forgetful]),
        (["Pod/minimal"], [_pod_image, _annotation]),
        (["Pod/gated"], [_gates]),
        (["Service/plain"], [_to_node_port, _to_external]),
        (["Service/node-port", "Service/balanced"], [_to_cluster_ip]),
        (["Node/full"], [_unschedulable]),
        (["Job/job", "CronJob/cron"], [_suspend]),
        (["Namespace/space"], [_finalizers]),
        (["PodDisruptionBudget/pdb"], [_min_available]),
        (["NetworkPolicy/closed"], [_egress, _annotation]),
        (["ConfigMap/full", "PriorityClass/high"], [_annotation]),
    ]
    for name, change in itertools.product(names, changes)
]


@pytest.mark.parametrize(("name", "change"), _CHANGES)
def test_a_change_is_stored_as_the_real_one_stores_it(
    both: RealAndEmbedded, name: str, change: Callable[[Obj], None]
) -> None:
    old, _ = both.create(OBJECTS[name])

    real, ours = both.update(old, change)

    assert comparable(ours) == comparable(real)


def _pod_status(obj: Obj) -> None:
    obj["spec"]["containers"][0]["image"] = "not:changed"
    obj["metadata"]["labels"] = {"set": "by-kubelet"}
    obj["metadata"]["ownerReferences"] = []
    obj["status"] = {
        "phase": "Running",
        "podIP": "10.1.2.3",
        "hostIP": "10.0.0.1",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [
            {"name": "c", "image": "a", "imageID": "x", "state": {"running": {}}}
        ],
    }


def _node_status(obj: Obj) -> None:
    obj["spec"]["unschedulable"] = True
    obj["metadata"]["labels"] = {"new": "label"}
    obj["status"]["capacity"] = {"cpu": "8000m", "memory": "1024Mi"}
    obj["status"].pop("allocatable", None)


def _replica_status(obj: Obj) -> None:
    obj["spec"]["replicas"] = 9
    obj["metadata"]["labels"] = {"new": "label"}
    obj["metadata"]["annotations"] = {"new": "annotation"}
    obj["status"] = {"observedGeneration": 1, "replicas": 7}


def _volume_status(obj: Obj) -> None:
    obj["spec"]["capacity"] = {"storage": "5Gi"}
    obj["status"]["phase"] = "Pending"


def _claim_status(obj: Obj) -> None:
    obj["metadata"]["labels"] = {"new": "label"}
    obj["spec"] = {**obj["spec"], "volumeName": "x"}
    obj["status"] = {"phase": "Bound", "capacity": {"storage": "1024Mi"}}


def _budget_status(obj: Obj) -> None:
    obj["spec"]["minAvailable"] = 7
    obj["status"] = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("Pod/minimal", _pod_status),
        ("Pod/gated", _pod_status),
        ("Node/full", _node_status),
        ("Node/bare", _node_status),
        ("Deployment/web", _replica_status),
        ("ReplicaSet/rs", _replica_status),
        ("StatefulSet/db", _replica_status),
        ("PersistentVolume/local", _volume_status),
        ("PersistentVolumeClaim/claim", _claim_status),
        ("PodDisruptionBudget/pdb", _budget_status),
    ],
)
def test_a_change_of_the_status_is_stored_as_the_real_one_stores_it(
    both: RealAndEmbedded, name: str, change: Callable[[Obj], None]
) -> None:
    old, _ = both.create(OBJECTS[name])

    real, ours = both.update(old, change, "status")

    assert without_times(comparable(ours)) == without_times(comparable(real))


_AMOUNTS = (
    "1000m", "0.5", "1024Ki", "1.5Gi", "2000Mi", "1.500", "1e3", "12e2", "1E3", "100u", "0.0001",
    "500Ki", "1.5", "4096", "0.5Ki", "1.1Ki", "5n", "010", "+5", "1000", "1000000", "1.000000",
    "0", "0Mi", "00", "1.234567", "123456789012345678", "1000n", "1500000n", "1.", ".5", "0.10",
    "1000Mi", "1048576Ki", "3072Mi", "100G", "1000G", "1.5e3", "1e-3", "15e-1", "2.50", "1.0001Gi",
    "1T", "1000T", "1P", "1Pi", "1024Ti", "9007199254740993", "0.001", "1.000", "100000m",
)  # fmt: skip


def test_amounts_are_written_as_the_real_one_writes_them(both: RealAndEmbedded) -> None:
    containers = [
        {"name": f"c{number}", "image": "a:1", "resources": {"requests": {"cpu": text}}}
        for number, text in enumerate(_AMOUNTS)
    ]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "amounts"}}
    real, _ = both.create({**pod, "spec": {"containers": containers}})
    written = [one["resources"]["requests"]["cpu"] for one in real["spec"]["containers"]]

    assert dict(zip(_AMOUNTS, map(canonical_resource, _AMOUNTS), strict=True)) == dict(
        zip(_AMOUNTS, written, strict=True)
    )


def test_amounts_that_are_no_resources_are_not_rounded(both: RealAndEmbedded) -> None:
    devices = [
        {"name": f"d{number}", "capacity": {"a": {"value": text}}}
        for number, text in enumerate(_AMOUNTS)
    ]
    pool = {"name": "p", "resourceSliceCount": 1, "generation": 1}
    real, _ = both.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "amounts"},
            "spec": {"driver": "d.example.com", "nodeName": "n", "pool": pool, "devices": devices},
        }
    )
    written = [one["capacity"]["a"]["value"] for one in real["spec"]["devices"]]

    assert dict(zip(_AMOUNTS, map(canonical, _AMOUNTS), strict=True)) == dict(
        zip(_AMOUNTS, written, strict=True)
    )


def test_the_table_of_written_forms_is_that_of_this_version() -> None:
    try:
        text = document(default_modules())
    except FileNotFoundError:
        pytest.skip("the Go sources are not on this machine")

    assert TARGET.read_text() == text
