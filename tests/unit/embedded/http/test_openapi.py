from typing import Any
from urllib.parse import urlsplit

import msgspec

from mooring.embedded.http.openapi import openapi_bytes, openapi_document, openapi_v2_protobuf
from mooring.embedded.resources import BY_KIND, Obj

CORE = "io.k8s.api.core.v1."


def document(path: str) -> Obj:
    body = openapi_bytes(path)
    assert body is not None
    found: Obj = msgspec.json.decode(body)
    return found


def test_the_index_leads_to_all_documents() -> None:
    paths = document("/openapi/v3")["paths"]
    assert {f"{'apis' if one.group else 'api'}/{one.api_version}" for one in BY_KIND.values()} <= (
        set(paths)
    )
    addresses = {name: one["serverRelativeURL"] for name, one in paths.items()}
    assert len({urlsplit(one).query for one in addresses.values()}) == len(addresses)
    for name, address in addresses.items():
        assert urlsplit(address).path == f"/openapi/v3/{name}"
        assert document(urlsplit(address).path)["openapi"] == "3.0.0"


def test_documents_are_complete_in_themselves() -> None:
    for name in document("/openapi/v3")["paths"]:
        whole = document(f"/openapi/v3/{name}")
        schemas = whole["components"]["schemas"]
        for reference in references(whole):
            assert reference.removeprefix("#/components/schemas/") in schemas


def references(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*(references(one) for one in value))
    if not isinstance(value, dict):
        return set()
    found = set().union(*(references(one) for one in value.values()))
    return found | ({value["$ref"]} if isinstance(value.get("$ref"), str) else set())


def test_schemas_say_what_a_patch_needs() -> None:
    schemas = document("/openapi/v3/api/v1")["components"]["schemas"]
    assert schemas[CORE + "Container"]["properties"]["ports"] == {
        "type": "array",
        "items": {"allOf": [{"$ref": f"#/components/schemas/{CORE}ContainerPort"}]},
        "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-patch-merge-key": "containerPort",
        "x-kubernetes-patch-strategy": "merge",
    }
    assert schemas[CORE + "Pod"]["x-kubernetes-group-version-kind"] == [
        {"group": "", "version": "v1", "kind": "Pod"}
    ]
    assert schemas[CORE + "PodSpec"]["required"] == ["containers"]


def test_writes_name_the_parameters_that_kubectl_looks_for() -> None:
    paths = document("/openapi/v3/apis/apps/v1")["paths"]
    place = "/apis/apps/v1/namespaces/{namespace}/deployments"
    for operation in (paths[place]["post"], paths[f"{place}/{{name}}"]["patch"]):
        names = [one["name"] for one in operation["parameters"] if one["in"] == "query"]
        assert {"dryRun", "fieldManager", "fieldValidation"} <= set(names)
        assert operation["x-kubernetes-group-version-kind"] == {
            "group": "apps", "version": "v1", "kind": "Deployment",
        }  # fmt: skip
    patch = paths[f"{place}/{{name}}"]["patch"]
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]
    scale = paths[f"{place}/{{name}}/scale"]["put"]
    assert scale["x-kubernetes-group-version-kind"]["kind"] == "Scale"


def test_what_only_can_be_created_has_no_other_verb() -> None:
    paths = document("/openapi/v3/api/v1")["paths"]
    assert set(paths["/api/v1/namespaces/{namespace}/bindings"]) == {"post", "parameters"}
    assert "/api/v1/bindings" not in paths
    assert set(paths["/api/v1/nodes"]) == {"get", "post", "delete"}


def test_what_is_not_there() -> None:
    for path in ("/openapi", "/openapi/v3/api/v2", "/openapi/v3/apis/nope/v1", "/openapi/v1"):
        assert openapi_bytes(path) is None


def test_version_2_is_empty() -> None:
    found = openapi_document("/openapi/v2")
    assert found is not None
    assert (found["swagger"], found["paths"], found["definitions"]) == ("2.0", {}, {})
    assert openapi_v2_protobuf() == b"\n\x032.0\x12\x15\n\nKubernetes\x12\x07v1.36.4"
