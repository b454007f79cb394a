"""What the doctor reads of a live cluster: version, clock, nodes, pods, events, permissions.

`gathering` calls it. It only reads, except that asking about permissions is a request that creates
nothing. Of pods, only what checks look at is kept.
"""

import datetime
import time
from collections.abc import Iterable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

import msgspec

from mooring.deploy.doctor.access_reviews import Asker, ask_permissions
from mooring.deploy.doctor.checks.configuration import usable_settings
from mooring.deploy.doctor.evidence import (
    ClusterEvidence,
    Evidence,
    FoundObject,
    mapping,
    sequence,
)
from mooring.deploy.doctor.permissions import permissions_of
from mooring.deploy.doctor.schedulers import (
    MOOR_RUN,
    MOOR_SERVE,
    configuration_of,
    elects,
    lease_of,
    processes,
    templates,
)
from mooring.errors import ApiError, KubeError
from mooring.kube.client import Client, api_path
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.listing import list_pages
from mooring.kube.session import DEFAULT_LIMITS, ApiRequest, Session

_HIDDEN: Final = (403, 404)
#: What the specification of a pod that runs a scheduler contains.
_SCHEDULER_WORDS: Final = (b"kube-scheduler", b'"moor"')
#: Events are only looked through for the names of schedulers.
_EVENTS: Final = 500


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
        version, skew = await _version(config)
        async with Client(config) as client:
            nodes = [
                msgspec.to_builtins(msgspec.json.decode(one, type=_Node))
                async for page in list_pages(client, "/api/v1/nodes")
                for one in page
            ]
            pods, full = await _pods(client)
            events, unreadable = await _events(client)
            found = await _objects(client, evidence, full)
            answers, unknown = await ask_permissions(client, list(_askers(evidence, user)))
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


async def _version(config: ClusterConfig) -> tuple[str, float | None]:
    """The API server's version, and how far its clock is ahead."""
    session = Session(config, DEFAULT_LIMITS, "mooring")
    await session.open()
    try:
        before = time.time()
        response = await session.send(ApiRequest(method="GET", path="/version"))
        async with response:
            body = await response.read()
        middle = (before + time.time()) / 2
        date = response.headers.get("Date", "")
    finally:
        await session.close()
    try:
        version = str(msgspec.json.decode(body, type=dict[str, Any]).get("gitVersion", ""))
    except msgspec.MsgspecError:
        version = ""
    return version, _skew(date, middle)


def _skew(date: str, now: float) -> float | None:
    try:
        there = parsedate_to_datetime(date)
    except (TypeError, ValueError):
        return None
    if there.tzinfo is None:
        there = there.replace(tzinfo=datetime.UTC)
    # The header has whole seconds, rounded down.
    return there.timestamp() + 0.5 - now


async def _pods(client: Client) -> tuple[list[Any], list[Mapping[str, Any]]]:
    """All pods with little of each, and in full those that run a scheduler."""
    slim: list[Any] = []
    full: list[Mapping[str, Any]] = []
    async for page in list_pages(client, "/api/v1/pods"):
        for one in page:
            slim.append(msgspec.to_builtins(msgspec.json.decode(one, type=_Pod)))
            data = bytes(one)
            if any(word in data for word in _SCHEDULER_WORDS):
                full.append({"apiVersion": "v1", "kind": "Pod", **msgspec.json.decode(data)})
    return slim, full


async def _events(client: Client) -> tuple[list[Any], list[str]]:
    params: dict[str, str | int] = {"fieldSelector": "reason=Scheduled", "limit": _EVENTS}
    try:
        answer = await client.request("GET", "/api/v1/events", params=params)
    except ApiError as error:
        if error.status not in _HIDDEN:
            raise
        return [], ["events: we may not list them"]
    return sequence(msgspec.json.decode(answer, type=dict[str, Any]).get("items")), []


async def _objects(
    client: Client, evidence: Evidence, pods: Iterable[Mapping[str, Any]]
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
        try:
            answer = await client.request(
                "GET", api_path("api", "v1", "namespaces", namespace, "configmaps", name)
            )
        except ApiError as error:
            if error.status not in _HIDDEN:
                raise
            continue
        data = msgspec.json.decode(answer, type=dict[str, Any])
        found.append(FoundObject(data={**data, "kind": "ConfigMap"}))
    return found


def _config_maps(evidence: Evidence) -> set[tuple[str, str]]:
    return {
        (template.owner.namespace, str(name))
        for template in templates(evidence)
        for volume in sequence(template.spec.get("volumes"))
        if (name := mapping(mapping(volume).get("configMap")).get("name"))
    }


def _askers(evidence: Evidence, user: str) -> Iterator[Asker]:
    binds = any(one.settings.bind_verb for one in evidence.extenders)
    found: dict[tuple[str, str, tuple[str, str] | None], None] = {}
    for process in processes(evidence):
        spec, namespace = process.template.spec, process.template.owner.namespace
        if process.template.owner.file in evidence.static_files:
            account = "system:kube-scheduler"  # kubeadm's scheduler.conf
        else:
            name = spec.get("serviceAccountName") or "default"
            account = f"system:serviceaccount:{namespace}:{name}"
        takes_part = process.program != MOOR_SERVE and elects(evidence, process)
        lease = lease_of(process, configuration_of(evidence, process)) if takes_part else None
        found[user or account, process.program, lease] = None
    if not found:
        configuration = next(iter(evidence.configurations), None)
        found[user, MOOR_RUN, lease_of(None, configuration)] = None
    settings = usable_settings(evidence.configurations)
    policy = evidence.policy.policy if evidence.policy is not None else None
    for who, program, lease in found:
        needed = permissions_of(program, settings, policy, lease=lease, binds=binds)
        yield Asker(who, program, needed)
