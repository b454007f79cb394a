"""Where the API server keeps objects of each kind, and how to list and watch them.

`live` and `extender` call it. The table of kinds is `mooring.model.kinds`; this adds the paths.
"""

from collections.abc import Callable
from typing import TypeVar

from mooring.kube.client import Client, api_path
from mooring.kube.reflector import REAL_TIME, Pacing, Reflector, ReflectorQuery
from mooring.kube.watch_protocol import ObjectIdentity
from mooring.model.kinds import BY_NAME, Kind
from mooring.model.meta import KubeObject

T = TypeVar("T", bound=KubeObject)

_VERSION = "v1"  # every kind that scheduling reads has reached it

#: Pods that still take up room: a finished one keeps its node's name but nothing else.
UNFINISHED_PODS = "status.phase!=Succeeded,status.phase!=Failed"


def api_version(kind: Kind) -> str:
    """Group and version, such as ``v1`` or ``storage.k8s.io/v1``."""
    return f"{kind.group}/{_VERSION}" if kind.group else _VERSION


def collection_path(kind: Kind, namespace: str = "") -> str:
    """Where objects of a kind are listed, watched and created, such as ``/api/v1/nodes``.

    Args:
        kind: the kind.
        namespace: only those in this namespace; empty for all namespaces.
    """
    base = ("apis", kind.group, _VERSION) if kind.group else ("api", _VERSION)
    within = ("namespaces", namespace) if namespace else ()
    return api_path(*base, *within, kind.resource)


def object_path(thing: KubeObject) -> str:
    """Where one object is, such as ``/api/v1/namespaces/default/persistentvolumeclaims/data``."""
    return collection_path(BY_NAME[thing.kind_name], thing.namespace) + api_path(thing.name)


def identity(thing: KubeObject) -> ObjectIdentity:
    """Which object this is, and which version of it."""
    meta = thing.metadata
    return ObjectIdentity(
        meta.namespace or "", meta.name, meta.uid or "", meta.resource_version or ""
    )


def reflector_for(
    client: Client,
    kind: Kind,
    decode: Callable[[bytes], T],
    *,
    field_selector: str = "",
    label_selector: str = "",
    pacing: Pacing = REAL_TIME,
) -> Reflector[T]:
    """What lists and watches all objects of a kind, for an `Informer`.

    Args:
        client: where.
        kind: what.
        decode: makes an object of its JSON, such as ``Node.from_json``.
        field_selector: such as `UNFINISHED_PODS`.
        label_selector: such as ``app=web``.
        pacing: where time and chance come from.
    """
    query = ReflectorQuery(
        path=collection_path(kind), field_selector=field_selector, label_selector=label_selector
    )
    return Reflector(client, query, decode, identity, pacing=pacing)
