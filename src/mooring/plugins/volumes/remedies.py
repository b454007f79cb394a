"""What might help if a pod's volumes keep it from a node: a claim that is there, or no volume.

The same for all plugins that look at volumes, which inherit it.
"""

from collections.abc import Iterator
from typing import Final

from mooring.framework.hook import Remedies
from mooring.framework.remedies.remedy import MAX_REMEDIES, Cost, Remedy, RemedyCase
from mooring.model import changed_copies
from mooring.model.meta import KubeObject, ObjectMeta
from mooring.model.storage import (
    BIND_COMPLETED,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    PhaseStatus,
)

_BOUND: Final = PhaseStatus(phase="Bound")


class VolumeRemedies(Remedies):
    """The remedies of a plugin that looks at volumes."""

    def remedies(self, case: RemedyCase) -> Iterator[Remedy]:
        """Create or bind the claims, or do without volumes."""
        pod = case.pod
        yield from _claims(case)
        volumes = [one for one in pod.spec.volumes or () if one.counts]
        for volume in volumes:
            claim = volume.persistent_volume_claim
            of = f" (claim {claim.claim_name})" if claim is not None else ""
            others = [one for one in pod.spec.volumes or () if one.name != volume.name]
            yield Remedy(
                f"remove the volume {volume.name}{of}",
                Cost.GIVE_UP_VOLUME,
                frozenset({f"volume {volume.name}"}),
                pod=changed_copies.with_spec(pod, volumes=others),
            )
        if len(volumes) > MAX_REMEDIES:
            yield Remedy(
                "remove its volumes",
                Cost.GIVE_UP_VOLUME * len(volumes),
                frozenset(f"volume {volume.name}" for volume in volumes),
                pod=changed_copies.with_spec(pod, volumes=None),
            )


def _claims(case: RemedyCase) -> Iterator[Remedy]:
    """Every claim that is missing or has no volume gets one that all nodes can reach."""
    pod, catalog = case.pod, case.cluster.catalog
    missing, unbound = [], []
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is None:
            continue
        name = volume.persistent_volume_claim.claim_name
        claim = catalog.get(PersistentVolumeClaim, f"{pod.namespace}/{name}")
        if claim is None:
            missing.append(name)
        elif not claim.spec.volume_name:
            unbound.append(name)
    texts = [f"create the claim {name} and bind it" for name in missing]
    texts += [f"bind the claim {name}" for name in unbound]
    if texts:
        wanted = [*missing, *unbound]
        yield Remedy(
            f"{' and '.join(texts)} to a volume that every node can reach",
            Cost.GIVE_UP_CONDITION * len(wanted),
            frozenset(f"claim {name}" for name in wanted),
            created=tuple(part for name in wanted for part in _bound_claim(pod.namespace, name)),
        )


def _bound_claim(namespace: str, name: str) -> tuple[KubeObject, KubeObject]:
    volume = f"volume-for-{namespace}-{name}"
    uid = f"uid-{namespace}-{name}"
    claim = PersistentVolumeClaim(
        metadata=ObjectMeta(
            name=name, namespace=namespace, uid=uid, annotations={BIND_COMPLETED: "yes"}
        ),
        spec=PersistentVolumeClaimSpec(volume_name=volume, volume_mode="Filesystem"),
        status=_BOUND,
    )
    reference = ObjectReference(namespace=namespace, name=name, uid=uid)
    spec = PersistentVolumeSpec(claim_ref=reference, volume_mode="Filesystem")
    return claim, PersistentVolume(
        metadata=ObjectMeta(name=volume, uid=f"uid--{volume}"), spec=spec, status=_BOUND
    )
