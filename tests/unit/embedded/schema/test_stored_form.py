import pytest

from mooring.embedded.resources import (
    CORE_EVENTS,
    CSI_NODES,
    EVENTS,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    RESOURCES,
    ROLES,
    Obj,
    Resource,
)
from mooring.embedded.schema.field_validation import definition, definition_of
from mooring.embedded.schema.stored_form import _table, empty, stored_form_of


def test_what_is_empty_and_optional_disappears() -> None:
    pod: Obj = {
        "metadata": {"name": "p", "labels": {}, "finalizers": []},
        "spec": {
            "nodeName": "",
            "hostNetwork": False,
            "tolerations": [],
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "", "env": [{"name": "A", "value": ""}]}],
        },
    }

    stored_form_of(PODS).write(pod)

    assert pod == {
        "metadata": {"name": "p"},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "env": [{"name": "A"}], "resources": {}}],
        },
        "status": {},
    }


def test_nulls_disappear() -> None:
    pod: Obj = {"metadata": None, "spec": {"affinity": None, "containers": []}, "status": None}

    stored_form_of(PODS).write(pod)

    assert pod == {"metadata": {}, "spec": {"containers": None}, "status": {}}


@pytest.mark.parametrize(
    ("resource", "field", "value"),
    [
        (PODS, "status", {}),
        (
            POD_DISRUPTION_BUDGETS,
            "status",
            {
                "disruptionsAllowed": 0,
                "currentHealthy": 0,
                "desiredHealthy": 0,
                "expectedPods": 0,
            },
        ),
        (CSI_NODES, "spec", {"drivers": None}),
        (ROLES, "nothing", {}),
    ],
)
def test_what_is_no_pointer_is_always_there(resource: Resource, field: str, value: Obj) -> None:
    assert empty(resource, field) == value
    assert empty(resource, field) is not empty(resource, field)


def test_amounts_and_times_have_one_form() -> None:
    node: Obj = {
        "metadata": {"name": "n", "creationTimestamp": "2026-01-01T01:00:00+01:00"},
        "status": {
            "capacity": {"cpu": "4000m", "memory": 1024, "pods": 110},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": None}],
        },
    }

    stored_form_of(NODES).write(node)

    assert node["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert node["status"]["capacity"] == {"cpu": "4", "memory": "1024", "pods": "110"}
    assert node["status"]["conditions"] == [
        {"type": "Ready", "status": "True", "lastHeartbeatTime": None, "lastTransitionTime": None}
    ]


def test_managed_fields_are_left_alone() -> None:
    managed = [{"manager": "", "fieldsV1": {"f:spec": {}}}]
    pod: Obj = {"metadata": {"managedFields": managed}, "spec": {"containers": [{"name": "c"}]}}

    stored_form_of(PODS).write(pod)

    assert pod["metadata"]["managedFields"] == [{"manager": "", "fieldsV1": {"f:spec": {}}}]


def test_both_kinds_of_events_are_stored_alike() -> None:
    assert stored_form_of(EVENTS) is stored_form_of(CORE_EVENTS)


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda one: one.full_name)
def test_the_table_has_the_fields_that_the_schema_has(resource: Resource) -> None:
    package = (resource.group or "core").split(".")[0]
    waiting = [(f"{package}.{resource.kind}", definition_of(resource).name)]
    seen = set()
    while waiting:
        name, schema = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        fields = definition(schema).fields
        codes = _table()[name]
        assert set(codes) - {"kind", "apiVersion"} == set(fields) - {"kind", "apiVersion"}, name
        for field, code in codes.items():
            target = code[1:].lstrip("[{")
            one = fields.get(field)
            while one is not None and not one.ref and one.items is not None:
                one = one.items
            if "." in target and one is not None and one.ref:
                waiting.append((target, one.ref))
    assert seen
