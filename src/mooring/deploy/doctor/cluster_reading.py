"""What the doctor reads of a live cluster: nodes, pods, events, permissions.

`gathering` calls it. It only reads, except that asking about permissions is a request that creates
nothing. Of pods, only what checks look at is kept.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from mooring.deploy.container_programs import MOOR_RUN
from mooring.deploy.doctor.access_reviews import Asker, ask_permissions
from mooring.deploy.doctor.election import lease_of
from mooring.deploy.doctor.evidence import (
    ClusterEvidence,
    Evidence,
    FoundObject,
    Permission,
    mapping,
    sequence,
)
from mooring.deploy.doctor.permissions import needed_permissions, scheduler_permissions
from mooring.deploy.doctor.responses import decoded
from mooring.deploy.doctor.schedulers import processes, templates
from mooring.deploy.doctor.server_version import server_version
from mooring.deploy.doctor.usable_configuration import usable_settings
from mooring.errors import ApiError, KubeError
from mooring.kube.client import Client, api_path
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.listing import list_pages

_ACCOUNT: Final = "system:serviceaccount"
_FORBIDDEN, _NOT_FOUND = 403, 404
#: One of these is in every pod that runs a scheduler; `processes` sees which of them do.
_SCHEDULER_WORDS: Final = (
    b"kube-scheduler",
    b"hyperkube",
    b"moor",
    b"policy-config",
    b"policy_config",
)
#: Events are only looked through for the names of schedulers.
_MOST_EVENTS: Final = 500
_NODES, _PODS, _EVENTS = "/api/v1/nodes", "/api/v1/pods", "/api/v1/events"


class _Meta(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _NodeSpec(msgspec.Struct):
    taints: list[dict[str, Any]] = []
    unschedulable: bool = False


class _Node(msgspec.Struct):
    metadata: _Meta
    spec: _NodeSpec = msgspec.field(default_factory=_NodeSpec)


class _PodSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    node_name: str = ""
    scheduler_name: str = ""


class _PodStatus(msgspec.Struct, omit_defaults=True):
    phase: str = ""
    reason: str = ""
    conditions: list[dict[str, Any]] = []


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)


async def read_cluster(
    config: ClusterConfig, evidence: Evidence, user: str = ""
) -> tuple[ClusterEvidence, tuple[FoundObject, ...]]:
    """Read a cluster.

    Args:
        config: where it is.
        evidence: what the files say; decides whose permissions are asked and what is looked up.
        user: whose permissions are asked; empty for the service accounts of the manifests, or for
            ourselves if there are none.

    Returns:
        What it says of itself, and the objects in it that belong to schedulers.
    """
    source = config.source
    try:
        version, skew = await server_version(config)
        async with Client(config) as client:
            unreadable: list[Permission] = []
            nodes = await _nodes(client, unreadable)
            pods, full = await _pods(client, unreadable)
            events = await _events(client, unreadable)
            found = await _objects(client, evidence, full, unreadable)
            answers, unknown = await ask_permissions(
                client, list(dict.fromkeys(_askers(evidence, user)))
            )
    except KubeError as error:
        return ClusterEvidence(source=source, problem=str(error)), ()
    cluster = ClusterEvidence(
        source=source,
        version=version,
        skew_seconds=skew,
        nodes=tuple(nodes),
        pods=tuple(pods),
        events=tuple(events),
        permissions=answers,
        permissions_unknown=unknown,
        unreadable=tuple(unreadable),
    )
    return cluster, tuple(found)


@contextmanager
def _allowed_to_fail(needed: Permission, unreadable: list[Permission]) -> Iterator[None]:
    """Go on without what is forbidden, and note the permission that it needs."""
    try:
        yield
    except ApiError as error:
        if error.status != _FORBIDDEN:
            raise
        unreadable.append(needed)


async def _nodes(client: Client, unreadable: list[Permission]) -> list[Any]:
    found: list[Any] = []
    with _allowed_to_fail(Permission("list", "nodes"), unreadable):
        async for page in list_pages(client, _NODES):
            found += [msgspec.to_builtins(decoded(one, _Node, _NODES)) for one in page]
    return found


async def _pods(
    client: Client, unreadable: list[Permission]
) -> tuple[list[Any], list[Mapping[str, Any]]]:
    """All pods with little of each, and in full those that run a scheduler."""
    slim: list[Any] = []
    full: list[Mapping[str, Any]] = []
    with _allowed_to_fail(Permission("list", "pods"), unreadable):
        async for one in _each(client, _PODS):
            slim.append(msgspec.to_builtins(decoded(one, _Pod, _PODS)))
            data = bytes(one)
            if any(word in data for word in _SCHEDULER_WORDS):
                full.append({"apiVersion": "v1", "kind": "Pod", **msgspec.json.decode(data)})
    return slim, full


async def _each(client: Client, path: str) -> AsyncIterator[msgspec.Raw]:
    async for page in list_pages(client, path):
        for one in page:
            yield one


async def _events(client: Client, unreadable: list[Permission]) -> list[Any]:
    params: dict[str, str | int] = {"fieldSelector": "reason=Scheduled", "limit": _MOST_EVENTS}
    try:
        with _allowed_to_fail(Permission("list", "events"), unreadable):
            answer = await client.request("GET", _EVENTS, params=params)
            items = sequence(decoded(answer, dict[str, Any], _EVENTS).get("items"))
            return [one for one in items if isinstance(one, Mapping)]
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
    return []


async def _objects(
    client: Client,
    evidence: Evidence,
    pods: Iterable[Mapping[str, Any]],
    unreadable: list[Permission],
) -> list[FoundObject]:
    """Schedulers that run, if no manifest has one, and the ConfigMaps that are looked for."""
    found: list[FoundObject] = []
    if not any(True for _ in processes(evidence)):
        live = Evidence(objects=tuple(FoundObject(data=one) for one in pods))
        found += {id(one.template.owner): one.template.owner for one in processes(live)}.values()
    known = Evidence(objects=(*evidence.objects, *found))
    for namespace, name in sorted(_config_maps(known)):
        if known.find("ConfigMap", namespace, name) is not None:
            continue
        path = api_path("api", "v1", "namespaces", namespace, "configmaps", name)
        needed = Permission("get", "configmaps", "", namespace, name)
        try:
            with _allowed_to_fail(needed, unreadable):
                answer = await client.request("GET", path)
                data = decoded(answer, dict[str, Any], path)
                found.append(FoundObject(data={**data, "kind": "ConfigMap"}))
        except ApiError as error:
            if error.status != _NOT_FOUND:
                raise
    return found


def _config_maps(evidence: Evidence) -> set[tuple[str, str]]:
    return {
        (template.owner.namespace, str(name))
        for template in templates(evidence)
        for volume in sequence(template.spec.get("volumes"))
        if (name := mapping(mapping(volume).get("configMap")).get("name"))
    }


def _askers(evidence: Evidence, user: str) -> Iterator[Asker]:
    found = list(needed_permissions(evidence))
    for one in found:
        static = one.process.template.owner.file in evidence.static_files
        # kubeadm's scheduler.conf is of this user
        account = "system:kube-scheduler" if static else ":".join((_ACCOUNT, *one.account))
        yield Asker(user or account, one.process.program, one.permissions)
    if not found:
        configuration = next(iter(evidence.configurations), None)
        settings = usable_settings(evidence.configurations)
        policy = evidence.policy.policy if evidence.policy is not None else None
        lease = lease_of(None, configuration, MOOR_RUN)
        yield Asker(user, MOOR_RUN, scheduler_permissions(settings, policy, lease=lease))
