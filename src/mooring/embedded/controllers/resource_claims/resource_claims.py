"""Releases ResourceClaims: of pods that are gone or done, their reservations, devices and claims.

A claim that nobody uses any more loses its devices and the finalizer that protected them; one that
was created for a pod, by us or by a scheduler for extended resources, is then deleted.

parity v1.36.4: pkg/controller/resourceclaim/controller.go syncClaim
"""

from collections.abc import Iterable
from typing import Any

from mooring.embedded.controllers.controller import Controller
from mooring.embedded.controllers.pod_index import Key, PodSummary, summarize_pod
from mooring.embedded.controllers.resource_claims.claims import (
    FINALIZER,
    is_allocated,
    owning_pod,
    reserved_for,
)
from mooring.embedded.resources import PODS, RESOURCE_CLAIMS, Obj
from mooring.embedded.stored_object import StoredObject


class ResourceClaimController(Controller):
    """Releases claims."""

    resource = RESOURCE_CLAIMS

    def pod_changed(self, old: PodSummary | None, new: PodSummary | None) -> Iterable[Key]:
        """The claims of a pod that does not need them any more."""
        pod = new or old
        if pod is None or (new is not None and not _is_done(new)):
            return ()
        return [(pod.key[0], name) for name in pod.claim_names]

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:  # noqa: ARG002
        """Release one claim, as far as nobody uses it."""
        namespace = key[0]
        claim = item.obj
        users = reserved_for(claim)
        remaining = [one for one in users if self._may_use(namespace, one)]
        if len(remaining) < len(users):
            claim["status"]["reservedFor"] = remaining
            if not remaining and FINALIZER in _finalizers(claim):
                claim["status"].pop("allocation", None)
            claim = self._client.update(RESOURCE_CLAIMS, claim, "status").obj
            if not is_allocated(claim):
                claim = self._unprotect(claim)
        elif not remaining and claim["metadata"].get("deletionTimestamp"):
            if FINALIZER in _finalizers(claim) and is_allocated(claim):
                del claim["status"]["allocation"]
                claim = self._client.update(RESOURCE_CLAIMS, claim, "status").obj
            claim = self._unprotect(claim)
        if not remaining:
            self._delete_generated(namespace, claim)
        return None

    def _may_use(self, namespace: str, user: dict[str, Any]) -> bool:
        """Whether a reservation still counts; those of others than pods always do."""
        if user.get("apiGroup") or user.get("resource") != "pods":
            return True
        key = namespace, user.get("name", "")
        pod = self._pods.get(key)
        if pod is None:
            # A pod that is not known yet keeps its claims.
            found = self._client.read(PODS, *key)
            return found is not None and summarize_pod(found.body).uid == user.get("uid")
        return pod.uid == user.get("uid") and not _is_done(pod)

    def _unprotect(self, claim: Obj) -> Obj:
        """Take the finalizer away; the claim as it is then."""
        finalizers = _finalizers(claim)
        if FINALIZER not in finalizers:
            return claim
        claim["metadata"]["finalizers"] = [one for one in finalizers if one != FINALIZER]
        return self._client.update(RESOURCE_CLAIMS, claim).obj

    def _delete_generated(self, namespace: str, claim: Obj) -> None:
        """Delete a claim of a pod that is done; that of a missing pod is garbage, as any other."""
        name, uid = owning_pod(claim)
        pod = self._pods.get((namespace, name)) if name else None
        metadata = claim["metadata"]
        if pod is None or metadata.get("deletionTimestamp"):
            return
        if pod.uid != uid or _is_done(pod):
            self._client.delete(RESOURCE_CLAIMS, namespace, metadata["name"], metadata["uid"])


def _is_done(pod: PodSummary) -> bool:
    """Whether no container of a pod runs, or ever will."""
    return pod.finished or (pod.deleting and not pod.node)


def _finalizers(claim: Obj) -> list[str]:
    return claim["metadata"].get("finalizers") or []
