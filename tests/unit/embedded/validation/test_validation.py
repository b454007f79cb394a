"""What the embedded API server rejects, compared with what kube-apiserver said of the same."""

import copy
import functools
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.embedded.api import Api, WriteOptions
from mooring.embedded.event_conversion import to_events_v1
from mooring.embedded.resources import BY_KIND, EVENTS
from mooring.embedded.status_errors import StatusError
from tests.e2e.real_and_embedded import read_objects
from tests.unit.embedded.fake_api_server import FakeApiServer
from tests.unit.embedded.validation.cases import CHANGED, NEW, Obj, changed, plain

RECORD = Path(__file__).with_name("causes.json")
# Here the API server prints whole Go structs, of which we print the JSON.
PRINTED_OTHERWISE = frozenset(("spec.template", "spec.template.spec"))


@functools.cache
def recorded() -> dict[str, dict[str, Any]]:
    record: dict[str, dict[str, Any]] = msgspec.json.decode(RECORD.read_bytes())
    return record


def short(error: StatusError) -> Any:
    """What is rejected, in the form of the record."""
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


def rejected_new(api: Api, manifest: Obj) -> Any:
    resource = BY_KIND[manifest["apiVersion"], manifest["kind"]]
    try:
        api.create(
            resource,
            copy.deepcopy(manifest),
            "default" if resource.namespaced else "",
            WriteOptions(dry_run=True),
        )
    except StatusError as error:
        return short(error)
    return []


def rejected_change(api: Api, name: str) -> Any:
    manifest, _, subresource = CHANGED[name]
    resource = BY_KIND[manifest["apiVersion"], manifest["kind"]]
    namespace = "default" if resource.namespaced else ""
    stored = api.create(resource, copy.deepcopy(manifest), namespace).obj
    wanted = changed(name, to_events_v1(stored) if resource is EVENTS else stored)
    try:
        api.update(
            resource, wanted, namespace, manifest["metadata"]["name"], subresource=subresource
        )
    except StatusError as error:
        return short(error)
    return []


@pytest.mark.parametrize("name", NEW)
def test_new_objects(name: str) -> None:
    expected = recorded()["new"][name]
    assert comparable(rejected_new(FakeApiServer().api, NEW[name])) == comparable(expected)


@pytest.mark.parametrize("name", CHANGED)
def test_changed_objects(name: str) -> None:
    expected = recorded()["changed"][name]
    assert comparable(rejected_change(FakeApiServer().api, name)) == comparable(expected)


OBJECTS = read_objects()


@pytest.mark.parametrize("name", OBJECTS)
def test_ordinary_objects_are_taken(name: str) -> None:
    text = msgspec.json.encode(OBJECTS[name]).replace(b"NAMESPACE", b"default")
    assert rejected_new(FakeApiServer().api, msgspec.json.decode(text)) == []
