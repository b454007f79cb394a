"""What the embedded API server refuses, compared with what kube-apiserver said of the same."""

import copy
import functools
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.embedded.api import Api, Write
from mooring.embedded.event_forms import to_new
from mooring.embedded.refusals import Refused
from mooring.embedded.resources import BY_KIND, EVENTS
from tests.e2e.both_servers import read_objects
from tests.unit.embedded.validating_cases import CHANGED, NEW, Obj, changed, plain
from tests.unit.embedded.worlds import World

RECORD = Path(__file__).with_name("validating_causes.json")
# Here the API server prints whole Go structs, of which we print the JSON.
PRINTED_OTHERWISE = frozenset(("spec.template", "spec.template.spec"))


@functools.cache
def recorded() -> dict[str, dict[str, Any]]:
    record: dict[str, dict[str, Any]] = msgspec.json.decode(RECORD.read_bytes())
    return record


def short(error: Refused) -> Any:
    """What is refused, in the form of the record."""
    if error.code != 422:
        return {"code": error.code, "message": error.status["message"]}
    return [
        [one["field"], one["reason"], plain(one["message"])]
        for one in error.status["details"]["causes"]
    ]


def comparable(causes: Any) -> Any:
    if isinstance(causes, dict):
        return causes
    return [
        [field, reason, message if field not in PRINTED_OTHERWISE else message.rpartition(": ")[2]]
        for field, reason, message in causes
    ]


def refused_new(api: Api, manifest: Obj) -> Any:
    resource = BY_KIND[manifest["apiVersion"], manifest["kind"]]
    try:
        api.create(
            resource,
            copy.deepcopy(manifest),
            "default" if resource.namespaced else "",
            Write(dry_run=True),
        )
    except Refused as error:
        return short(error)
    return []


def refused_change(api: Api, name: str) -> Any:
    manifest, _, subresource = CHANGED[name]
    resource = BY_KIND[manifest["apiVersion"], manifest["kind"]]
    namespace = "default" if resource.namespaced else ""
    stored = api.create(resource, copy.deepcopy(manifest), namespace).obj
    wanted = changed(name, to_new(stored) if resource is EVENTS else stored)
    try:
        api.update(
            resource, wanted, namespace, manifest["metadata"]["name"], subresource=subresource
        )
    except Refused as error:
        return short(error)
    return []


@pytest.mark.parametrize("name", NEW)
def test_new_objects(name: str) -> None:
    expected = recorded()["new"][name]
    assert comparable(refused_new(World().api, NEW[name])) == comparable(expected)


@pytest.mark.parametrize("name", CHANGED)
def test_changed_objects(name: str) -> None:
    expected = recorded()["changed"][name]
    assert comparable(refused_change(World().api, name)) == comparable(expected)


OBJECTS = read_objects()


@pytest.mark.parametrize("name", OBJECTS)
def test_ordinary_objects_are_taken(name: str) -> None:
    text = msgspec.json.encode(OBJECTS[name]).replace(b"NAMESPACE", b"default")
    assert refused_new(World().api, msgspec.json.decode(text)) == []
