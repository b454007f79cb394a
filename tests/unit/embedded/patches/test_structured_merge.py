"""Values as server-side apply merges, compares and prunes them."""

from typing import Any

import pytest

from mooring.embedded.patches.apply_validation import schema_problems
from mooring.embedded.patches.field_sets import FieldSet, from_fields_v1, path_text, to_fields_v1
from mooring.embedded.patches.structured_merge import (
    compared,
    field_set,
    merged,
    with_named_fields,
    without,
)
from mooring.embedded.patches.typed_schema import empty_object, schema_of
from mooring.embedded.resources import DEPLOYMENTS, PODS, SERVICES, Obj
from mooring.embedded.schema.definitions import definition, definition_of

POD = schema_of(definition_of(PODS).name)
SERVICE = schema_of(definition_of(SERVICES).name)


def containers(names: str, **more: Any) -> Obj:
    return {"spec": {"containers": [{"name": name, **more} for name in names]}}


def texts(fields: FieldSet) -> list[str]:
    return [path_text(path) for path in fields.paths()]


def test_fields_of_an_object() -> None:
    obj = {
        "metadata": {"labels": {"a": "1"}, "annotations": {}, "finalizers": ["x"]},
        "spec": {
            "nodeSelector": {"n": "1"},
            "tolerations": [{"key": "k"}],
            "securityContext": {},
            "containers": [{"name": "c", "ports": [{"containerPort": 80}], "env": []}],
        },
    }
    assert to_fields_v1(field_set(obj, POD)) == {
        "f:metadata": {
            "f:annotations": {},
            "f:finalizers": {'v:"x"': {}},
            "f:labels": {"f:a": {}},
        },
        "f:spec": {
            "f:containers": {
                'k:{"name":"c"}': {
                    ".": {},
                    "f:name": {},
                    "f:ports": {
                        'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}
                    },
                }
            },
            "f:nodeSelector": {},
            "f:securityContext": {},
            "f:tolerations": {},
        },
    }


def test_what_changed() -> None:
    old = {
        "metadata": {"labels": {"a": "1", "b": "1"}},
        "spec": {"nodeName": "x", "containers": [{"name": "c", "image": "1"}]},
    }
    new = {
        "metadata": {"labels": {"a": "2", "c": "1"}},
        "spec": {"containers": [{"name": "c", "image": "2"}, {"name": "d"}], "affinity": {}},
    }
    found = compared(old, new, POD)
    assert texts(found.removed) == [".metadata.labels.b", ".spec.nodeName"]
    assert texts(found.modified) == [".metadata.labels.a", '.spec.containers[name="c"].image']
    assert texts(found.added) == [
        ".metadata.labels.c",
        ".spec.affinity",
        '.spec.containers[name="d"]',
        '.spec.containers[name="d"].name',
    ]
    assert not any(compared(new, new, POD))


def test_an_element_that_becomes_a_duplicate_is_another_one() -> None:
    once, twice = containers("a"), containers("aa")
    found = compared(once, twice, POD)
    assert texts(found.removed) == ['.spec.containers[name="a"]', '.spec.containers[name="a"].name']
    assert texts(found.added) == ['.spec.containers[name="a"]']
    found = compared(twice, once, POD)
    assert texts(found.removed) == ['.spec.containers[name="a"]']
    assert texts(compared(twice, containers("aa", image="x"), POD).modified) == [
        '.spec.containers[name="a"]'
    ]


@pytest.mark.parametrize(
    ("live", "config", "expected"),
    [
        ("abc", "", "abc"),
        ("", "abc", "abc"),
        ("abc", "cb", "acb"),
        ("abc", "ca", "bca"),
        ("abc", "dc", "abdc"),
        ("abc", "ad", "abcd"),
        ("ab", "xby", "axby"),
        ("abcd", "db", "acdb"),
    ],
)
def test_the_order_of_merged_elements(live: str, config: str, expected: str) -> None:
    made = merged(containers(live), containers(config), POD)
    assert [one["name"] for one in made["spec"]["containers"]] == list(expected)


def test_merging_keeps_what_the_config_does_not_name() -> None:
    live = {"metadata": {"labels": {"a": "1"}}, "spec": {"ports": [{"port": 80, "name": "x"}]}}
    config = {
        "metadata": {"labels": {"b": "1"}, "annotations": {}},
        "spec": {"ports": [{"port": 80, "protocol": "UDP"}, {"port": 80, "nodePort": 1}]},
    }
    assert merged(live, config, SERVICE) == {
        "metadata": {"labels": {"a": "1", "b": "1"}, "annotations": {}},
        "spec": {
            "ports": [{"port": 80, "protocol": "UDP"}, {"port": 80, "name": "x", "nodePort": 1}]
        },
    }


def test_whole_values_are_taken_from_the_config() -> None:
    live = {"spec": {"nodeSelector": {"a": "1"}, "tolerations": [{"key": "x"}], "nodeName": "n"}}
    config: Obj = {"spec": {"nodeSelector": {"b": "1"}, "tolerations": [], "nodeName": None}}
    assert merged(live, config, POD) == config


def test_fields_are_taken_out() -> None:
    obj = {
        "metadata": {"labels": {"a": "1", "b": "2"}},
        "spec": {"containers": [{"name": "c", "image": "x"}, {"name": "d"}], "nodeName": "n"},
    }
    gone = from_fields_v1(
        {
            "f:metadata": {"f:labels": {"f:a": {}}},
            "f:spec": {
                "f:nodeName": {},
                "f:containers": {'k:{"name":"d"}': {}, 'k:{"name":"c"}': {"f:image": {}}},
            },
        }
    )
    assert without(obj, gone, POD) == {
        "metadata": {"labels": {"b": "2"}},
        "spec": {"containers": [{"name": "c"}]},
    }
    assert without({"metadata": {"labels": {"a": "1"}}}, gone, POD) == {
        "metadata": {"labels": None}
    }


def test_named_fields_are_those_of_objects_only() -> None:
    fields = from_fields_v1({"f:spec": {"f:containers": {'k:{"name":"c"}': {"f:image": {}}}}})
    assert texts(with_named_fields(fields, POD)) == [
        ".spec",
        ".spec.containers",
        '.spec.containers[name="c"].image',
    ]


def test_what_is_there_before_anybody_set_anything() -> None:
    assert empty_object(definition_of(DEPLOYMENTS)) == {
        "metadata": {},
        "spec": {
            "selector": {},
            "strategy": {},
            "template": {"metadata": {}, "spec": {"containers": None}},
        },
        "status": {},
    }
    claim = definition("io.k8s.api.core.v1.PersistentVolumeClaim")
    assert empty_object(claim)["spec"] == {"resources": {}}


NO_TEXT = ".spec.nodeName: expected string, got &value.valueUnstructured"
PORT = '.spec.containers[name="c"].ports[containerPort="x",protocol="TCP"]'


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"foo": 1}, ".spec.foo: field not declared in schema"),
        ({"nodeName": 5}, NO_TEXT + "{Value:5}"),
        (
            {"nodeName": ["a", {"b": None}]},
            NO_TEXT + '{Value:[]interface {}{"a", map[string]interface {}{"b":interface {}(nil)}}}',
        ),
        ({"containers": "x"}, ".spec.containers: expected list, got &{x}"),
        ({"affinity": [1]}, ".spec.affinity: expected map, got &{[1]}"),
        ({"hostNetwork": "x"}, ".spec.hostNetwork: expected boolean, got &{x}"),
        ({"priority": True}, ".spec.priority: expected numeric (int or float), got bool"),
        ({"overhead": {"cpu": {}}}, ".spec.overhead.cpu: expected any scalar, got &{map[]}"),
        ({"tolerations": [{"x": 1}]}, ".spec.tolerations[0].x: field not declared in schema"),
        (
            {"containers": [None]},
            ".spec.containers: element 0: associative list with keys may not have a null element",
        ),
        (
            {"containers": [{"name": "c"}, {"name": "c"}]},
            '.spec.containers: duplicate entries for key [name="c"]',
        ),
        (
            {"containers": [{"name": "c", "ports": [{"containerPort": "x"}]}]},
            f"{PORT}.containerPort: expected numeric (int or float), got string",
        ),
    ],
)
def test_configs_that_are_not_in_form(spec: Obj, problem: str) -> None:
    assert schema_problems({"spec": spec}, POD) == [problem]


def test_a_config_in_form() -> None:
    spec = {"containers": [{"image": "x"}], "nodeName": None, "priority": 1.5}
    assert schema_problems({"metadata": {"finalizers": ["a"]}, "spec": spec}, POD) == []
    problem = "associative list without keys has an element that's a map type"
    assert schema_problems({"metadata": {"finalizers": [{}]}}, POD) == [
        f".metadata.finalizers: element 0: {problem}"
    ]
