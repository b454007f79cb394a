"""Creates ResourceClaims from templates for pods, and reserves claims for pods that have a node.

A pod's status says which claims were created for it. A claim that is gone although its pod needs it
is created again.

parity v1.36.4: pkg/controller/resourceclaim/controller.go syncPod
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from mooring.embedded.controllers.controller import Controller, EventHandler
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import (
    Key,
    PartialMetadata,
    PodClaim,
    PodIndex,
    PodSummary,
)
from mooring.embedded.controllers.resource_claims.claims import (
    POD_CLAIM_NAME,
    is_allocated,
    is_reserved_for,
    owning_pod,
    reserved_for,
)
from mooring.embedded.resources import (
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    Obj,
    Resource,
)
from mooring.embedded.status_errors import StatusError
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent

_MANAGER: Final = "ResourceClaimController"
#: Leaves room for a hyphen and five characters in a name of 63.
_BASE_LENGTH: Final = 57


class _PartialClaim(msgspec.Struct):
    metadata: PartialMetadata


_decode: Final = msgspec.json.Decoder(_PartialClaim).decode


class PodClaimController(Controller):
    """Sees to it that the claims of pods are there and reserved."""

    resource = PODS

    def __init__(self, client: ControllerClient, pods: PodIndex) -> None:
        super().__init__(client, pods)
        self._owners: dict[Key, str] = {}
        self._owned: dict[str, dict[str, str]] = {}

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """Of claims and templates."""
        return {
            RESOURCE_CLAIMS: self._claim_changed,
            RESOURCE_CLAIM_TEMPLATES: self._template_changed,
        }

    def pod_changed(self, old: PodSummary | None, new: PodSummary | None) -> Iterable[Key]:  # noqa: ARG002
        """The pod, if it uses claims."""
        return (new.key,) if new is not None and new.claims and new.active else ()

    def _template_changed(self, event: WatchEvent) -> Iterable[Key]:
        item = event.item
        return [one.key for one in self._pods.using_claim_template(item.namespace, item.name)]

    def _claim_changed(self, event: WatchEvent) -> Iterable[Key]:
        item = event.item
        key = item.namespace, item.name
        self._forget(key)
        if event.type != "DELETED":
            self._remember(key, item)
        return [one.key for one in self._pods.using_claim(*key)]

    def _forget(self, key: Key) -> None:
        """A claim is gone, or is looked at anew."""
        owner = self._owners.pop(key, "")
        owned = {
            name: claim for name, claim in self._owned.pop(owner, {}).items() if claim != key[1]
        }
        if owned:
            self._owned[owner] = owned

    def _remember(self, key: Key, item: StoredObject) -> None:
        """Note for which pod a claim was created."""
        meta = _decode(item.body).metadata
        name = (meta.annotations or {}).get(POD_CLAIM_NAME)
        owner = next((one for one in meta.owner_references or () if one.controller), None)
        if name is not None and owner is not None and owner.kind == "Pod":
            self._owners[key] = owner.uid
            self._owned.setdefault(owner.uid, {}).setdefault(name, item.name)

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:
        """Create the claims that a pod lacks, or reserve those that it has."""
        pod = self._pods.get(key)
        # The claims of a finished pod are deleted, and are not to be created again because of that.
        if pod is None or not pod.active:
            return None
        names = {one.name: self._generate(pod, one, item, now) for one in pod.claims}
        if any(names[one.name] not in (None, one.claim) for one in pod.claims):
            statuses = [
                {"name": one.name, "resourceClaimName": names[one.name]}
                for one in pod.claims
                if one.template and names[one.name]
            ]
            self._client.apply_status(
                PODS, item, {"resourceClaimStatuses": statuses}, manager=_MANAGER
            )
        elif pod.node:  # otherwise the scheduler reserves them
            for one in pod.claims:
                self._reserve(pod, one)
        return None

    def _generate(
        self, pod: PodSummary, wanted: PodClaim, item: StoredObject, now: float
    ) -> str | None:
        """The name of the claim that a pod uses, which is created if need be."""
        if not wanted.template or wanted.claim is None:
            return wanted.claim
        namespace = pod.key[0]
        if wanted.claim:
            found = self._client.store.get(RESOURCE_CLAIMS, namespace, wanted.claim)
            if found is not None and owning_pod(found.obj)[1] == pod.uid:
                return wanted.claim
        # It may have been created without the pod's status saying so.
        orphan = self._owned.get(pod.uid, {}).get(wanted.name)
        if orphan is not None:
            return orphan
        try:
            return self._create(pod, wanted)
        except StatusError as error:
            self._client.record_event(
                item.obj,
                "Warning",
                "FailedResourceClaimCreation",
                f"PodResourceClaim {wanted.name}: {error}",
                now,
            )
            raise

    def _create(self, pod: PodSummary, wanted: PodClaim) -> str:
        namespace, name = pod.key
        template = self._client.store.get(RESOURCE_CLAIM_TEMPLATES, namespace, wanted.template)
        if template is None:
            raise _no_template(wanted.template)
        spec = template.obj["spec"]
        metadata = spec.get("metadata") or {}
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod.uid}
        claim: Obj = {
            "apiVersion": RESOURCE_CLAIMS.api_version,
            "kind": RESOURCE_CLAIMS.kind,
            "metadata": {
                "generateName": _base_name(name, wanted.name),
                "annotations": {**metadata.get("annotations", {}), POD_CLAIM_NAME: wanted.name},
                "ownerReferences": [{**owner, "controller": True}],
            },
            "spec": spec["spec"],
        }
        if metadata.get("labels"):
            claim["metadata"]["labels"] = metadata["labels"]
        try:
            return self._client.create(RESOURCE_CLAIMS, claim, namespace).name
        except StatusError as error:
            text = f"create ResourceClaim : {error}"  # it has no name yet
            raise StatusError(error.code, error.status["reason"], text) from error

    def _reserve(self, pod: PodSummary, used: PodClaim) -> None:
        """Reserve a claim for a pod that got its node from somebody else than a scheduler."""
        if not used.claim:
            return
        namespace, name = pod.key
        found = self._client.store.get(RESOURCE_CLAIMS, namespace, used.claim)
        if found is None:
            return
        claim = found.obj
        if used.template and owning_pod(claim)[1] != pod.uid:
            return
        if is_allocated(claim) and not is_reserved_for(claim, pod):
            consumer = {"resource": "pods", "name": name, "uid": pod.uid}
            claim["status"]["reservedFor"] = [*reserved_for(claim), consumer]
            self._client.update(RESOURCE_CLAIMS, claim, "status")


def _base_name(pod: str, claim: str) -> str:
    """What the name of a claim begins with; of two long names, each loses its share."""
    base = f"{pod}-{claim}-"
    if len(base) <= _BASE_LENGTH:
        return base
    pod_length = len(pod) * _BASE_LENGTH // len(base)
    claim_length = len(claim) * _BASE_LENGTH // len(base)
    return f"{pod[:pod_length]}-{claim[:claim_length]}"


def _no_template(name: str) -> StatusError:
    text = f'resource claim template "{name}": resourceclaimtemplate.resource.k8s.io "{name}" not'
    return StatusError(404, "NotFound", f"{text} found")
