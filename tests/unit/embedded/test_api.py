import json
from typing import Any

import pytest

from mooring.embedded.api import EVENT_SECONDS, WriteOptions
from mooring.embedded.patches.patch import APPLY, JSON, MERGE, STRATEGIC, Patch
from mooring.embedded.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    DEPLOYMENTS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    Obj,
)
from mooring.embedded.status_errors import StatusError
from mooring.embedded.stored_object import StoredObject
from tests.unit.embedded.fake_api_server import FakeApiServer, manifest, pod


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer()


def rejection(action: Any, *args: Any, **kwargs: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        action(*args, **kwargs)
    return caught.value


def config_map(name: str, **data: str) -> Obj:
    return manifest("v1", "ConfigMap", name, data=data)


def patch(
    server: FakeApiServer, name: str, kind: str, content: object, **write: Any
) -> StoredObject:
    body = json.dumps(content).encode()
    found, _ = server.api.patch(
        PODS, "default", name, Patch(kind, body), write=WriteOptions(**write)
    )
    return found


# -- create


def test_a_created_object_has_system_fields_and_defaults(server: FakeApiServer) -> None:
    created = server.pod("web").obj
    assert created["metadata"]["uid"]
    assert created["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert created["metadata"]["resourceVersion"] == str(server.store.version)
    assert created["spec"]["schedulerName"] == "default-scheduler"
    assert created["spec"]["priority"] == 0
    assert created["status"]["phase"] == "Pending"
    assert list(created)[:3] == ["kind", "apiVersion", "metadata"]


def test_what_only_the_server_may_say_is_not_taken_from_clients(server: FakeApiServer) -> None:
    wanted = pod("web")
    wanted["metadata"].update(
        uid="mine",
        creationTimestamp="2020-01-01T00:00:00Z",
        deletionTimestamp="2020-01-01T00:00:00Z",
    )
    wanted["status"] = {"phase": "Running"}
    created = server.api.create(PODS, wanted, "default").obj
    assert created["metadata"]["uid"] != "mine"
    assert created["metadata"]["creationTimestamp"].startswith("2026")
    assert "deletionTimestamp" not in created["metadata"]
    assert created["status"]["phase"] == "Pending"


def test_names_are_generated(server: FakeApiServer) -> None:
    wanted = pod("")
    wanted["metadata"] = {"generateName": "web-"}
    assert server.api.create(PODS, wanted, "default").name == "web-00000"
    long = pod("")
    long["metadata"] = {"generateName": "x" * 100}
    assert server.api.create(PODS, long, "default").name == "x" * 58 + "00001"


def test_a_second_object_of_the_same_name_is_rejected(server: FakeApiServer) -> None:
    server.pod("web")
    rejected = rejection(server.pod, "web")
    assert (rejected.code, rejected.status["reason"]) == (409, "AlreadyExists")
    assert str(rejected) == 'pods "web" already exists'
    assert rejected.status["details"] == {"name": "web", "kind": "pods"}


def test_a_namespace_must_exist(server: FakeApiServer) -> None:
    rejected = rejection(server.pod, "web", "nowhere")
    assert (rejected.code, str(rejected)) == (404, 'namespaces "nowhere" not found')


def test_an_object_of_another_namespace_is_rejected(server: FakeApiServer) -> None:
    wanted = pod("web")
    wanted["metadata"]["namespace"] = "kube-system"
    rejected = rejection(server.api.create, PODS, wanted, "default")
    assert rejected.code == 400
    assert "does not match the namespace" in str(rejected)


def test_wrong_content_is_rejected_with_its_causes(server: FakeApiServer) -> None:
    rejected = rejection(server.api.create, PODS, manifest("v1", "Pod", "web", spec={}), "default")
    assert rejected.code == 422
    assert str(rejected) == 'Pod "web" is invalid: spec.containers: Required value'
    assert rejected.status["details"]["causes"] == [
        {
            "reason": "FieldValueRequired",
            "message": "Required value",
            "field": "spec.containers",
        }
    ]
    assert server.store.get(PODS, "default", "web") is None


def test_unknown_fields_are_rejected_told_or_dropped(server: FakeApiServer) -> None:
    wanted = pod("web", nodeSelecter={})
    rejected = rejection(
        server.api.create, PODS, wanted, "default", WriteOptions(validation="Strict")
    )
    assert rejected.code == 400
    assert 'strict decoding error: unknown field "spec.nodeSelecter"' in str(rejected)
    created = server.api.create(
        PODS, pod("web", nodeSelecter={}), "default", WriteOptions(validation="Warn")
    )
    assert server.api.warnings == ['unknown field "spec.nodeSelecter"']
    assert "nodeSelecter" not in created.obj["spec"]
    server.api.create(PODS, pod("other", nodeSelecter={}), "default")
    assert server.api.warnings == []


def test_a_dry_run_stores_nothing(server: FakeApiServer) -> None:
    before = server.store.version
    shown = server.api.create(PODS, pod("web"), "default", WriteOptions(dry_run=True))
    assert shown.obj["spec"]["schedulerName"] == "default-scheduler"
    assert server.store.version == before
    assert server.store.get(PODS, "default", "web") is None


# -- update


def test_an_update_needs_the_newest_version(server: FakeApiServer) -> None:
    first = server.api.create(CONFIG_MAPS, config_map("c", a="1"), "default").obj
    second = server.api.create(CONFIG_MAPS, config_map("d", a="1"), "default").obj
    first["data"]["a"] = "2"
    server.api.update(CONFIG_MAPS, json.loads(json.dumps(first)), "default", "c")
    rejected = rejection(server.api.update, CONFIG_MAPS, first, "default", "c")
    assert (rejected.code, rejected.status["reason"]) == (409, "Conflict")
    assert "the object has been modified; please apply your changes" in str(rejected)
    del second["metadata"]["resourceVersion"]  # whoever names none does not care
    second["data"]["a"] = "3"
    assert server.api.update(CONFIG_MAPS, second, "default", "d").obj["data"] == {"a": "3"}


def test_version_zero_is_no_version(server: FakeApiServer) -> None:
    zero = config_map("c", a="1")
    zero["metadata"]["resourceVersion"] = "0"
    first = server.api.create(CONFIG_MAPS, json.loads(json.dumps(zero)), "default")
    zero["data"]["a"] = "2"
    second = server.api.update(CONFIG_MAPS, zero, "default", "c")
    assert (second.obj["data"], second.version > first.version) == ({"a": "2"}, True)
    assert second.obj["metadata"]["resourceVersion"] == str(second.version)
    changes = {"metadata": {"resourceVersion": "0"}, "data": {"a": "3"}}
    for kind in (MERGE, STRATEGIC):
        item, _ = server.api.patch(
            CONFIG_MAPS, "default", "c", Patch(kind, json.dumps(changes).encode())
        )
        assert item.obj["data"] == {"a": "3"}
    config = json.dumps({**config_map("c", a="4"), **changes})
    applied = Patch(APPLY, config.encode())
    write = WriteOptions(field_manager="me", force=True)
    item, _ = server.api.patch(CONFIG_MAPS, "default", "c", applied, write=write)
    assert item.obj["metadata"]["resourceVersion"] == str(item.version)


def test_an_update_of_another_object_of_the_same_name_is_rejected(server: FakeApiServer) -> None:
    old = server.api.create(CONFIG_MAPS, config_map("c"), "default").obj
    server.api.delete(CONFIG_MAPS, "default", "c")
    server.api.create(CONFIG_MAPS, config_map("c"), "default")
    del old["metadata"]["resourceVersion"]
    rejected = rejection(server.api.update, CONFIG_MAPS, old, "default", "c")
    assert rejected.code == 409
    assert "Precondition failed: UID in precondition" in str(rejected)


def test_a_lease_must_name_a_version_and_can_be_made_by_an_update(server: FakeApiServer) -> None:
    lease = manifest("coordination.k8s.io/v1", "Lease", "l", spec={"holderIdentity": "me"})
    created = server.api.update(LEASES, lease, "default", "l").obj
    for version in (None, "0"):
        created["metadata"]["resourceVersion"] = version
        rejected = rejection(server.api.update, LEASES, created, "default", "l")
        assert rejected.code == 422
        assert "metadata.resourceVersion: Invalid value" in str(rejected)


def test_an_update_that_changes_nothing_happens_not_at_all(server: FakeApiServer) -> None:
    created = server.api.create(CONFIG_MAPS, config_map("c", a="1"), "default")
    again = server.api.update(CONFIG_MAPS, created.obj, "default", "c")
    assert again.version == created.version == server.store.version


def test_spec_and_status_are_changed_apart(server: FakeApiServer) -> None:
    server.api.create(NODES, manifest("v1", "Node", "n"))
    node = server.api.get(NODES, "", "n").obj
    node["status"] = {"phase": "Running"}
    node["spec"] = {"unschedulable": True}
    changed = server.api.update(NODES, json.loads(json.dumps(node)), "", "n").obj
    assert changed["spec"] == {"unschedulable": True}
    assert changed["status"].get("phase") is None
    node["metadata"].pop("resourceVersion")
    node["spec"] = {}
    changed = server.api.update(NODES, node, "", "n", subresource="status").obj
    assert changed["spec"] == {"unschedulable": True}
    assert changed["status"]["phase"] == "Running"


def test_a_pods_placement_cannot_be_changed(server: FakeApiServer) -> None:
    item = server.pod("web")
    changed = item.obj
    changed["spec"]["nodeName"] = "n1"
    rejected = rejection(server.api.update, PODS, changed, "default", "web")
    assert rejected.code == 422
    assert "pod updates may not change fields other than" in str(rejected)


def test_the_name_in_the_path_counts(server: FakeApiServer) -> None:
    item = server.pod("web")
    server.pod("other")
    rejected = rejection(server.api.update, PODS, item.obj, "default", "other")
    assert (rejected.code, str(rejected)) == (
        400, "the name of the object (web) does not match the name on the URL (other)",
    )  # fmt: skip


# -- patch


def test_patches_of_every_form(server: FakeApiServer) -> None:
    server.pod("web", labels={"a": "1"})
    merged = patch(server, "web", MERGE, {"metadata": {"labels": {"b": "2"}}})
    assert merged.labels == {"a": "1", "b": "2"}
    strategic = patch(
        server, "web", STRATEGIC, {"spec": {"containers": [{"name": "c", "image": "nginx:2"}]}}
    )
    assert strategic.obj["spec"]["containers"][0]["image"] == "nginx:2"
    operation = {"op": "remove", "path": "/metadata/labels/a"}
    assert patch(server, "web", JSON, [operation]).labels == {"b": "2"}
    version = {"metadata": {"resourceVersion": "1"}}
    with pytest.raises(StatusError) as caught:
        patch(server, "web", MERGE, version)
    assert caught.value.code == 409


def test_a_patch_of_nothing_is_not_found(server: FakeApiServer) -> None:
    with pytest.raises(StatusError) as caught:
        patch(server, "web", MERGE, {})
    assert (caught.value.code, str(caught.value)) == (404, 'pods "web" not found')


def test_a_patch_cannot_give_another_name(server: FakeApiServer) -> None:
    server.pod("web")
    with pytest.raises(StatusError) as caught:
        patch(server, "web", MERGE, {"metadata": {"name": "other"}})
    assert (caught.value.code, str(caught.value)) == (
        400, "the name of the object (other) does not match the name on the URL (web)",
    )  # fmt: skip


def test_apply_creates_changes_and_asks_before_it_takes_over(server: FakeApiServer) -> None:
    def apply(manager: str, image: str, **write: Any) -> tuple[StoredObject, bool]:
        wanted = pod("web")
        wanted["spec"]["containers"][0]["image"] = image
        return server.api.patch(
            PODS, "default", "web", Patch(APPLY, json.dumps(wanted).encode()),
            write=WriteOptions(field_manager=manager, **write),
        )  # fmt: skip

    created, new = apply("one", "nginx:1")
    assert new
    [entry] = created.obj["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("one", "Apply")
    same, new = apply("one", "nginx:1")
    assert not new
    assert same.version == created.version
    with pytest.raises(StatusError) as caught:
        apply("two", "nginx:2")
    assert caught.value.code == 409
    assert 'conflict with "one"' in str(caught.value)
    taken, _ = apply("two", "nginx:2", force=True)
    assert taken.obj["spec"]["containers"][0]["image"] == "nginx:2"
    managers = [one["manager"] for one in taken.obj["metadata"]["managedFields"]]
    assert sorted(managers) == ["one", "two"]


def test_scale(server: FakeApiServer) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    server.api.create(DEPLOYMENTS, manifest("apps/v1", "Deployment", "d", spec=spec), "default")
    scale = {"spec": {"replicas": 5}}
    changed = server.api.update(DEPLOYMENTS, scale, "default", "d", subresource="scale")
    assert changed.obj["spec"]["replicas"] == 5
    body = Patch(MERGE, b'{"spec":{"replicas":7}}')
    changed, _ = server.api.patch(DEPLOYMENTS, "default", "d", body, subresource="scale")
    assert changed.obj["spec"]["replicas"] == 7
    assert changed.obj["metadata"]["generation"] == 3
    wrong = {"spec": {"replicas": -1}}
    rejected = rejection(server.api.update, DEPLOYMENTS, wrong, "default", "d", subresource="scale")
    assert (rejected.code, rejected.status["details"]["kind"]) == (422, "Scale")


# -- delete


def test_a_pod_without_a_node_goes_at_once(server: FakeApiServer) -> None:
    server.pod("web")
    _, gone = server.api.delete(PODS, "default", "web")
    assert gone
    assert server.store.get(PODS, "default", "web") is None


def test_a_pod_on_a_node_gets_its_grace_period_which_can_be_shortened(
    server: FakeApiServer,
) -> None:
    server.bound_pod("web")
    item, gone = server.api.delete(PODS, "default", "web")
    assert not gone
    metadata = item.obj["metadata"]
    assert metadata["deletionTimestamp"] == "2026-01-01T00:00:30Z"
    assert metadata["deletionGracePeriodSeconds"] == 30
    version = item.version
    item, _ = server.api.delete(PODS, "default", "web", {"gracePeriodSeconds": 60})
    assert item.version == version  # only a shorter one counts
    server.now += 5
    item, _ = server.api.delete(PODS, "default", "web", {"gracePeriodSeconds": 10})
    assert item.obj["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:10Z"
    server.now += 100
    item, _ = server.api.delete(PODS, "default", "web", {"gracePeriodSeconds": 2})
    assert item.obj["metadata"]["deletionGracePeriodSeconds"] == 1
    _, gone = server.api.delete(PODS, "default", "web", {"gracePeriodSeconds": 0})
    assert gone


def test_a_finished_pod_goes_at_once(server: FakeApiServer) -> None:
    item = server.bound_pod("web").obj
    item["status"]["phase"] = "Succeeded"
    server.api.update(PODS, item, "default", "web", subresource="status")
    assert server.api.delete(PODS, "default", "web")[1]


def test_preconditions(server: FakeApiServer) -> None:
    item = server.pod("web")
    for wrong in ({"uid": "other"}, {"resourceVersion": "1"}):
        rejected = rejection(server.api.delete, PODS, "default", "web", {"preconditions": wrong})
        assert (rejected.code, rejected.status["reason"]) == (409, "Conflict")
    right = {"uid": item.uid, "resourceVersion": str(item.version)}
    assert server.api.delete(PODS, "default", "web", {"preconditions": right})[1]


def test_a_finalizer_holds_an_object_until_it_is_taken_away(server: FakeApiServer) -> None:
    wanted = config_map("c")
    wanted["metadata"]["finalizers"] = ["example.com/hold"]
    server.api.create(CONFIG_MAPS, wanted, "default")
    item, gone = server.api.delete(CONFIG_MAPS, "default", "c")
    assert not gone
    obj = item.obj
    assert obj["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    obj["metadata"]["finalizers"] = []
    server.api.update(CONFIG_MAPS, obj, "default", "c")
    assert server.store.get(CONFIG_MAPS, "default", "c") is None
    assert [one.type for one in server.store.history(CONFIG_MAPS).since(0)] == [
        "ADDED", "MODIFIED", "DELETED",
    ]  # fmt: skip


def test_what_becomes_of_dependents_is_noted_as_a_finalizer(server: FakeApiServer) -> None:
    server.api.create(CONFIG_MAPS, config_map("c"), "default")
    item, gone = server.api.delete(CONFIG_MAPS, "default", "c", {"propagationPolicy": "Foreground"})
    assert not gone
    assert item.obj["metadata"]["finalizers"] == ["foregroundDeletion"]


def test_a_namespace_ends_when_its_own_finalizer_is_gone(server: FakeApiServer) -> None:
    server.api.create(NAMESPACES, manifest("v1", "Namespace", "shop"))
    item, gone = server.api.delete(NAMESPACES, "", "shop")
    assert not gone
    assert item.obj["status"]["phase"] == "Terminating"
    rejected = rejection(server.pod, "web", "shop")
    assert rejected.code == 403
    assert "because it is being terminated" in str(rejected)
    obj = item.obj
    obj["spec"]["finalizers"] = []
    server.api.update(NAMESPACES, obj, "", "shop", subresource="finalize")
    assert server.store.get(NAMESPACES, "", "shop") is None


def test_the_namespaces_every_cluster_has_stay(server: FakeApiServer) -> None:
    rejected = rejection(server.api.delete, NAMESPACES, "", "default")
    assert (rejected.code, str(rejected)) == (
        403, 'namespaces "default" is forbidden: this namespace may not be deleted',
    )  # fmt: skip


def test_a_dry_run_of_a_deletion_deletes_nothing(server: FakeApiServer) -> None:
    server.pod("web")
    assert server.api.delete(PODS, "default", "web", {"dryRun": ["All"]})[1]
    assert server.store.get(PODS, "default", "web") is not None


# -- events and what was seen elsewhere


def event(name: str) -> Obj:
    return manifest(
        "v1", "Event", name, involvedObject={"kind": "Pod", "namespace": "default", "name": "web"},
        reason="Scheduled", message="it is there", type="Normal",
    )  # fmt: skip


def test_events_of_both_forms_are_the_same(server: FakeApiServer) -> None:
    new = manifest(
        "events.k8s.io/v1", "Event", "e", eventTime="2026-01-01T00:00:00.000000Z",
        reportingController="mooring", reportingInstance="mooring-1", action="Binding",
        reason="Scheduled", note="it is there", type="Normal",
        regarding={"kind": "Pod", "namespace": "default", "name": "web"},
    )  # fmt: skip
    server.api.create(EVENTS, new, "default")
    stored = server.api.get(CORE_EVENTS, "default", "e").obj
    assert stored["message"] == "it is there"
    assert stored["involvedObject"]["name"] == "web"


def test_events_of_the_newer_form_are_patched_in_that_form(server: FakeApiServer) -> None:
    new = manifest(
        "events.k8s.io/v1", "Event", "e", eventTime="2026-01-01T00:00:00.000000Z",
        reportingController="mooring", reportingInstance="mooring-1", action="Binding",
        reason="FailedScheduling", note="no room", type="Warning",
        regarding={"kind": "Pod", "namespace": "default", "name": "web"},
    )  # fmt: skip
    server.api.create(EVENTS, new, "default")
    series = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}}
    body = Patch(STRATEGIC, json.dumps(series).encode())
    server.api.patch(EVENTS, "default", "e", body)
    stored = server.api.get(CORE_EVENTS, "default", "e").obj
    assert stored["series"]["count"] == 2
    assert stored["message"] == "no room"


def test_what_a_patch_makes_must_be_of_its_kind(server: FakeApiServer) -> None:
    server.pod("web")
    with pytest.raises(StatusError) as caught:
        patch(server, "web", MERGE, {"spec": {"containers": "many"}})
    assert (caught.value.code, caught.value.status["details"]["causes"][0]["field"]) == (
        422, "patch",
    )  # fmt: skip


def test_events_are_forgotten_after_an_hour(server: FakeApiServer) -> None:
    server.api.create(CORE_EVENTS, event("old"), "default")
    server.now += EVENT_SECONDS / 2
    server.api.create(CORE_EVENTS, event("middle"), "default")
    server.now += EVENT_SECONDS / 2 + 1
    server.api.create(CORE_EVENTS, event("new"), "default")
    assert [one.name for one in server.store.all(CORE_EVENTS)] == ["middle", "new"]


def test_what_was_seen_elsewhere_is_stored_as_it_was(server: FakeApiServer) -> None:
    seen = pod("web", nodeName="n1")
    seen["metadata"].update(
        namespace="shop", uid="the-id", creationTimestamp="2025-05-05T05:05:05Z",
        resourceVersion="77", deletionTimestamp="2025-05-05T06:00:00Z",
        deletionGracePeriodSeconds=30,
    )  # fmt: skip
    seen["status"] = {"phase": "Running", "podIP": "10.0.0.7"}
    stored = server.api.restore(PODS, seen).obj
    assert stored["metadata"]["uid"] == "the-id"
    assert stored["metadata"]["creationTimestamp"] == "2025-05-05T05:05:05Z"
    assert stored["metadata"]["deletionTimestamp"] == "2025-05-05T06:00:00Z"
    assert stored["status"]["podIP"] == "10.0.0.7"
    assert stored["spec"]["priority"] == 0
    assert server.store.get(NAMESPACES, "", "shop") is not None
    assert rejection(server.api.restore, PODS, seen).code == 409


def test_a_node_without_times_was_seen_just_now(server: FakeApiServer) -> None:
    ready = {"type": "Ready", "status": "True"}
    before = "2025-05-05T05:05:05Z"
    known = {"type": "DiskPressure", "status": "False", "lastTransitionTime": before}
    node = manifest("v1", "Node", "n", status={"conditions": [ready, known]})
    first, second = server.api.restore(NODES, node).obj["status"]["conditions"]
    assert first["lastTransitionTime"] == first["lastHeartbeatTime"] == "2026-01-01T00:00:00Z"
    assert second["lastTransitionTime"] == before
