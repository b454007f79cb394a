from mooring.embedded.http.discovery import (
    GROUPS,
    discovery_document,
    resources_of,
    subresources_of,
)
from mooring.embedded.http.reviews import REVIEWS
from mooring.embedded.resources import BY_KIND, NAMESPACES, PODS, SERVICE_ACCOUNTS, Obj


def document(path: str, *, aggregated: bool = False) -> Obj:
    found = discovery_document(path, aggregated)
    assert found is not None
    return found


def test_every_group_is_offered() -> None:
    used = {one.group for one in (*BY_KIND.values(), *REVIEWS)}
    assert {"", *GROUPS} == used
    assert [one["name"] for one in document("/apis")["groups"]] == list(GROUPS)


def test_every_resource_is_offered_once() -> None:
    told = [
        (path, one["name"])
        for path in ("/api/v1", *(f"/apis/{group}/v1" for group in GROUPS))
        for one in document(path)["resources"]
        if "/" not in one["name"]
    ]
    assert len(told) == len(set(told)) == len(BY_KIND) + len(REVIEWS)


def test_a_resource_and_its_parts() -> None:
    entries = {one["name"]: one for one in document("/api/v1")["resources"]}
    assert entries["pods"] == {
        "name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod",
        "verbs": [
            "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
        ],
        "shortNames": ["po"], "categories": ["all"],
    }  # fmt: skip
    assert entries["pods/eviction"] == {
        "name": "pods/eviction", "singularName": "", "namespaced": True, "group": "policy",
        "version": "v1", "kind": "Eviction", "verbs": ["create"],
    }  # fmt: skip
    assert "pods/exec" not in entries


def test_parts_have_verbs_of_their_own() -> None:
    assert [(one.name, one.verbs) for one in subresources_of(PODS)] == [
        ("binding", ("create",)),
        ("eviction", ("create",)),
        ("status", ("get", "patch", "update")),
    ]
    assert [(one.name, one.kind, one.verbs) for one in subresources_of(NAMESPACES)] == [
        ("finalize", "Namespace", ("update",)),
        ("status", "Namespace", ("get", "patch", "update")),
    ]
    assert [one.kind for one in subresources_of(SERVICE_ACCOUNTS)] == ["TokenRequest"]


def test_everything_at_once() -> None:
    whole = document("/apis", aggregated=True)
    assert [one["metadata"]["name"] for one in whole["items"]] == list(GROUPS)
    core = document("/api", aggregated=True)["items"]
    assert [one["metadata"] for one in core] == [{}]
    names = [one["resource"] for one in core[0]["versions"][0]["resources"]]
    assert names == [one.plural for one in resources_of("", "v1")]
    assert document("/api/v1", aggregated=True) == document("/api/v1")


def test_a_slash_at_the_end_makes_no_difference() -> None:
    assert document("/apis/apps/") == document("/apis/apps")
    assert document("/version/") == document("/version")


def test_what_is_not_there() -> None:
    for path in ("/api/v2", "/apis/nope", "/apis/apps/v2", "/apis/nope/v1", "/api/v1/pods"):
        assert discovery_document(path) is None


def test_who_it_is() -> None:
    version = document("/version")
    assert version["gitVersion"] == "v1.36.4"
    assert version["platform"].startswith("mooring/")


def test_the_list_of_paths() -> None:
    paths = document("/")["paths"]
    assert paths == sorted(paths)
    for path in paths:
        known = discovery_document(path) is not None
        assert known or path.startswith(("/openapi", "/healthz", "/livez", "/readyz"))
