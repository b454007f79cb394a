"""Server-side apply: what becomes of an object, and who owns it then."""

from typing import Any

import msgspec
import pytest

from mooring.embedded.patches.json_patch import apply_json_patch
from mooring.embedded.patches.managed_fields import decode_managed_fields, encode_managed_fields
from mooring.embedded.patches.server_side_apply import apply, track_update
from mooring.embedded.resources import BY_KIND, CONFIG_MAPS, DEPLOYMENTS, PODS, Obj
from mooring.embedded.schema.definitions import definition_of
from mooring.embedded.status_errors import StatusError

NOW = "2026-01-01T00:00:00Z"
LATER = "2026-01-01T00:01:00Z"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def config_map(data: Obj | None = None, **metadata: Any) -> Obj:
    made: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", **metadata}}
    return made if data is None else {**made, "data": data}


def deployment(**spec: Any) -> Obj:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "default"},
        "spec": spec,
    }


def template(*containers: Obj) -> Obj:
    return {"spec": {"containers": list(containers)}}


def applied(live: Obj | None, config: Obj, manager: str = "a", **more: Any) -> Obj:
    before = msgspec.json.encode([live, config])
    made = apply(
        live,
        config,
        definition_of(BY_KIND[config["apiVersion"], config["kind"]]),
        manager=manager,
        force=more.pop("force", False),
        time=more.pop("time", NOW),
        api_version=config["apiVersion"],
        **more,
    )
    assert msgspec.json.encode([live, config]) == before
    return made


def updated(old: Obj, new: Obj, manager: str = "u", subresource: str = "", time: str = NOW) -> Obj:
    resource = BY_KIND[old["apiVersion"], old["kind"]]
    made: Obj = msgspec.json.decode(msgspec.json.encode(new))
    track_update(
        old,
        made,
        definition_of(resource),
        manager=manager,
        time=time,
        api_version=resource.api_version,
        subresource=subresource,
    )
    return made


def owned(obj: Obj) -> dict[str, Obj]:
    """The fields by manager and operation."""
    return {
        f"{one['manager']}/{one['operation']}": one["fieldsV1"]
        for one in obj["metadata"].get("managedFields", ())
    }


def rejection(live: Obj | None, config: Obj, manager: str = "a", **more: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        applied(live, config, manager, **more)
    return caught.value


def test_a_new_object() -> None:
    made = applied(None, config_map({"k": "v"}, labels={"a": "1"}))
    assert made == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "c",
            "labels": {"a": "1"},
            "managedFields": [
                {
                    "manager": "a",
                    "operation": "Apply",
                    "apiVersion": "v1",
                    "time": NOW,
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {
                        "f:data": {"f:k": {}},
                        "f:metadata": {"f:labels": {"f:a": {}}},
                    },
                }
            ],
        },
        "data": {"k": "v"},
    }


def test_the_same_config_again_changes_nothing() -> None:
    live = applied(None, config_map({"k": "v"}))
    assert applied(live, config_map({"k": "v"}), time=LATER) == live


def test_a_field_that_is_not_named_any_more_is_removed() -> None:
    live = applied(None, config_map({"k": "v", "l": "w"}, labels={"a": "1"}))
    made = applied(live, config_map({"l": "w"}), time=LATER)
    assert made["data"] == {"l": "w"}
    assert "labels" not in made["metadata"]
    assert owned(made) == {"a/Apply": {"f:data": {"f:l": {}}}}
    assert made["metadata"]["managedFields"][0]["time"] == LATER


def test_a_field_of_two_managers_stays_until_both_give_it_up() -> None:
    live = applied(None, config_map({"k": "v"}))
    live = applied(live, config_map({"k": "v"}), "b", time=LATER)
    assert owned(live) == {"a/Apply": {"f:data": {"f:k": {}}}, "b/Apply": {"f:data": {"f:k": {}}}}
    # The object itself has not changed.
    assert [one.get("time") for one in live["metadata"]["managedFields"]] == [None, NOW]
    live = applied(live, config_map(), "a")
    assert live["data"] == {"k": "v"}
    assert "data" not in applied(live, config_map(), "b")


def test_changing_the_field_of_another_is_a_conflict() -> None:
    live = applied(None, deployment(replicas=1, paused=True))
    rejected = rejection(live, deployment(replicas=2), "b")
    assert rejected.code == 409
    assert str(rejected) == 'Apply failed with 1 conflict: conflict with "a": .spec.replicas'
    made = applied(live, deployment(replicas=2), "b", force=True)
    assert made["spec"] == {"replicas": 2, "paused": True}
    assert owned(made) == {
        "a/Apply": {"f:spec": {"f:paused": {}}},
        "b/Apply": {"f:spec": {"f:replicas": {}}},
    }


def test_a_manager_that_has_nothing_left_is_gone() -> None:
    live = applied(None, config_map({"k": "v"}))
    assert owned(applied(live, config_map({"k": "w"}), "b", force=True)) == {
        "b/Apply": {"f:data": {"f:k": {}}}
    }
    assert "managedFields" not in applied(live, config_map())["metadata"]


def test_elements_of_lists_have_owners() -> None:
    first = deployment(template=template({"name": "a", "image": "1", "env": [{"name": "X"}]}))
    live = applied(None, first)
    second = deployment(template=template({"name": "b", "image": "1"}, {"name": "a"}))
    live = applied(live, second, "b")
    assert live["spec"]["template"]["spec"]["containers"] == [
        {"name": "b", "image": "1"},
        {"name": "a", "image": "1", "env": [{"name": "X"}]},
    ]
    live = applied(live, deployment(template=template({"name": "a", "image": "2"})))
    assert live["spec"]["template"]["spec"]["containers"] == [
        {"name": "b", "image": "1"},
        {"name": "a", "image": "2"},
    ]
    live = applied(live, deployment(template=template()), "a")
    assert live["spec"]["template"]["spec"]["containers"] == [
        {"name": "b", "image": "1"},
        {"name": "a"},
    ]
    live = applied(live, deployment(), "b")
    assert "spec" not in live


def test_what_was_there_belongs_to_its_creator() -> None:
    live = deployment(replicas=1, strategy={"type": "Recreate"}, template=template({"name": "c"}))
    live["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
    live["status"] = {"replicas": 1}
    rejected = rejection(live, deployment(replicas=2), creator="kubectl-create")
    assert str(rejected) == (
        'Apply failed with 1 conflict: conflict with "kubectl-create" using apps/v1: .spec.replicas'
    )
    made = applied(live, deployment(replicas=1), creator="kubectl-create")
    assert owned(made) == {
        "a/Apply": {"f:spec": {"f:replicas": {}}},
        "kubectl-create/Update": {
            "f:spec": {
                "f:replicas": {},
                "f:strategy": {"f:type": {}},
                "f:template": {
                    "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}}}}
                },
            }
        },
    }
    assert made["metadata"]["managedFields"][1]["time"] == "2025-01-01T00:00:00Z"
    unknown = applied(live, deployment(replicas=1))
    assert "before-first-apply/Update" in owned(unknown)
    assert unknown["metadata"]["managedFields"][1]["time"] == NOW


def test_null_takes_a_field_away() -> None:
    live = applied(None, deployment(replicas=1, paused=True))
    made = applied(live, deployment(paused=None, replicas=1))
    assert made["spec"] == {"replicas": 1}
    assert owned(made) == {"a/Apply": {"f:spec": {"f:paused": {}, "f:replicas": {}}}}
    assert applied(None, config_map({"k": None}))["data"] == {"k": ""}


def test_the_status_is_applied_through_its_subresource() -> None:
    live = applied(None, {**deployment(replicas=1), "status": {"replicas": 1}})
    assert owned(live) == {"a/Apply": {"f:spec": {"f:replicas": {}}}}
    config = {**deployment(), "status": {"observedGeneration": 1}}
    made = applied(live, config, subresource="status")
    entries = made["metadata"]["managedFields"]
    assert [one.get("subresource") for one in entries] == [None, "status"]
    assert entries[1]["fieldsV1"] == {"f:status": {"f:observedGeneration": {}}}
    config["status"] = {"observedGeneration": 2}
    assert str(rejection(made, config, "b", subresource="status")) == (
        'Apply failed with 1 conflict: conflict with "a" with subresource "status": '
        ".status.observedGeneration"
    )


TYPED = "failed to create typed patch object"
KIND = "apps/v1, Kind=Deployment"
UNKNOWN = ".spec.foo: field not declared in schema"


@pytest.mark.parametrize(
    ("config", "code", "message"),
    [
        ({"kind": "Deployment"}, 400, "invalid object type: /, Kind=Deployment"),
        ({"apiVersion": "apps/v2", "kind": "X"}, 400, "invalid object type: apps/v2, Kind=X"),
        ({**deployment(), "metadata": {"managedFields": []}}, 400,
         "metadata.managedFields must be nil"),
        (deployment(foo=1), 500, f"{TYPED} (default/d; {KIND}): {UNKNOWN}"),
        ({**deployment(foo=1), "metadata": "x"}, 500,
         f"{TYPED} (/; {KIND}): errors:\n  .metadata: expected map, got &{{x}}\n  {UNKNOWN}"),
    ],
)  # fmt: skip
def test_configs_that_are_rejected(config: Obj, code: int, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        apply(None, config, definition_of(DEPLOYMENTS), manager="a", force=False, time=NOW,
              api_version="apps/v1")  # fmt: skip
    assert (caught.value.code, str(caught.value)) == (code, message)


def test_managed_fields_that_make_no_sense_stop_an_apply() -> None:
    live = config_map({"k": "v"}, managedFields=[{"manager": "x"}])
    assert str(rejection(live, config_map())) == (
        "failed to decode managed fields: operation must be `Apply` or `Update`"
    )


# -- writes that are no apply


def test_an_update_takes_what_it_changes() -> None:
    live = applied(None, config_map({"k": "v", "l": "w"}))
    made = updated(live, {**live, "data": {"k": "x", "m": "1"}}, time=LATER)
    assert owned(made) == {"u/Update": {"f:data": {"f:k": {}, "f:m": {}}}}
    assert made["metadata"]["managedFields"][0]["time"] == LATER
    again = updated(made, made)
    assert again == made
    more = updated(again, {**again, "data": {"k": "x", "m": "2", "n": "1"}}, "other")
    assert owned(more) == {
        "other/Update": {"f:data": {"f:m": {}, "f:n": {}}},
        "u/Update": {"f:data": {"f:k": {}}},
    }


def test_managed_fields_survive_clients_that_do_not_know_them() -> None:
    live = applied(None, config_map({"k": "v"}))
    new = config_map({"k": "v"})
    assert updated(live, new) == live
    assert updated(live, config_map({"k": "v"}, managedFields=[{"manager": "?"}])) == live


def test_clients_may_reset_and_set_managed_fields() -> None:
    live = applied(None, config_map({"k": "v"}))
    resets: list[list[Obj]] = [[], [{}]]
    for reset in resets:
        assert updated(live, config_map({"k": "v"}, managedFields=reset)) == config_map({"k": "v"})
    metadata = {**live["metadata"]}
    (entry,) = live["metadata"]["managedFields"]
    metadata["managedFields"] = [{**entry, "manager": "renamed"}]
    assert owned(updated(live, {**live, "metadata": metadata})) == {
        "renamed/Apply": {"f:data": {"f:k": {}}}
    }
    # Not through a subresource.
    assert updated(live, {**live, "metadata": metadata}, subresource="status") == live


def test_an_object_that_was_never_applied_has_no_managed_fields() -> None:
    assert updated(config_map({"k": "v"}), config_map({"k": "w"})) == config_map({"k": "w"})


def test_the_status_has_an_entry_of_its_own() -> None:
    live = {**applied(None, deployment(replicas=1)), "status": {}}
    new = {**live, "spec": {"replicas": 1}, "status": {"replicas": 1}}
    assert owned(updated(live, new)) == owned(live)
    made = updated(live, new, "controller", "status")
    entry = made["metadata"]["managedFields"][-1]
    assert (entry["manager"], entry["subresource"]) == ("controller", "status")
    assert entry["fieldsV1"] == {"f:status": {"f:replicas": {}}}


def test_scaling_has_an_entry_without_a_time() -> None:
    live = applied(None, deployment(replicas=1))
    made = updated(live, {**live, "spec": {"replicas": 2}}, "kubectl", "scale")
    (entry,) = made["metadata"]["managedFields"]
    assert (entry["manager"], entry["subresource"]) == ("kubectl", "scale")
    assert entry["fieldsV1"] == {"f:spec": {"f:replicas": {}}}
    assert "time" not in entry


def test_a_pods_status_owns_no_owner_references() -> None:
    metadata = {"name": "p", "labels": {"a": "1"}}
    live = applied(None, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata})
    live["status"] = {}
    changed = {**live["metadata"], "ownerReferences": [{"uid": "1"}], "labels": {"a": "2"}}
    made = updated(
        live, {**live, "metadata": changed, "status": {"phase": "Running"}}, "k", "status"
    )
    assert owned(made) == {
        "k/Update": {"f:metadata": {"f:labels": {"f:a": {}}}, "f:status": {"f:phase": {}}}
    }


# -- kubectl


def test_kubectl_goes_over_to_server_side_apply() -> None:
    """`kubectl apply -f`, then `kubectl apply --server-side -f` with another value."""
    first = deployment(replicas=1, paused=True)
    live = deployment(replicas=1, paused=True, revisionHistoryLimit=10)
    live["metadata"]["annotations"] = {LAST_APPLIED: msgspec.json.encode(first).decode()}
    live["metadata"]["creationTimestamp"] = NOW
    creator = "kubectl-client-side-apply"
    second = deployment(replicas=2, paused=True)
    # To anybody else it is a conflict.
    assert rejection(live, second, "argo", creator=creator).code == 409
    made = applied(live, second, "kubectl", creator=creator, time=LATER)
    assert made["spec"]["replicas"] == 2
    noted = made["metadata"]["annotations"][LAST_APPLIED]
    assert noted.endswith("\n")
    assert msgspec.json.decode(noted) == second
    # What nobody named in the annotation is still the other manager's.
    third = deployment(replicas=2, paused=True, revisionHistoryLimit=5)
    assert str(rejection(live, third, "kubectl", creator=creator)) == (
        'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: '
        ".spec.revisionHistoryLimit"
    )

    # kubectl then makes its old entry a part of the new one by a JSON patch.
    managed = decode_managed_fields(made["metadata"]["managedFields"])
    by_name = {owner.manager: owner for owner in managed}
    old = managed.pop(by_name[creator])
    new = by_name["kubectl"]
    managed[new] = managed[new]._replace(fields=managed[new].fields | old.fields)
    metadata: Obj = {}
    encode_managed_fields(metadata, managed)
    patch = [
        {"op": "replace", "path": "/metadata/managedFields", "value": metadata["managedFields"]},
    ]
    upgraded = updated(made, apply_json_patch(made, patch), "kubectl")
    assert list(owned(upgraded)) == ["kubectl/Apply"]
    # Fields that only the old way had set go when kubectl does not name them any more.
    assert "paused" not in applied(upgraded, deployment(replicas=2), "kubectl")["spec"]


def test_the_annotation_of_kubectl_is_left_alone_by_others() -> None:
    live = config_map({"k": "v"}, annotations={LAST_APPLIED: "{}"})
    made = applied(live, config_map({"k": "v"}), "argo")
    assert made["metadata"]["annotations"] == {LAST_APPLIED: "{}"}
    assert applied(config_map({"k": "v"}), config_map({"k": "v"}), "kubectl")[
        "metadata"
    ].keys() == {
        "name",
        "managedFields",
    }
    for wrong in ("", "{", "[]", '{"apiVersion":"v2"}', '{"apiVersion":"v1","foo":1}'):
        live = config_map({"k": "v"}, annotations={LAST_APPLIED: wrong})
        assert rejection(live, config_map({"k": "w"}), "kubectl").code == 409


def test_kinds_have_forms() -> None:
    for resource in (CONFIG_MAPS, PODS):
        config = {"apiVersion": "v1", "kind": resource.kind, "metadata": {"name": "x"}}
        assert applied(None, config)["metadata"] == {"name": "x"}
