"""What controllers and the kubelet need to know of every pod, and where to find it.

Owns a short record of each pod and the indexes over them. `workqueue` keeps it up to date; others
only read it. A pod is decoded once for each change, and only in part.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from mooring.embedded.watch_history import WatchEvent

#: Namespace and name of an object.
Key = tuple[str, str]


class OwnerRef(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An entry of an object's ownerReferences."""

    api_version: str = ""
    uid: str = ""
    kind: str = ""
    name: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class PartialMetadata(msgspec.Struct, rename="camel"):
    """The metadata that controllers read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerRef] | None = None
    finalizers: list[str] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None


class _ClaimReference(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str | None = None
    resource_claims: list[_ClaimReference] | None = None


class _Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class _ExtendedResourceClaim(msgspec.Struct, rename="camel"):
    resource_claim_name: str = ""


class _Status(msgspec.Struct, rename="camel"):
    phase: str | None = None
    resource_claim_statuses: list[_ClaimReference] | None = None
    extended_resource_claim_status: _ExtendedResourceClaim | None = None
    ip: str | None = msgspec.field(default=None, name="podIP")
    conditions: list[_Condition] | None = None


class _Pod(msgspec.Struct):
    metadata: PartialMetadata
    spec: _Spec
    status: _Status = msgspec.field(default_factory=_Status)


class PodClaim(msgspec.Struct, frozen=True):
    """A ResourceClaim that a pod uses.

    Attributes:
        name: what the pod calls it.
        template: the ResourceClaimTemplate that it is created from; empty if it is there already.
        claim: its name; empty if it is yet to be created, None if the pod needs none.
    """

    name: str
    template: str
    claim: str | None


class PodSummary(msgspec.Struct, frozen=True):
    """A pod in short; a new record is made when the pod changes.

    Attributes:
        key: namespace and name.
        uid: its unique id.
        labels: its labels.
        annotations: its annotations.
        owners: all its owners.
        owner: the one that controls it.
        node: where it is bound to; empty if it waits.
        phase: such as ``Running``.
        ip: its address; empty if it has none yet.
        ready_since: since when its Ready condition is True; None if it is not.
        created: its creationTimestamp.
        deleting: whether it is on its way out.
        grace_seconds: how long it may take to terminate once it is deleted; 0 before.
        finalizers: who must agree before it goes.
        claims: the ResourceClaims it uses.
        extended_claim: the ResourceClaim for its extended resources, which a scheduler created;
            empty if there is none.
    """

    key: Key
    uid: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    owners: tuple[OwnerRef, ...]
    owner: OwnerRef | None
    node: str
    phase: str
    ip: str
    ready_since: str | None
    created: str
    deleting: bool
    grace_seconds: int
    finalizers: tuple[str, ...]
    claims: tuple[PodClaim, ...] = ()
    extended_claim: str = ""

    @property
    def claim_names(self) -> tuple[str, ...]:
        """The names of all ResourceClaims that it uses and that were created."""
        named = tuple(one.claim for one in self.claims if one.claim)
        return (*named, self.extended_claim) if self.extended_claim else named

    @property
    def finished(self) -> bool:
        """Whether it ran to its end."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def active(self) -> bool:
        """Whether it counts as a replica: neither finished nor on its way out."""
        return not self.deleting and self.phase not in ("Succeeded", "Failed")

    @property
    def ready(self) -> bool:
        """Whether its Ready condition is True."""
        return self.ready_since is not None


_decode: Final = msgspec.json.Decoder(_Pod).decode
_NONE: Final[Mapping[str, str]] = {}


def summarize_pod(body: bytes) -> PodSummary:
    """The short record of a stored pod."""
    pod = _decode(body)
    meta = pod.metadata
    owners = meta.owner_references
    extended = pod.status.extended_resource_claim_status
    ready = None
    for condition in pod.status.conditions or ():
        if condition.type == "Ready" and condition.status == "True":
            ready = condition.last_transition_time or ""
    return PodSummary(
        key=(meta.namespace, meta.name),
        uid=meta.uid,
        labels=meta.labels or _NONE,
        annotations=meta.annotations or _NONE,
        owners=tuple(owners) if owners else (),
        owner=next((one for one in owners if one.controller), None) if owners else None,
        node=pod.spec.node_name or "",
        phase=pod.status.phase or "Pending",
        ip=pod.status.ip or "",
        ready_since=ready,
        created=meta.creation_timestamp or "",
        deleting=meta.deletion_timestamp is not None,
        grace_seconds=meta.deletion_grace_period_seconds or 0,
        finalizers=tuple(meta.finalizers) if meta.finalizers else (),
        claims=_claims(pod) if pod.spec.resource_claims else (),
        extended_claim=extended.resource_claim_name if extended is not None else "",
    )


def _claims(pod: _Pod) -> tuple[PodClaim, ...]:
    # parity v1.36.4: k8s.io/dynamic-resource-allocation/resourceclaim Name
    generated = {
        one.name: one.resource_claim_name for one in pod.status.resource_claim_statuses or ()
    }
    return tuple(
        PodClaim(
            one.name,
            one.resource_claim_template_name or "",
            one.resource_claim_name or generated.get(one.name, ""),
        )
        for one in pod.spec.resource_claims or ()
    )


class PodIndex:
    """All pods, by what controllers look for."""

    def __init__(self) -> None:
        self._pods: dict[Key, PodSummary] = {}
        self._by_owner: dict[str, dict[Key, PodSummary]] = {}
        self._by_node: dict[str, dict[Key, PodSummary]] = {}
        self._by_namespace: dict[str, dict[Key, PodSummary]] = {}
        self._orphans: dict[str, dict[Key, PodSummary]] = {}
        self._by_claim: dict[str, dict[Key, PodSummary]] = {}
        self._by_claim_template: dict[str, dict[Key, PodSummary]] = {}

    def get(self, key: Key) -> PodSummary | None:
        """One pod; None if there is none."""
        return self._pods.get(key)

    def owned_by(self, uid: str) -> list[PodSummary]:
        """The pods that an object controls."""
        return list(self._by_owner.get(uid, {}).values())

    def on_node(self, name: str) -> list[PodSummary]:
        """The pods bound to a node."""
        return list(self._by_node.get(name, {}).values())

    def in_namespace(self, namespace: str) -> list[PodSummary]:
        """The pods of a namespace."""
        return list(self._by_namespace.get(namespace, {}).values())

    def orphans(self, namespace: str) -> list[PodSummary]:
        """The pods of a namespace that nobody controls."""
        return list(self._orphans.get(namespace, {}).values())

    def using_claim(self, namespace: str, name: str) -> list[PodSummary]:
        """The pods that use a ResourceClaim."""
        return list(self._by_claim.get(f"{namespace}/{name}", {}).values())

    def using_claim_template(self, namespace: str, name: str) -> list[PodSummary]:
        """The pods for which claims are created from a ResourceClaimTemplate."""
        return list(self._by_claim_template.get(f"{namespace}/{name}", {}).values())

    def apply(self, event: WatchEvent) -> tuple[PodSummary | None, PodSummary | None]:
        """Apply a change; returns what was known of the pod, and what is now."""
        key = (event.item.namespace, event.item.name)
        old = self._pods.pop(key, None)
        if old is not None:
            self._drop(old)
        if event.type == "DELETED":
            return old, None
        new = summarize_pod(event.item.body)
        self._pods[key] = new
        for index, under in self._places(new):
            index.setdefault(under, {})[key] = new
        return old, new

    def _drop(self, pod: PodSummary) -> None:
        for index, under in self._places(pod):
            there = index.get(under, {})
            there.pop(pod.key, None)  # a pod may use a claim, or a template, twice
            if not there:
                index.pop(under, None)

    def _places(self, pod: PodSummary) -> Iterable[tuple[dict[str, dict[Key, PodSummary]], str]]:
        yield self._by_namespace, pod.key[0]
        if pod.owner is not None:
            yield self._by_owner, pod.owner.uid
        else:
            yield self._orphans, pod.key[0]
        if pod.node:
            yield self._by_node, pod.node
        for name in pod.claim_names:
            yield self._by_claim, f"{pod.key[0]}/{name}"
        for one in pod.claims:
            if one.template:
                yield self._by_claim_template, f"{pod.key[0]}/{one.template}"
