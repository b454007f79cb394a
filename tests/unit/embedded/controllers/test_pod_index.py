"""Pods are found by the claims that they use."""

from typing import Any

from mooring.embedded.controllers.pod_index import PodClaim, PodIndex, summarize_pod
from mooring.embedded.resources import PODS, Obj
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent, WatchEventType


def stored(name: str, claims: list[Obj], **status: Any) -> StoredObject:
    metadata = {"name": name, "namespace": "default", "uid": name}
    pod = {"metadata": metadata, "spec": {"resourceClaims": claims}, "status": status}
    return StoredObject(PODS, pod, 1, "")


def event(kind: WatchEventType, item: StoredObject) -> WatchEvent:
    return WatchEvent(kind, item, None)


SHARED = {"name": "a", "resourceClaimName": "shared"}
FROM_TEMPLATE = {"name": "b", "resourceClaimTemplateName": "one"}


def test_a_pod_says_which_claims_it_uses() -> None:
    fresh = summarize_pod(stored("p", [SHARED, FROM_TEMPLATE]).body)
    assert fresh.claims == (PodClaim("a", "", "shared"), PodClaim("b", "one", ""))
    assert fresh.claim_names == ("shared",)
    made = [{"name": "b", "resourceClaimName": "p-b-x"}]
    special = {"resourceClaimName": "special", "requestMappings": []}
    status = {"resourceClaimStatuses": made, "extendedResourceClaimStatus": special}
    item = stored("p", [SHARED, FROM_TEMPLATE], **status)
    assert summarize_pod(item.body).claim_names == ("shared", "p-b-x", "special")
    unneeded = stored("p", [FROM_TEMPLATE], resourceClaimStatuses=[{"name": "b"}])
    assert summarize_pod(unneeded.body).claims == (PodClaim("b", "one", None),)
    assert summarize_pod(unneeded.body).claim_names == ()


def test_pods_are_found_by_claims_and_templates() -> None:
    index = PodIndex()
    twice = stored("p", [SHARED, {**SHARED, "name": "c"}, FROM_TEMPLATE])
    index.apply(event("ADDED", twice))
    index.apply(event("ADDED", stored("q", [SHARED])))
    using = [pod.uid for pod in index.using_claim("default", "shared")]
    assert using == ["p", "q"]
    assert [pod.uid for pod in index.using_claim_template("default", "one")] == ["p"]
    assert index.using_claim("other", "shared") == []
    index.apply(event("MODIFIED", stored("p", [])))
    assert [pod.uid for pod in index.using_claim("default", "shared")] == ["q"]
    assert index.using_claim_template("default", "one") == []
    index.apply(event("DELETED", stored("q", [SHARED])))
    assert index.using_claim("default", "shared") == []
