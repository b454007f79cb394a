import copy
from typing import Any

import pytest

from mooring.embedded.admission.admission import Admission, check_namespace_delete
from mooring.embedded.defaults.defaults import set_defaults
from mooring.embedded.resources import (
    CONFIG_MAPS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    PRIORITY_CLASSES,
    STORAGE_CLASSES,
    Obj,
    Resource,
)
from mooring.embedded.status_errors import StatusError
from mooring.embedded.store import Store

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"


@pytest.fixture
def store() -> Store:
    store = Store()
    put(store, NAMESPACES, "here", status={"phase": "Active"})
    return store


def put(store: Store, resource: Resource, name: str, **fields: Any) -> None:
    metadata = {"name": name, **fields.pop("metadata", {})}
    if resource.namespaced:
        metadata["namespace"] = "here"
    kind = {"kind": resource.kind, "apiVersion": resource.api_version}
    store.put(resource, {**kind, "metadata": metadata, **fields})


def pod(**spec: Any) -> Obj:
    return {
        "metadata": {"name": "p", "namespace": "here"},
        "spec": {"containers": [{"name": "c", "image": "nginx"}], **spec},
    }


def admitted(
    admission: Admission, resource: Resource, obj: Obj, old: Obj | None = None, part: str = ""
) -> Obj:
    obj = copy.deepcopy(obj)
    set_defaults(resource, obj)
    admission.admit(resource, obj, old, part)
    return obj


def rejection(admission: Admission, resource: Resource, obj: Obj) -> StatusError:
    with pytest.raises(StatusError) as caught:
        admitted(admission, resource, obj)
    return caught.value


def test_a_namespace_has_to_exist(store: Store) -> None:
    lost = {"metadata": {"name": "c", "namespace": "nowhere"}}

    rejected = rejection(Admission(store), CONFIG_MAPS, lost)

    assert (rejected.code, str(rejected)) == (404, 'namespaces "nowhere" not found')


def test_an_ending_namespace_takes_nothing_new(store: Store) -> None:
    admission = Admission(store)
    obj = {"metadata": {"name": "c", "namespace": "here"}}
    admitted(admission, CONFIG_MAPS, obj)
    put(store, NAMESPACES, "here", status={"phase": "Terminating"})

    rejected = rejection(admission, CONFIG_MAPS, obj)

    assert rejected.code == 403
    assert str(rejected) == (
        'configmaps "c" is forbidden: unable to create new content in namespace here because it '
        "is being terminated"
    )
    assert rejected.status["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace here is being terminated",
            "field": "metadata.namespace",
        }
    ]
    admitted(admission, CONFIG_MAPS, obj, old=obj)
    put(store, NAMESPACES, "here", status={"phase": "Active"})
    admitted(admission, CONFIG_MAPS, obj)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_stay(name: str) -> None:
    with pytest.raises(StatusError, match="this namespace may not be deleted"):
        check_namespace_delete(name)


def test_other_namespaces_may_go() -> None:
    check_namespace_delete("kube-node-lease")


def priority(obj: Obj) -> tuple[str | None, int, str]:
    spec = obj["spec"]
    return spec.get("priorityClassName"), spec["priority"], spec["preemptionPolicy"]


def test_priorities(store: Store) -> None:
    admission = Admission(store)
    assert priority(admitted(admission, PODS, pod())) == (None, 0, "PreemptLowerPriority")
    put(store, PRIORITY_CLASSES, "high", value=1000, preemptionPolicy="Never")
    put(store, PRIORITY_CLASSES, "usual", value=5, globalDefault=True)
    put(store, PRIORITY_CLASSES, "second", value=9, globalDefault=True)

    assert priority(admitted(admission, PODS, pod())) == ("usual", 5, "PreemptLowerPriority")
    high = pod(priorityClassName="high", priority=1000, preemptionPolicy="Never")
    assert priority(admitted(admission, PODS, high)) == ("high", 1000, "Never")
    critical = pod(priorityClassName="system-node-critical")
    assert priority(admitted(admission, PODS, critical))[1] == 2000001000
    store.remove(PRIORITY_CLASSES, "", "usual")
    assert priority(admitted(admission, PODS, pod()))[0] == "second"


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        (
            {"priorityClassName": "high", "priority": 3},
            (
                "the integer value of priority (3) must not be provided in pod spec; priority "
                "admission controller computed 1000 from the given PriorityClass name"
            ),
        ),
        (
            {"preemptionPolicy": "Never"},
            (
                "the string value of PreemptionPolicy (Never) must not be provided in pod spec; "
                "priority admission controller computed PreemptLowerPriority from the given "
                "PriorityClass name"
            ),
        ),
    ],
)
def test_priorities_that_do_not_agree(store: Store, spec: Obj, what: str) -> None:
    put(store, PRIORITY_CLASSES, "high", value=1000)

    rejected = rejection(Admission(store), PODS, pod(**spec))

    assert (rejected.code, str(rejected)) == (403, f'pods "p" is forbidden: {what}')


def test_one_class_is_the_default(store: Store) -> None:
    put(store, PRIORITY_CLASSES, "usual", value=5, globalDefault=True)
    admission = Admission(store)
    another = {"metadata": {"name": "another"}, "value": 1, "globalDefault": True}

    assert str(rejection(admission, PRIORITY_CLASSES, another)) == (
        'priorityclasses.scheduling.k8s.io "another" is forbidden: PriorityClass usual is already '
        "marked as default. Only one default can exist"
    )
    admitted(admission, PRIORITY_CLASSES, {**another, "metadata": {"name": "usual"}})
    admitted(admission, PRIORITY_CLASSES, {**another, "globalDefault": False})


def test_a_changed_pod_keeps_its_priority(store: Store) -> None:
    admission = Admission(store)
    old = admitted(admission, PODS, pod())
    put(store, PRIORITY_CLASSES, "usual", value=5, globalDefault=True)

    assert admitted(admission, PODS, pod(), old)["spec"] == old["spec"]


def _lasting(key: str, seconds: int = 300) -> Obj:
    return {
        "key": key,
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": seconds,
    }


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ([], [_lasting(NOT_READY), _lasting(UNREACHABLE)]),
        ([{"operator": "Exists"}], []),
        ([_lasting(NOT_READY, 0)], [_lasting(UNREACHABLE)]),
        ([{"key": UNREACHABLE, "operator": "Exists"}], [_lasting(NOT_READY)]),
        (
            [{"key": NOT_READY, "operator": "Exists", "effect": "NoSchedule"}],
            [_lasting(NOT_READY), _lasting(UNREACHABLE)],
        ),
    ],
)
def test_a_pod_stays_for_a_while(store: Store, given: list[Obj], added: list[Obj]) -> None:
    made = admitted(Admission(store), PODS, pod(tolerations=given))

    assert made["spec"].get("tolerations", []) == [*given, *added]


def test_service_accounts_by_choice(store: Store) -> None:
    assert "serviceAccountName" not in admitted(Admission(store), PODS, pod())["spec"]
    admission = Admission(store, service_accounts=True)
    made = admitted(admission, PODS, pod())["spec"]
    assert (made["serviceAccountName"], made["serviceAccount"]) == ("default", "default")
    own = admitted(admission, PODS, pod(serviceAccountName="robot"))["spec"]
    assert own["serviceAccountName"] == "robot"


def test_new_nodes_are_tainted_by_choice(store: Store) -> None:
    node = {"metadata": {"name": "n"}}
    taint = {"key": NOT_READY, "effect": "NoSchedule"}
    admission = Admission(store, taint_new_nodes=True)

    assert "taints" not in admitted(Admission(store), NODES, node)["spec"]
    assert admitted(admission, NODES, node)["spec"]["taints"] == [taint]
    tainted = {**node, "spec": {"taints": [taint]}}
    assert admitted(admission, NODES, tainted)["spec"]["taints"] == [taint]
    assert "taints" not in admitted(admission, NODES, node, old=node)["spec"]


def test_a_pod_takes_over_the_topology_of_its_node(store: Store) -> None:
    zone = {"topology.kubernetes.io/zone": "z"}
    put(store, NODES, "n", metadata={"labels": {**zone, "other": "label"}})
    admission = Admission(store)

    assert admission.topology_labels("n") == zone
    assert admission.topology_labels("none") == {}
    assert admitted(admission, PODS, pod(nodeName="n"))["metadata"]["labels"] == zone
    assert "labels" not in admitted(admission, PODS, pod(nodeName="none"))["metadata"]


def test_parts_of_objects_are_not_admitted(store: Store) -> None:
    old = pod()

    assert "tolerations" not in admitted(Admission(store), PODS, pod(), old, "status")["spec"]


def test_claims_get_the_newest_default_class(store: Store) -> None:
    admission = Admission(store)
    claim = {"metadata": {"name": "c", "namespace": "here"}, "spec": {}}
    assert "storageClassName" not in admitted(admission, PERSISTENT_VOLUME_CLAIMS, claim)["spec"]
    for name, time, key in [
        ("old", "2025", "storageclass.kubernetes.io/is-default-class"),
        ("b", "2026", "storageclass.beta.kubernetes.io/is-default-class"),
        ("a", "2026", "storageclass.kubernetes.io/is-default-class"),
        ("other", "2027", "something"),
    ]:
        metadata = {"creationTimestamp": time, "annotations": {key: "true"}}
        put(store, STORAGE_CLASSES, name, metadata=metadata)

    made = admitted(admission, PERSISTENT_VOLUME_CLAIMS, claim)
    assert made["spec"]["storageClassName"] == "a"
    none = {**claim, "spec": {"storageClassName": ""}}
    assert admitted(admission, PERSISTENT_VOLUME_CLAIMS, none)["spec"]["storageClassName"] == ""
    changed = admitted(admission, PERSISTENT_VOLUME_CLAIMS, claim, old=claim)
    assert "storageClassName" not in changed["spec"]
