"""The embedded API server's ideas of form and of itself, compared with kube-apiserver's."""

import itertools
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest

from mooring.embedded.resources import (
    BY_KIND,
    CONFIG_MAPS,
    DEPLOYMENTS,
    JOBS,
    LEASES,
    NODES,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    SECRETS,
    SERVICES,
    Obj,
    Resource,
)
from mooring.embedded.schema.field_validation import check_fields, definition, definition_of_kind
from mooring.embedded.status_errors import StatusError
from mooring.testing.api_client import HttpsClient
from mooring.testing.real_kubernetes import ControlPlane
from tools import schema as tool

pytestmark = pytest.mark.kube


def pod(spec: Mapping[str, Any] | None = None, **more: Any) -> Obj:
    spec = {"containers": [{"name": "a", "image": "b"}], **(spec or {})}
    return {"metadata": {"name": "a"}, "spec": spec, **more}


def container(**fields: Any) -> Obj:
    return pod({"containers": [{"name": "a", "image": "b", **fields}]})


WRONG: list[tuple[Resource, Obj]] = [
    (PODS, pod({"priority": "high"})),
    (PODS, pod({"nodeName": 5})),
    (PODS, pod({"restartPolicy": 5})),
    (PODS, pod({"restartPolicy": {}})),
    (PODS, pod({"hostNetwork": "true"})),
    (PODS, pod({"containers": {"name": "a"}})),
    (PODS, pod({"containers": ["a"]})),
    (PODS, pod({"containers": "a"})),
    (PODS, pod({"nodeSelector": ["a"]})),
    (PODS, pod({"nodeSelector": {"a": True}})),
    (PODS, pod({"tolerations": [{"key": 1}]})),
    (PODS, pod({"tolerations": [{"tolerationSeconds": "5"}]})),
    (PODS, pod({"terminationGracePeriodSeconds": 1.5})),
    (PODS, pod({"priority": 2**31})),
    (PODS, pod({"priority": -(2**31) - 1})),
    (PODS, pod({"activeDeadlineSeconds": 2**63})),
    (PODS, pod({"affinity": "x"})),
    (PODS, pod({"affinity": {"nodeAffinity": []}})),
    (PODS, pod({"volumes": [{"name": "a", "hostPath": "/x"}]})),
    (PODS, pod({"volumes": [{"name": "a", "hostPath": {"path": 5}}]})),
    (PODS, pod({"volumes": [{"name": "a", "emptyDir": {"sizeLimit": "lots"}}]})),
    (PODS, pod({"ephemeralContainers": [{"image": 5}]})),
    (PODS, pod({"topologySpreadConstraints": [{"maxSkew": "1"}]})),
    (PODS, pod({"topologySpreadConstraints": [{"labelSelector": {"matchLabels": []}}]})),
    (PODS, pod({"securityContext": {"supplementalGroups": ["a"]}})),
    (PODS, container(ports=[{"containerPort": "80"}])),
    (PODS, container(ports=80)),
    (PODS, container(ports=[{"protocol": 80}])),
    (PODS, container(command="sleep")),
    (PODS, container(command=[1])),
    (PODS, container(env=[{"name": "A", "value": 1}])),
    (PODS, container(env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": 5}}}])),
    (PODS, container(env={"A": "b"})),
    (PODS, container(resources={"requests": {"cpu": "lots"}})),
    (PODS, container(resources={"requests": {"cpu": ""}})),
    (PODS, container(resources={"requests": {"cpu": "1Kii"}})),
    (PODS, container(resources={"requests": {"cpu": "1.2.3"}})),
    (PODS, container(resources={"requests": {"cpu": True}})),
    (PODS, container(resources={"requests": {"cpu": {}}})),
    (PODS, container(resources={"requests": "1"})),
    (PODS, container(resources={"limits": ["1"]})),
    (PODS, container(resources=[])),
    (PODS, container(livenessProbe={"httpGet": {"port": True}})),
    (PODS, container(livenessProbe={"httpGet": {"port": 1.5}})),
    (PODS, container(livenessProbe={"httpGet": {"port": 2**40}})),
    (PODS, container(livenessProbe={"periodSeconds": "5"})),
    (PODS, container(livenessProbe={"exec": {"command": 7}})),
    (PODS, container(imagePullPolicy=[])),
    # The first of two is told, unless the second ends the reading.
    (PODS, pod({"priority": "a", "nodeName": 7})),
    (PODS, pod({"priority": "a", "overhead": {"cpu": "x"}})),
    (PODS, pod(metadata={"name": "a", "labels": ["a"]})),
    (PODS, pod(metadata={"name": "a", "labels": {"a": 1}})),
    (PODS, pod(metadata={"name": 5})),
    (PODS, pod(metadata="a")),
    (PODS, pod(metadata={"name": "a", "ownerReferences": [{"uid": 5}]})),
    (PODS, pod(metadata={"name": "a", "ownerReferences": [{"controller": "yes"}]})),
    (PODS, pod(metadata={"name": "a", "creationTimestamp": 5})),
    (PODS, pod(metadata={"name": "a", "creationTimestamp": "today"})),
    (PODS, pod(metadata={"name": "a", "creationTimestamp": "2026-01-31"})),
    (PODS, pod(metadata={"name": "a", "creationTimestamp": "2026-13-31T00:00:00Z"})),
    (PODS, pod(metadata={"name": "a", "creationTimestamp": "2026-02-29T00:00:00Z"})),
    (PODS, pod(metadata={"name": "a", "creationTimestamp": "2026-01-31T25:00:00Z"})),
    (PODS, pod(metadata={"name": "a", "creationTimestamp": "2026-01-31T00:00:00"})),
    (PODS, pod(metadata={"name": "a", "creationTimestamp": "2026-01-31T00:00:00Zulu"})),
    (PODS, {"metadata": {"name": "a"}, "spec": []}),
    (NODES, {"metadata": {"name": "a"}, "spec": {"taints": [{"effect": 5}]}}),
    (NODES, {"metadata": {"name": "a"}, "spec": {"unschedulable": "true"}}),
    (NODES, {"metadata": {"name": "a"}, "status": {"capacity": {"cpu": "four"}}}),
    (NODES, {"metadata": {"name": "a"}, "status": {"conditions": [{"status": True}]}}),
    (NODES, {"metadata": {"name": "a"}, "status": {"images": [{"sizeBytes": "1"}]}}),
    (CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"a": 1}}),
    (CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"a": {"b": "c"}}}),
    (CONFIG_MAPS, {"metadata": {"name": "a"}, "immutable": "no"}),
    (SECRETS, {"metadata": {"name": "a"}, "data": {"a": "not base64"}}),
    (SECRETS, {"metadata": {"name": "a"}, "data": {"a": "abc"}}),
    (SECRETS, {"metadata": {"name": "a"}, "data": {"a": "ab=="}, "type": 5}),
    (SECRETS, {"metadata": {"name": "a"}, "data": {"a": "ab="}}),
    (SECRETS, {"metadata": {"name": "a"}, "data": {"a": "ab=c"}}),
    (SECRETS, {"metadata": {"name": "a"}, "data": {"a": "abc=d"}}),
    (SECRETS, {"metadata": {"name": "a"}, "data": {"a": "a==="}}),
    (SECRETS, {"metadata": {"name": "a"}, "data": {"a": 5}}),
    (SERVICES, {"metadata": {"name": "a"}, "spec": {"ports": [{"port": "80"}]}}),
    (SERVICES, {"metadata": {"name": "a"}, "spec": {"type": 1}}),
    (DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": {"replicas": "3"}}),
    (DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": {"template": pod({"nodeName": 5})}}),
    (DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": "a"}}}),
    (JOBS, {"metadata": {"name": "a"}, "spec": {"completions": "3"}}),
    (PERSISTENT_VOLUMES, {"metadata": {"name": "a"}, "spec": {"accessModes": [5]}}),
    (PERSISTENT_VOLUMES, {"metadata": {"name": "a"}, "spec": {"csi": {"driver": 5}}}),
    (POD_DISRUPTION_BUDGETS, {"metadata": {"name": "a"}, "spec": {"minAvailable": []}}),
    (LEASES, {"metadata": {"name": "a"}, "spec": {"renewTime": "2026-01-31T00:00:00Z"}}),
    (LEASES, {"metadata": {"name": "a"}, "spec": {"renewTime": 7}}),
]

UNKNOWN: list[tuple[Resource, Obj]] = [
    (PODS, pod({"nodName": "a"})),
    (PODS, pod({"nodName": "a", "other": {"x": 1}}, more=5)),
    (PODS, container(imagee="a")),
    (PODS, pod(metadata={"name": "a", "label": {}})),
    (PODS, pod({"containers": [{"name": "a", "image": "b"}, {"ports": [{}, {"port": 8}]}]})),
    (PODS, pod({"nodeName": None, "NodeName": "a", 'odd"name': 1})),
    (PODS, pod({"overhead": None}, status={"phase": "Running", "faze": 1})),
    (DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": {"template": pod({"replicas": 3})}}),
    (CONFIG_MAPS, {"metadata": {"name": "a", "annotations": {"x/y.z": "v"}}, "dta": {"a": 1}}),
]


@pytest.fixture(scope="module")
def client(control_plane: ControlPlane) -> Iterator[HttpsClient]:
    client = control_plane.https(control_plane.port)
    yield client
    client.close()


def real_answer(client: HttpsClient, resource: Resource, obj: Obj, validation: str) -> Obj:
    space = "/namespaces/default" if resource.namespaced else ""
    code, body = client.send(
        "POST",
        f"{base_path(resource)}{space}/{resource.plural}?dryRun=All&fieldValidation={validation}",
        msgspec.json.encode(obj),
        content_type="application/json",
    )
    assert code == 400, body
    answer: Obj = msgspec.json.decode(body)
    return answer


def base_path(resource: Resource) -> str:
    return f"/{'apis' if resource.group else 'api'}/{resource.api_version}"


def whole(resource: Resource, obj: Obj) -> Obj:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **obj}


def sent(resource: Resource, obj: Obj) -> Obj:
    decoded: Obj = msgspec.json.decode(msgspec.json.encode(whole(resource, obj)))
    return decoded


@pytest.mark.parametrize(("resource", "obj"), WRONG)
def test_wrong_types_are_rejected_in_the_same_words(
    client: HttpsClient, resource: Resource, obj: Obj
) -> None:
    answer = real_answer(client, resource, whole(resource, obj), "Ignore")
    with pytest.raises(StatusError) as caught:
        check_fields(resource, sent(resource, obj))
    assert caught.value.status == answer


@pytest.mark.parametrize(("resource", "obj"), UNKNOWN)
def test_unknown_fields_are_told_in_the_same_words(
    client: HttpsClient, resource: Resource, obj: Obj
) -> None:
    answer = real_answer(client, resource, whole(resource, obj), "Strict")
    told = ", ".join(check_fields(resource, sent(resource, obj)))
    start = f'{resource.kind} in version "v1" cannot be handled as a {resource.kind}: '
    assert answer["message"] == f"{start}strict decoding error: {told}"


def test_wrong_types_are_told_before_unknown_fields(client: HttpsClient) -> None:
    obj = pod({"nodName": "a", "priority": "high"})
    answer = real_answer(client, PODS, whole(PODS, obj), "Strict")
    with pytest.raises(StatusError) as caught:
        check_fields(PODS, sent(PODS, obj))
    assert caught.value.status == answer


#: Something of every type; for each field some of them are wrong.
ANYTHING: list[Any] = ["x", 7, 1.5, True, [], {}, [1], {"a": 1}, ["x"], {"a": "x"}, -1, [[]]]


def test_every_field_is_read_as_the_real_server_reads_it(
    control_plane: ControlPlane, client: HttpsClient
) -> None:
    roots = tool._roots(tool._schemas(control_plane))
    del roots[tool._DELETE_OPTIONS]  # what is sent with a DELETE is rejected in other words
    waiting = deque((name, tool.Place(root, (), "")) for name, root in roots.items())
    seen: set[str] = set()
    values = itertools.cycle(ANYTHING)
    compared = 0
    while waiting:
        name, place = waiting.popleft()
        if name in seen:
            continue
        seen.add(name)
        for key, field in definition(name).fields.items():
            if not place.steps and key in ("apiVersion", "kind"):
                continue
            if field.ref:
                waiting.append((field.ref, place._replace(steps=(*place.steps, (key, field)))))
            compared += same_words(client, place, {key: next(values)})
    assert compared > 800


def same_words(client: HttpsClient, place: tool.Place, value: Obj) -> bool:
    """Whether both reject an object with this in it; that they agree is asserted."""
    root, body = place.root, value
    for key, field in reversed(place.steps):
        body = {key: tool._wrapped(field, body)}
    body = {"apiVersion": root.api_version, "kind": root.kind, **body}
    encoded = msgspec.json.encode(body)
    path = f"{root.path}?dryRun=All&fieldValidation=Ignore"
    code, content = client.send(root.method, path, encoded, content_type="application/json")
    answer = msgspec.json.decode(content)
    real = answer if code == 400 and "cannot be handled" in answer["message"] else None
    group, _, version = root.api_version.rpartition("/")
    ours = None
    try:
        check_fields(definition_of_kind(group, version, root.kind), msgspec.json.decode(encoded))
    except StatusError as rejected:
        ours = rejected.status
    assert ours == real, body
    return ours is not None


def test_the_file_is_what_the_tool_writes(control_plane: ControlPlane) -> None:
    assert tool.FILE.read_text() == tool.compose(control_plane)


def test_every_kind_has_a_definition() -> None:
    for resource in BY_KIND.values():
        assert check_fields(resource, whole(resource, {"metadata": {"name": "a"}})) == []
