"""Which claim keeps a pod from nodes, in words.

The same for all plugins that look at volumes, which inherit it.
"""

from collections.abc import Iterator

from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.framework.hook import Details
from mooring.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from mooring.state.catalog import Catalog


class VolumeDetails(Details):
    """The details of a plugin that looks at volumes."""

    def details(self, rejected: RejectedNodes) -> str:
        """The plugin's reason, with the claims and where their volumes are."""
        reason = rejected.verdict.reason
        claims = list(_claims(rejected))
        if not claims or any(f'"{name}"' in reason for name, _ in claims):
            return ""  # the reason names the claim, or there is none
        told = "; ".join(f"{name} ({state})" for name, state in claims)
        many = "the claims" if claims[1:] else "the claim"
        return f"uses {many} {told}: {', '.join(rejected.verdict.reasons)}"


def _claims(rejected: RejectedNodes) -> Iterator[tuple[str, str]]:
    pod, catalog = rejected.pod, rejected.nodes.cycle.cluster.catalog
    for volume in pod.spec.volumes or ():
        name = volume.claim_for(pod.name)
        if name is not None:
            claim = catalog.get(PersistentVolumeClaim, f"{pod.namespace}/{name}")
            yield name, _state(claim, catalog)


def _state(claim: PersistentVolumeClaim | None, catalog: Catalog) -> str:
    if claim is None:
        return "does not exist"
    if claim.spec.volume_name:
        volume = catalog.get(PersistentVolume, claim.spec.volume_name)
        return f"bound to {claim.spec.volume_name}{_place(volume)}"
    named = claim.class_name
    if not named:
        return "not bound, and without a storage class"
    storage_class = catalog.get(StorageClass, named)
    if storage_class is None:
        return f"not bound, and its storage class {named} does not exist"
    waits = storage_class.waits_for_first_consumer
    when = "binds when a pod uses it" if waits else "binds immediately"
    return f"not bound; storage class {named} {when}"


def _place(volume: PersistentVolume | None) -> str:
    """Where a volume can be reached from, if it says so with one condition."""
    selector = volume.node_selector if volume is not None else None
    terms = (selector.node_selector_terms or []) if selector is not None else []
    conditions = [one for term in terms for one in term.match_expressions or ()]
    values = [value for one in conditions for value in one.values or ()]
    return f" in {', '.join(sorted(set(values))[:3])}" if values else ""
