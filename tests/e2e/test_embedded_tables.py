"""Tables, selectors and forms of events: the same as the real API server's, object by object."""

import http.client
import ssl
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from mooring.embedded.event_conversion import to_core_v1, to_events_v1
from mooring.embedded.resources import (
    BINDINGS,
    BY_KIND,
    CONFIG_MAPS,
    CORE_EVENTS,
    DAEMON_SETS,
    EVENTS,
    JOBS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUMES,
    PODS,
    REPLICATION_CONTROLLERS,
    RESOURCE_SLICES,
    RESOURCES,
    SECRETS,
    SERVICES,
    Obj,
    Resource,
)
from mooring.embedded.selectors import parse_fields, parse_labels, selectable_fields
from mooring.embedded.status_errors import StatusError
from mooring.embedded.tables.tables import Include, accepts_table, metadata_only, table
from mooring.testing.real_kubernetes import ControlPlane
from tests.e2e.printed_objects import EVENT_OBJECTS, NEW_EVENTS, OBJECTS, SPACE, obj

pytestmark = pytest.mark.kube

AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
LISTED = [one for one in RESOURCES if one != BINDINGS]


class Server:
    """Requests to the real API server, with a header that `ControlPlane` does not send."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self._context = ssl.create_default_context(cafile=str(plane.ca_file))
        self._context.load_cert_chain(plane._admin.certificate, plane._admin.key)

    def get(self, path: str, accept: str = "application/json") -> tuple[int, Any]:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.plane.port, timeout=30, context=self._context
        )
        try:
            connection.request("GET", path, headers={"Accept": accept})
            response = connection.getresponse()
            return response.status, msgspec.json.decode(response.read())
        finally:
            connection.close()

    def make(self, obj: Obj) -> None:
        """Create an object, with its status."""
        created = self.plane.create(obj)
        if "status" in obj:
            path = object_path(created)
            created["status"] = obj["status"]
            self.plane.request("PUT", f"{path}/status", created)


def list_path(resource: Resource) -> str:
    return f"/{'apis' if resource.group else 'api'}/{resource.api_version}/{resource.plural}"


def object_path(obj: Obj) -> str:
    resource, meta = BY_KIND[obj["apiVersion"], obj["kind"]], obj["metadata"]
    root = f"/{'apis' if resource.group else 'api'}/{resource.api_version}"
    space = f"/namespaces/{meta['namespace']}" if resource.namespaced else ""
    return f"{root}{space}/{resource.plural}/{meta['name']}"


@pytest.fixture(scope="module")
def server(control_plane: ControlPlane) -> Iterator[Server]:
    """A server that has all of the objects."""
    server = Server(control_plane)
    server.make(obj("Namespace", SPACE))
    server.make(obj("ServiceAccount", "default"))
    for one in OBJECTS:
        server.make(one)
    for one in OBJECTS:
        if one["metadata"].get("finalizers"):
            control_plane.request("DELETE", object_path(one))
    yield server
    for one in OBJECTS:
        if one["metadata"].get("finalizers"):
            patch = {"metadata": {"finalizers": None}}
            kind = "application/merge-patch+json"
            control_plane.request("PATCH", object_path(one), patch, content_type=kind)
        if "namespace" not in one["metadata"]:
            control_plane.delete(
                one["kind"], one["metadata"]["name"], api_version=one["apiVersion"]
            )
    control_plane.delete_namespace(SPACE)


def without_descriptions(columns: list[Obj]) -> list[Obj]:
    return [{**one, "description": ""} for one in columns]


def both(server: Server, resource: Resource, include: Include) -> tuple[Obj, Obj, Obj]:
    """The real table, and ours just before and just after it."""
    path = list_path(resource)
    objs = server.get(path)[1]
    for one in objs["items"]:
        one |= {"apiVersion": resource.api_version, "kind": resource.kind}
        if resource == DAEMON_SETS:  # written into whole daemon sets, and not into their metadata
            assert list(one["metadata"].pop("annotations")) == [
                "deprecated.daemonset.template.generation"
            ]
    before = time.time()
    real: Obj = server.get(f"{path}?includeObject={include}", AS_TABLE)[1]
    version = real["metadata"]["resourceVersion"]
    first, last = (
        table(resource, objs["items"], now, include, version) for now in (before, time.time())
    )
    return real, first, last


@pytest.mark.parametrize("resource", LISTED, ids=lambda one: one.full_name)
def test_a_table_is_the_real_one(server: Server, resource: Resource) -> None:
    real, first, last = both(server, resource, "Metadata")
    assert without_descriptions(real["columnDefinitions"]) == first["columnDefinitions"]
    assert {**real, "rows": [], "columnDefinitions": []} == {
        **first, "rows": [], "columnDefinitions": [],
    }  # fmt: skip
    assert len(real["rows"]) == len(first["rows"]) > 0
    for row, ours, later in zip(real["rows"], first["rows"], last["rows"], strict=True):
        assert row["cells"] in (ours["cells"], later["cells"])
        assert {**row, "cells": []} == {**ours, "cells": []}


@pytest.mark.parametrize("include", ["None", "Metadata", "Object"])
def test_a_row_has_as_much_of_the_object_as_is_asked_for(server: Server, include: Include) -> None:
    real, first, _ = both(server, SECRETS, include)
    assert [one["object"] for one in real["rows"]] == [one["object"] for one in first["rows"]]


def test_the_table_of_one_object_has_its_version(server: Server) -> None:
    path = object_path(obj("Pod", "done"))
    found = server.get(path)[1]
    now = time.time()
    real = server.get(path, AS_TABLE)[1]
    version = found["metadata"]["resourceVersion"]
    ours = table(PODS, [found], now, "Metadata", version, headers=False)
    assert real["metadata"] == ours["metadata"]
    assert real["rows"][0]["conditions"] == ours["rows"][0]["conditions"]


@pytest.mark.parametrize(
    "accept",
    [
        AS_TABLE,
        "application/json",
        "*/*",
        "application/json;as=Table;g=meta.k8s.io;v=v1",
        "application/json; as=Table; v=v1; g=meta.k8s.io",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json",
        "application/json, application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v2;g=meta.k8s.io,application/json",
        "text/html, application/json;as=Table;v=v1;g=meta.k8s.io",
    ],
)
def test_a_table_is_sent_to_those_who_ask_for_it(server: Server, accept: str) -> None:
    status, answer = server.get(object_path(obj("Secret", "s1")), accept)
    assert status == 200
    assert accepts_table(accept) is (answer["kind"] == "Table")


def test_metadata_alone_is_the_real_one(server: Server) -> None:
    path = object_path(obj("Pod", "ready"))
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert metadata_only(server.get(path)[1]) == server.get(path, accept)[1]


@pytest.mark.parametrize("name", [one["metadata"]["name"] for one in EVENT_OBJECTS])
def test_both_forms_of_an_event_are_the_real_ones(server: Server, name: str) -> None:
    core = server.get(object_path(obj("Event", name)))[1]
    new = server.get(object_path(obj("Event", name, NEW_EVENTS)))[1]
    assert to_events_v1(core) == new
    assert to_core_v1(new) == core


# --- selectors ----------------------------------------------------------------------------------


class StoredObject(msgspec.Struct):
    namespace: str
    name: str
    fields: tuple[str, ...]
    labels: dict[str, str]


def items(server: Server, resource: Resource) -> list[StoredObject]:
    stored = CORE_EVENTS if resource == EVENTS else resource
    return [
        StoredObject(
            one["metadata"].get("namespace", ""),
            one["metadata"]["name"],
            selectable_fields(stored, one),
            one["metadata"].get("labels", {}),
        )
        for one in server.get(list_path(stored))[1]["items"]
    ]


def real_answer(server: Server, resource: Resource, parameter: str, selector: str) -> object:
    query = urllib.parse.urlencode({parameter: selector})
    status, answer = server.get(f"{list_path(resource)}?{query}")
    if status != 200:
        return status, answer["reason"], answer["message"]
    names = [(one["metadata"].get("namespace", ""), one["metadata"]["name"])
             for one in answer["items"]]  # fmt: skip
    return sorted(names)


def our_answer(server: Server, resource: Resource, parameter: str, selector: str) -> object:
    every = items(server, resource)
    try:
        if parameter == "labelSelector":
            labels = parse_labels(selector)
            found = [one for one in every if labels.matches(one.labels)]
        else:
            fields = parse_fields(selector, resource)
            found = [one for one in every if fields.matches(one)]
    except StatusError as rejected:
        return rejected.code, rejected.status["reason"], str(rejected)
    return sorted((one.namespace, one.name) for one in found)


@pytest.mark.parametrize(
    "selector",
    [
        "app=web", "app==web,tier", "app!=web", "app in (web,db)", "app notin (web)", "!app",
        "size>6", "size<7", "app=", "app in ()", "app in (,web)", "tier notin (,)", " app = web ",
        "app=web,", ",app", "app,,tier", "app web", "app=web tier", "!", "!!app", "app!", "app in",
        "app in (", "app in (web", "app in (web tier)", "app in (web,!)", "app in web", "app=(",
        "app===web", "=", "in", "in in (in)", "notin=in", "!app in (web)", "-a", "a/b/c", "/a",
        "a/", "A.B/c", "a=-b", "a in (-b,ok,_c)", "size>x", "size>-x-", "size>99999999999999999999",
        "a" * 64, f"{'a' * 254}/b", f"a={'b' * 64}", 'a="b"', "ä=b", "a=\u00e4\t",
    ],
)  # fmt: skip
def test_a_label_selector_means_the_same(server: Server, selector: str) -> None:
    ours = our_answer(server, PODS, "labelSelector", selector)
    assert ours == real_answer(server, PODS, "labelSelector", selector)


@pytest.mark.parametrize(
    ("resource", "selector"),
    [
        (PODS, "spec.nodeName=n1"), (PODS, "spec.nodeName="), (PODS, "spec.nodeName!=n1"),
        (PODS, "spec.host=n1"), (PODS, "spec.hostNetwork=true"), (PODS, "spec.hostNetwork=false"),
        (PODS, "status.phase=Running,spec.nodeName!="), (PODS, "status.phase==Pending"),
        (PODS, "status.phase!=Succeeded,status.phase!=Failed"), (PODS, "status.podIP=10.1.2.3"),
        (PODS, "status.podIPs=10.1.2.3"), (PODS, "status.podIPs="),
        (PODS, "status.nominatedNodeName=n9"), (PODS, "spec.restartPolicy=Always"),
        (PODS, "spec.schedulerName=default-scheduler"), (PODS, "spec.serviceAccountName=default"),
        (PODS, "metadata.name=done"), (PODS, "metadata.name=done,status.phase=Failed"),
        (PODS, f"metadata.namespace={SPACE}"), (PODS, "metadata.namespace!=default"),
        (PODS, "metadata.name!=done"), (PODS, ","), (PODS, "spec.foo=x"), (PODS, "=x"),
        (PODS, "status.phase"), (PODS, "b,a"), (PODS, "status.phase=a=b"),
        (PODS, r"status.phase=\,\=\\"), (PODS, r"status.phase=\a"), (PODS, "status.phase=a\\"),
        (PODS, r"status.phase!=a\,b"), (PODS, "metadata.labels=x"),
        (NODES, "spec.unschedulable=true"), (NODES, "spec.unschedulable=false"),
        (NODES, "spec.unschedulable!=true"), (NODES, "metadata.name=n1"),
        (NODES, "metadata.namespace=x"), (NAMESPACES, "status.phase=Active"),
        (NAMESPACES, "metadata.namespace="), (SECRETS, "type=Opaque"), (SECRETS, "data=x"),
        (SERVICES, "spec.type=LoadBalancer"), (SERVICES, "spec.clusterIP=None"),
        (SERVICES, "spec.ports=1"), (REPLICATION_CONTROLLERS, "status.replicas=2"),
        (REPLICATION_CONTROLLERS, "status.replicas=0"), (JOBS, "status.successful=0"),
        (JOBS, "status.successful=1"), (JOBS, "status.succeeded=1"),
        (RESOURCE_SLICES, "spec.driver=example.com"), (RESOURCE_SLICES, "spec.nodeName=n1"),
        (RESOURCE_SLICES, "spec.pool=x"), (RESOURCE_SLICES, "metadata.namespace="),
        (CONFIG_MAPS, "metadata.name=cm"), (CONFIG_MAPS, "data=x"),
        (PERSISTENT_VOLUMES, "metadata.namespace=x"), (PERSISTENT_VOLUMES, "metadata.namespace="),
        (CORE_EVENTS, "involvedObject.kind=Pod"), (CORE_EVENTS, "involvedObject.uid=u,type=Normal"),
        (CORE_EVENTS, "source=kubelet"), (CORE_EVENTS, "source=example.com/c"),
        (CORE_EVENTS, "reportingComponent=example.com/c"), (CORE_EVENTS, "reason=Pulled"),
        (CORE_EVENTS, "involvedObject.fieldPath=spec.containers{a}"),
        (CORE_EVENTS, "regarding.kind=Pod"), (EVENTS, "regarding.kind=Pod,type=Warning"),
        (EVENTS, "reportingController=example.com/c"), (EVENTS, "reportingComponent=x"),
        (EVENTS, "involvedObject.kind=Pod"), (EVENTS, "regarding.name!=new"),
    ],
)  # fmt: skip
def test_a_field_selector_means_the_same(server: Server, resource: Resource, selector: str) -> None:
    ours = our_answer(server, resource, "fieldSelector", selector)
    assert ours == real_answer(server, resource, "fieldSelector", selector)
