"""Who owns which fields, and how that is written."""

from typing import Any

import pytest

from mooring.embedded.patches.field_sets import (
    FieldSet,
    field_step,
    from_fields_v1,
    key_step,
    path_text,
    set_of,
    to_fields_v1,
    value_step,
)
from mooring.embedded.patches.json_values import Malformed
from mooring.embedded.patches.managed_fields import (
    STRIPPED_FIELDS,
    FieldManager,
    ManagedFields,
    VersionedSet,
    apply_conflict,
    cap_managers,
    decode_managed_fields,
    encode_managed_fields,
    field_manager,
    is_reset,
    keep_timestamps,
    strip_meta,
)
from mooring.embedded.resources import Obj

FIELDS: Obj = {
    "f:metadata": {"f:labels": {".": {}, "f:app": {}}, "f:finalizers": {'v:"a/b"': {}}},
    "f:spec": {
        "f:containers": {
            'k:{"name":"c"}': {
                ".": {},
                "f:image": {},
                "f:ports": {
                    ".": {},
                    'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                },
            }
        },
        "f:replicas": {},
    },
}


def entry(manager: str, fields: Obj | None = None, **more: Any) -> Obj:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields or {"f:spec": {"f:replicas": {}}},
        **more,
    }


def test_fields_are_read_and_written() -> None:
    fields = from_fields_v1(FIELDS)
    assert to_fields_v1(fields) == FIELDS
    assert [path_text(path) for path in fields.paths()] == [
        ".metadata.labels",
        '.metadata.finalizers[="a/b"]',
        ".metadata.labels.app",
        ".spec.replicas",
        '.spec.containers[name="c"]',
        '.spec.containers[name="c"].image',
        '.spec.containers[name="c"].ports',
        '.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"]',
        '.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].containerPort',
    ]


def test_written_fields_are_in_order() -> None:
    steps = [
        value_step("b"),
        value_step(5),
        key_step({"name": "b"}),
        key_step({"name": "a"}),
        key_step({"a": 10, "b": "x"}),
        key_step({"a": 9, "b": "x"}),
        field_step("z"),
        field_step("a"),
    ]
    assert list(to_fields_v1(set_of(*((step,) for step in steps)))) == [
        "f:a",
        "f:z",
        'k:{"a":9,"b":"x"}',
        'k:{"a":10,"b":"x"}',
        'k:{"name":"a"}',
        'k:{"name":"b"}',
        "v:5",
        'v:"b"',
    ]


def test_steps_of_clients_are_brought_into_one_form() -> None:
    read = from_fields_v1(
        {'k:{"protocol": "TCP", "containerPort": 80}': {}, "x:unknown": {}, 'v:"<"': {}}
    )
    assert to_fields_v1(read) == {'k:{"containerPort":80,"protocol":"TCP"}': {}, 'v:"\\u003c"': {}}
    for wrong in ("", "f", "spec", "k:[1]", "v:"):
        with pytest.raises(Malformed):
            from_fields_v1({wrong: {}})


def test_sets() -> None:
    a, b = set_of(("x",), ("x", "y"), ("z",)), set_of(("x", "y"), ("x", "w"))
    assert a | b == set_of(("x",), ("x", "y"), ("x", "w"), ("z",))
    assert a & b == set_of(("x", "y"))
    assert a - b == set_of(("x",), ("z",))
    assert b - a == set_of(("x", "w"))
    assert b.without_trees(set_of(("x",))) == FieldSet()
    assert not FieldSet()
    assert a.has(("x", "y"))
    assert not b.has(("x",))
    assert not b.has(("q", "y"))


def test_entries_are_read_and_written_in_the_order_of_time() -> None:
    entries = [
        entry("late", time="2026-01-01T00:00:02Z"),
        entry("b"),
        entry("a", subresource="status"),
        entry("applier", operation="Apply", time="2026-01-01T00:00:05Z"),
    ]
    metadata: Obj = {}
    managed = decode_managed_fields(entries)
    encode_managed_fields(metadata, managed)
    assert [one["manager"] for one in metadata["managedFields"]] == ["applier", "a", "b", "late"]
    assert metadata["managedFields"][1] == entries[2]
    assert FieldManager("applier", "Apply", "", "") in managed
    assert FieldManager("a", "Update", "v1", "status") in managed
    encode_managed_fields(metadata, {})
    assert metadata == {}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"operation": "Create"}, "operation must be `Apply` or `Update`"),
        ({"apiVersion": ""}, "apiVersion must not be empty"),
        ({"fieldsType": ""}, "missing fieldsType in managed fields entry 0"),
        ({"fieldsType": "V2"}, 'invalid fieldsType "V2" in managed fields entry 0'),
    ],
)
def test_entries_that_make_no_sense(change: Obj, problem: str) -> None:
    with pytest.raises(Malformed) as caught:
        decode_managed_fields([{**entry("a"), **change}])
    assert str(caught.value) == problem


def test_what_a_reset_is() -> None:
    assert is_reset([])
    assert is_reset([{}])
    assert not is_reset(None)
    assert not is_reset([entry("a")])


def test_nobody_owns_names_and_versions() -> None:
    owner = field_manager("", "Update", "v1", "")
    assert owner.manager == "unknown"
    labels = set_of(("f:metadata", "f:labels"))
    managed: ManagedFields = {owner: VersionedSet(STRIPPED_FIELDS | labels, "v1", "")}
    strip_meta(managed, owner)
    assert managed[owner].fields == labels
    managed = {owner: VersionedSet(STRIPPED_FIELDS, "v1", "")}
    strip_meta(managed, owner)
    assert managed == {}


def test_the_oldest_of_more_than_ten_updaters_become_one() -> None:
    managed: ManagedFields = {
        field_manager(f"m{number:02}", "Update", "v1", ""): VersionedSet(
            set_of((f"f:{number}",)), "v1", f"2026-01-01T00:00:{number:02}Z"
        )
        for number in range(12)
    }
    cap_managers(managed)
    ancient = managed[FieldManager("ancient-changes", "Update", "v1", "")]
    assert len(managed) == 10
    assert ancient == VersionedSet(
        set_of(("f:0",), ("f:1",), ("f:2",)), "v1", "2026-01-01T00:00:02Z"
    )
    before = dict(managed)
    cap_managers(managed)
    assert managed == before


def test_one_conflict_and_several() -> None:
    update = field_manager("kubectl-edit", "Update", "apps/v1", "")
    status = field_manager("kubelet", "Update", "v1", "status")
    applier = field_manager("b", "Apply", "apps/v1", "")
    replicas = ("f:spec", "f:replicas")
    one = apply_conflict([(update, replicas)])
    assert (one.code, one.status["reason"]) == (409, "Conflict")
    assert str(one) == (
        'Apply failed with 1 conflict: conflict with "kubectl-edit" using apps/v1: .spec.replicas'
    )
    assert one.status["details"] == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "kubectl-edit" using apps/v1',
                "field": ".spec.replicas",
            }
        ]
    }
    several = apply_conflict([(applier, replicas), (applier, ("f:x",)), (status, ("f:y",))])
    assert str(several) == (
        'Apply failed with 3 conflicts: conflicts with "b":\n- .spec.replicas\n- .x\n'
        'conflicts with "kubelet" with subresource "status" using v1:\n- .y'
    )


def test_times_are_kept_if_nothing_else_has_changed() -> None:
    old = {"metadata": {"name": "a", "managedFields": [entry("x")]}, "data": {"k": "v"}}
    late = [entry("x", time="2027-01-01T00:00:00Z")]
    same = {"metadata": {"name": "a", "managedFields": late}, "data": {"k": "v"}}
    keep_timestamps(old, same)
    assert same == old
    for other in (
        {"metadata": {"name": "a", "managedFields": late}, "data": {"k": "w"}},
        {"metadata": {"name": "b", "managedFields": late}, "data": {"k": "v"}},
        {"metadata": {"name": "a", "managedFields": [*late, entry("y")]}, "data": {"k": "v"}},
    ):
        keep_timestamps(old, other)
        assert other["metadata"]["managedFields"][0]["time"] == "2027-01-01T00:00:00Z"  # type: ignore[index]
