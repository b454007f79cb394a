"""What holds for patches and server-side apply whatever the objects are."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.embedded.patches.field_sets import FieldSet, Path, from_fields_v1, set_of, to_fields_v1
from mooring.embedded.patches.json_patch import apply_json_patch
from mooring.embedded.patches.json_values import copied
from mooring.embedded.patches.managed_fields import decode_managed_fields
from mooring.embedded.patches.merge_patch import apply_merge_patch
from mooring.embedded.patches.server_side_apply import apply, track_update
from mooring.embedded.patches.strategic_patch import apply_strategic_patch
from mooring.embedded.patches.structured_merge import compared, field_set, merged
from mooring.embedded.patches.typed_schema import schema_of
from mooring.embedded.resources import PODS, Obj
from mooring.embedded.schema.definitions import definition_of

POD = definition_of(PODS)
FORM = schema_of(POD.name)
NOW = "2026-01-01T00:00:00Z"

KEYS = st.sampled_from(["a", "b", "c", "d/e", "~f"])
LEAVES = st.one_of(st.integers(0, 3), st.booleans(), st.sampled_from(["x", "y"]))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
PATHS = st.frozensets(
    st.lists(st.sampled_from(["f:a", "f:b", 'k:{"n":1}', 'v:"x"']), min_size=1, max_size=3).map(
        tuple
    ),
    max_size=8,
)

ENV = st.lists(
    st.builds(
        lambda name, value: {"name": name, **value},
        st.sampled_from("XYZ"),
        st.sampled_from([{}, {"value": "1"}, {"value": "2"}]),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda one: one["name"],
)
CONTAINERS = st.lists(
    st.builds(
        lambda name, more: {"name": name, **more},
        st.sampled_from("abc"),
        st.fixed_dictionaries(
            {}, optional={"image": st.sampled_from("ij"), "env": ENV, "args": st.just(["q"])}
        ),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda one: one["name"],
)
PODS_WANTED = st.builds(
    lambda metadata, spec: {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", **metadata},
        "spec": spec,
    },
    st.fixed_dictionaries(
        {},
        optional={
            "labels": st.dictionaries(st.sampled_from("kl"), st.sampled_from("12"), min_size=1),
            "finalizers": st.lists(st.sampled_from("stu"), unique=True, min_size=1),
        },
    ),
    st.fixed_dictionaries(
        {"containers": CONTAINERS},
        optional={
            "nodeSelector": st.dictionaries(st.sampled_from("kl"), st.sampled_from("12")),
            "priority": st.integers(0, 2),
        },
    ),
)


def applied(live: Obj | None, config: Obj, manager: str) -> Obj:
    return apply(
        live, config, POD, manager=manager, force=True, time=NOW, api_version="v1"
    )  # fmt: skip


def content(obj: Obj) -> Obj:
    metadata = {key: one for key, one in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": metadata}


def difference(old: Obj, new: Obj) -> Obj:
    """A merge patch that makes one object of another."""
    patch: Obj = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            patch[key] = difference(before, value)
        elif before != value or type(before) is not type(value):
            patch[key] = value
    return patch


@given(OBJECTS, OBJECTS)
def test_a_merge_patch_makes_any_object_of_any_other(old: Obj, new: Obj) -> None:
    before = copied(old)
    assert apply_merge_patch(old, difference(old, new)) == new
    assert old == before


@given(OBJECTS, KEYS, VALUES)
def test_json_patch_operations_take_each_other_back(obj: Obj, key: str, value: Any) -> None:
    pointer = "/" + key.replace("~", "~0").replace("/", "~1")
    add = {"op": "add", "path": pointer, "value": value}
    test = {"op": "test", "path": pointer, "value": value}
    without = {name: one for name, one in obj.items() if name != key}
    assert apply_json_patch(obj, [add, test]) == {**obj, key: value}
    assert apply_json_patch(obj, [add, test, {"op": "remove", "path": pointer}]) == without
    moved = [add, {"op": "move", "from": pointer, "path": "/new"}]
    assert apply_json_patch(obj, moved) == {**without, "new": value}


@given(st.lists(LEAVES, max_size=4), LEAVES, st.integers(0, 4))
def test_json_patch_of_lists(elements: list[Any], value: Any, at: int) -> None:
    at = min(at, len(elements))
    add = {"op": "add", "path": f"/l/{at}", "value": value}
    expected = [*elements[:at], value, *elements[at:]]
    assert apply_json_patch({"l": elements}, [add]) == {"l": expected}
    assert apply_json_patch({"l": elements}, [add, {"op": "remove", "path": f"/l/{at}"}]) == {
        "l": elements
    }


@given(PATHS, PATHS)
def test_sets_of_fields_are_sets(left: frozenset[Path], right: frozenset[Path]) -> None:
    a, b = set_of(*left), set_of(*right)
    for made, expected in ((a | b, left | right), (a & b, left & right), (a - b, left - right)):
        assert frozenset(made.paths()) == expected
        assert made == set_of(*expected)
        assert bool(made) == bool(expected)
    assert from_fields_v1(to_fields_v1(a)) == a
    assert all(a.has(path) == (path in left) for path in left | right)
    roots = {path for path in left if any(path[: len(one)] == one for one in right)}
    assert frozenset(a.without_trees(b).paths()) == left - roots


@settings(max_examples=50)
@given(PODS_WANTED, PODS_WANTED)
def test_a_strategic_patch_merges_by_name(obj: Obj, patch: Obj) -> None:
    made = apply_strategic_patch(obj, patch, POD)
    names = [one["name"] for one in made["spec"]["containers"]]
    here = [one["name"] for one in obj["spec"]["containers"]]
    there = [one["name"] for one in patch["spec"]["containers"]]
    assert sorted(names) == sorted({*here, *there})
    assert [name for name in names if name in there] == there
    assert [name for name in names if name not in there] == [n for n in here if n not in there]
    assert apply_strategic_patch(made, patch, POD) == made


@settings(max_examples=50)
@given(PODS_WANTED, PODS_WANTED)
def test_comparing_finds_what_merging_did(live: Obj, config: Obj) -> None:
    made = merged(live, config, FORM)
    change = compared(live, made, FORM)
    wanted = field_set(config, FORM)
    assert not change.removed
    assert change.modified - wanted == FieldSet()
    assert merged(made, config, FORM) == made
    assert not any(compared(made, made, FORM))


@settings(max_examples=50)
@given(PODS_WANTED, PODS_WANTED, PODS_WANTED)
def test_who_applies_by_force_gets_it(first: Obj, second: Obj, third: Obj) -> None:
    live = applied(applied(None, first, "a"), second, "b")
    made = applied(live, third, "a")
    assert merged(made, third, FORM) == made
    assert applied(made, third, "a") == made
    # Everything has an owner.
    owned = FieldSet()
    for one in decode_managed_fields(made["metadata"]["managedFields"]).values():
        owned |= one.fields
    nobodys = {("f:apiVersion",), ("f:kind",), ("f:metadata", "f:name")}
    assert {*(field_set(content(made), FORM) - owned).paths()} == nobodys


@settings(max_examples=50)
@given(PODS_WANTED, PODS_WANTED)
def test_what_a_manager_gives_up_is_gone_unless_another_wants_it(first: Obj, second: Obj) -> None:
    nothing = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    live = applied(None, first, "a")
    assert applied(live, nothing, "a") == nothing
    both = applied(live, second, "b")
    left = applied(both, nothing, "a")
    alone = applied(None, second, "b")
    assert set(_containers(left)) == set(_containers(alone))
    assert left["metadata"].get("labels") == alone["metadata"].get("labels")


def _containers(obj: Obj) -> list[str]:
    return [one["name"] for one in obj.get("spec", {}).get("containers", ())]


@settings(max_examples=50)
@given(PODS_WANTED, PODS_WANTED)
def test_an_update_owns_all_that_it_changed(first: Obj, second: Obj) -> None:
    live = applied(None, first, "a")
    new = copied(second)
    track_update(live, new, POD, manager="u", time=NOW, api_version="v1")
    entries = decode_managed_fields(new["metadata"].get("managedFields", []))
    change = compared(content(live), second, FORM)
    changed = change.modified | change.added
    for owner, one in entries.items():
        assert not one.fields & change.removed
        if owner.manager == "a":
            assert not one.fields & changed
    if changed and live["metadata"].get("managedFields"):
        (mine,) = (one for owner, one in entries.items() if owner.manager == "u")
        assert changed - mine.fields == FieldSet()
