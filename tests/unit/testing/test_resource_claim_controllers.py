"""The controllers of ResourceClaims on an API server in another thread, over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from mooring.embedded.resources import RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from mooring.embedded.status_errors import StatusError
from mooring.testing.embedded_control_plane import EmbeddedControlPlane
from mooring.testing.mirrored_api import MirroredApi
from mooring.testing.resource_claim_controllers import ResourceClaimControllers

Obj = dict[str, Any]

API = "resource.k8s.io/v1"
REQUEST = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
SPEC = {"devices": {"requests": [REQUEST]}}
FINALIZER = "resource.kubernetes.io/delete-protection"


@pytest.fixture(scope="module")
def plane() -> Iterator[EmbeddedControlPlane]:
    with EmbeddedControlPlane() as running:
        yield running


@pytest.fixture
def controlled(plane: EmbeddedControlPlane) -> Iterator[EmbeddedControlPlane]:
    with ResourceClaimControllers(plane):
        yield plane
    for kind in ("ResourceClaimTemplate", "ResourceClaim"):
        plane.delete_all(kind, api_version=API)
    plane.delete_all("Pod")


def template(name: str) -> Obj:
    metadata = {"name": name}
    whole = {"apiVersion": API, "kind": "ResourceClaimTemplate", "metadata": metadata}
    return {**whole, "spec": {"spec": SPEC}}


def pod(name: str) -> Obj:
    reference = {"name": "gpu", "resourceClaimTemplateName": "one"}
    spec = {"containers": [{"name": "main", "image": "i"}], "resourceClaims": [reference]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def claims(plane: EmbeddedControlPlane) -> list[Obj]:
    return plane.list_objects("ResourceClaim", "default", api_version=API)


def wait_claim(plane: EmbeddedControlPlane, pod_name: str) -> Obj:
    """The claim of a pod, once the pod's status names it."""

    def look() -> Obj | None:
        found = plane.get("Pod", pod_name)["status"].get("resourceClaimStatuses")
        return found and plane.get("ResourceClaim", found[0]["resourceClaimName"], api_version=API)

    return plane.wait_for(look, f"{pod_name} to have a claim")


def put_status(plane: EmbeddedControlPlane, obj: Obj, **status: Any) -> Obj:
    metadata = obj["metadata"]
    path = plane.path(
        obj["kind"], metadata["name"], metadata["namespace"], api_version=obj["apiVersion"]
    )
    whole = {**obj, "status": {**obj.get("status", {}), **status}}
    changed: Obj = plane.request("PUT", f"{path}/status", whole)
    return changed


def allocate(plane: EmbeddedControlPlane, claim: Obj, user: Obj) -> None:
    path = plane.path("ResourceClaim", claim["metadata"]["name"], "default", api_version=API)
    claim["metadata"]["finalizers"] = [FINALIZER]
    claim = plane.request("PUT", path, claim)
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": "p", "device": "d"}
    metadata = user["metadata"]
    consumer = {"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]}
    allocation = {"devices": {"results": [result]}}
    put_status(plane, claim, allocation=allocation, reservedFor=[consumer])


def test_claims_come_and_go_with_their_pods(controlled: EmbeddedControlPlane) -> None:
    plane = controlled
    plane.create(template("one"))
    for name, end in (("done", "finish"), ("gone", "delete")):
        made = plane.create(pod(name))
        claim = wait_claim(plane, name)
        assert claim["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
        allocate(plane, claim, made)
        if end == "finish":
            put_status(plane, plane.get("Pod", name), phase="Succeeded")
        else:
            plane.delete("Pod", name)
        plane.wait_for(lambda: not claims(plane), "the claim to be deleted")


def test_what_was_there_before_is_seen_to(plane: EmbeddedControlPlane) -> None:
    plane.create(template("one"))
    plane.create(pod("early"))
    for _ in range(2):
        with ResourceClaimControllers(plane):
            wait_claim(plane, "early")
        assert len(claims(plane)) == 1
    for kind in ("ResourceClaimTemplate", "ResourceClaim"):
        plane.delete_all(kind, api_version=API)
    plane.delete_all("Pod")


def test_a_missing_template_is_an_event(controlled: EmbeddedControlPlane) -> None:
    plane = controlled
    plane.create(pod("waits"))

    def look() -> bool:
        return any(
            one["reason"] == "FailedResourceClaimCreation"
            for one in plane.list_objects("Event", "default")
        )

    plane.wait_for(look, "an event")
    plane.create(template("one"))
    wait_claim(plane, "waits")


def test_a_mirror_keeps_the_newest_version(plane: EmbeddedControlPlane) -> None:
    api = MirroredApi(plane)
    first = plane.create(template("mirrored"))
    second = plane.request(
        "PUT",
        plane.path("ResourceClaimTemplate", "mirrored", "default", api_version=API),
        {**first, "metadata": {**first["metadata"], "labels": {"a": "b"}}},
    )
    api.observe(RESOURCE_CLAIM_TEMPLATES, second)
    assert api.observe(RESOURCE_CLAIM_TEMPLATES, first).labels == {"a": "b"}
    stored = api.store.get(RESOURCE_CLAIM_TEMPLATES, "default", "mirrored")
    assert stored is not None
    assert stored.obj["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]
    assert api.get(RESOURCE_CLAIM_TEMPLATES, "default", "mirrored").uid == stored.uid
    api.forget(RESOURCE_CLAIM_TEMPLATES, {"metadata": {**first["metadata"], "uid": "other"}})
    assert api.store.count(RESOURCE_CLAIM_TEMPLATES) == 1
    api.forget(RESOURCE_CLAIM_TEMPLATES, second)
    assert api.store.count(RESOURCE_CLAIM_TEMPLATES) == 0
    with pytest.raises(StatusError) as caught:
        api.get(RESOURCE_CLAIMS, "default", "none")
    assert caught.value.code == 404
    with pytest.raises(StatusError) as caught:
        api.delete(RESOURCE_CLAIMS, "default", "none")
    assert caught.value.code == 404
    plane.delete("ResourceClaimTemplate", "mirrored", api_version=API)
