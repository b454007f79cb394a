"""Tables: what the server sends to ``kubectl get`` in place of objects.

Owns the Table object and which columns a kind has; the columns themselves are in the `columns_*`
modules. `app` and `watches` call it when a request asks for tables or for metadata alone.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from mooring.embedded import resources as kinds
from mooring.embedded.resources import Obj, Resource
from mooring.embedded.tables import columns_cluster as cluster
from mooring.embedded.tables import columns_core as core
from mooring.embedded.tables import columns_pods as pods
from mooring.embedded.tables import columns_workloads as workloads
from mooring.embedded.tables.printer import Printer

#: What a row has of its object.
Include = Literal["None", "Metadata", "Object"]

_META: Final = "meta.k8s.io/v1"
_PRINTERS: Final[Mapping[Resource, Printer]] = {
    kinds.PODS: pods.PODS,
    kinds.NODES: core.NODES,
    kinds.NAMESPACES: core.NAMESPACES,
    kinds.CORE_EVENTS: core.CORE_EVENTS,
    kinds.EVENTS: core.EVENTS,
    kinds.CONFIG_MAPS: core.CONFIG_MAPS,
    kinds.SECRETS: core.SECRETS,
    kinds.SERVICES: core.SERVICES,
    kinds.SERVICE_ACCOUNTS: cluster.NAME_AND_AGE,
    kinds.ENDPOINTS: core.ENDPOINTS,
    kinds.RESOURCE_QUOTAS: core.RESOURCE_QUOTAS,
    kinds.POD_TEMPLATES: core.POD_TEMPLATES,
    kinds.DEPLOYMENTS: workloads.DEPLOYMENTS,
    kinds.REPLICA_SETS: workloads.REPLICA_SETS,
    kinds.REPLICATION_CONTROLLERS: workloads.REPLICATION_CONTROLLERS,
    kinds.SCALES: workloads.SCALES,
    kinds.STATEFUL_SETS: workloads.STATEFUL_SETS,
    kinds.DAEMON_SETS: workloads.DAEMON_SETS,
    kinds.CONTROLLER_REVISIONS: workloads.CONTROLLER_REVISIONS,
    kinds.JOBS: workloads.JOBS,
    kinds.CRON_JOBS: workloads.CRON_JOBS,
    kinds.POD_DISRUPTION_BUDGETS: workloads.POD_DISRUPTION_BUDGETS,
    kinds.NETWORK_POLICIES: cluster.NETWORK_POLICIES,
    kinds.PERSISTENT_VOLUMES: cluster.PERSISTENT_VOLUMES,
    kinds.PERSISTENT_VOLUME_CLAIMS: cluster.PERSISTENT_VOLUME_CLAIMS,
    kinds.STORAGE_CLASSES: cluster.STORAGE_CLASSES,
    kinds.CSI_NODES: cluster.CSI_NODES,
    kinds.CSI_DRIVERS: cluster.CSI_DRIVERS,
    kinds.VOLUME_ATTACHMENTS: cluster.VOLUME_ATTACHMENTS,
    kinds.RESOURCE_CLAIMS: cluster.RESOURCE_CLAIMS,
    kinds.RESOURCE_CLAIM_TEMPLATES: cluster.NAME_AND_AGE,
    kinds.RESOURCE_SLICES: cluster.RESOURCE_SLICES,
    kinds.DEVICE_CLASSES: cluster.NAME_AND_AGE,
    kinds.LEASES: cluster.LEASES,
    kinds.PRIORITY_CLASSES: cluster.PRIORITY_CLASSES,
    kinds.RUNTIME_CLASSES: cluster.RUNTIME_CLASSES,
    kinds.ROLE_BINDINGS: cluster.ROLE_BINDINGS,
    kinds.CLUSTER_ROLE_BINDINGS: cluster.ROLE_BINDINGS,
}


def table(
    resource: Resource,
    objs: Sequence[Obj],
    now: float,
    include: Include = "Metadata",
    version: str = "",
    more: Mapping[str, object] | None = None,
    *,
    headers: bool = True,
) -> Obj:
    """A Table of objects.

    Args:
        resource: what they are.
        objs: the objects, each in the form the resource has: an events.k8s.io event is not in
            its core form.
        now: the time in seconds since 1970.
        include: what a row has of its object.
        version: the resourceVersion of the list, or of the only object.
        more: what else the list's metadata says, such as ``continue``.
        headers: whether the columns are described; a watch does so in its first event only.
    """
    printer = _PRINTERS.get(resource, cluster.NAME_AND_TIME)
    metadata = {**({"resourceVersion": version} if version else {}), **(more or {})}
    return {
        "kind": "Table",
        "apiVersion": _META,
        "metadata": metadata,
        "columnDefinitions": list(printer.columns) if headers else None,
        "rows": [_row(printer, obj, now, include) for obj in objs],
    }


def _row(printer: Printer, obj: Obj, now: float, include: Include) -> Obj:
    row: Obj = {"cells": printer.cells(obj, now)}
    conditions = printer.conditions(obj) if printer.conditions else ()
    if conditions:
        row["conditions"] = list(conditions)
    if include == "Object":
        row["object"] = obj
    else:
        row["object"] = metadata_only(obj) if include == "Metadata" else None
    return row


def metadata_only(obj: Obj) -> Obj:
    """An object's metadata and nothing else, as a PartialObjectMetadata."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": _META,
        "metadata": obj["metadata"],
    }


def accepts_table(accept: str) -> bool:
    """Whether an Accept header asks for tables before anything else we can send."""
    return _wanted_kind(accept) == "Table"


def wants_metadata_only(accept: str) -> bool:
    """Whether an Accept header asks for metadata before anything else we can send."""
    return _wanted_kind(accept) in ("PartialObjectMetadata", "PartialObjectMetadataList")


@functools.lru_cache(maxsize=256)
def _wanted_kind(accept: str) -> str:
    """The kind objects are to be turned into; empty if they are to stay what they are."""
    for clause in accept.split(","):
        media, *parameters = (one.strip() for one in clause.split(";"))
        if media.lower() not in ("application/json", "application/*", "*/*"):
            continue
        said = dict(one.partition("=")[::2] for one in parameters)
        wanted = said.get("as", "")
        if not wanted:
            return ""
        if (said.get("g"), said.get("v")) == ("meta.k8s.io", "v1") and wanted in _CONVERTED:
            return wanted
    return ""


_CONVERTED: Final = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
