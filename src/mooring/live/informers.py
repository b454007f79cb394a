"""Which resources the scheduler watches, and the informers for them.

Nodes and pods always; others only if an enabled plugin reads them, so that a scheduler with few
plugins needs few permissions and little memory. Called once when a scheduler is put together.
"""

from collections.abc import Callable, Iterable
from typing import Any

from mooring.framework.declarations import kinds_to_watch
from mooring.framework.hook import Hook
from mooring.framework.policy import Policy
from mooring.framework.policy_checks.device_reads import reads_devices
from mooring.framework.runtime import Runtime
from mooring.kube.client import Client
from mooring.kube.informer import Informer
from mooring.kube.resources import UNFINISHED_PODS, reflector_for
from mooring.model.change import Change
from mooring.model.kinds import KINDS, Kind
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.devices.cluster_devices import DEVICE_KINDS


def watched_kinds(runtimes: Iterable[Runtime], policies: Iterable[Policy] = ()) -> list[Kind]:
    """The kinds to watch for some profiles' plugins, in the order of `KINDS`.

    Each plugin declares what it looks up (`hook.Hook.reads`).

    Args:
        runtimes: the profiles' plugins.
        policies: their plugins run within the policy, so that no profile knows them.
    """
    policies = list(policies)
    plugins = [plugin for policy in policies for plugin in policy.plugins]
    for runtime in runtimes:
        plugins += [one.plugin for at_point in runtime.points.values() for one in at_point]
    return kinds_read(plugins, devices=any(map(reads_devices, policies)))


def kinds_read(plugins: Iterable[Hook], *, devices: bool = False) -> list[Kind]:
    """The kinds to watch for some plugins, in the order of `KINDS`.

    Args:
        plugins: the plugins.
        devices: whether the devices of nodes are read, by policies that have them.
    """
    wanted: set[type[KubeObject]] = {Node, Pod, *(DEVICE_KINDS if devices else ())}
    for plugin in {id(one): one for one in plugins}.values():
        wanted |= kinds_to_watch(plugin)
    return [kind for kind in KINDS if kind.type in wanted]


def make_informers(
    client: Client,
    kinds: Iterable[Kind],
    on_changes: Callable[[list[Change[Any]]], object],
    *,
    whole_objects: bool,
    whole_victims: bool,
) -> dict[str, Informer[Any]]:
    """An informer for each kind, by the resource's name, such as ``pods``.

    Args:
        client: where.
        kinds: what.
        on_changes: called with changes of any kind.
        whole_objects: keep every field of nodes and pending pods.
        whole_victims: keep every field of pods on nodes.
    """
    found: dict[str, Informer[Any]] = {}
    for kind in kinds:
        decode = _decoder(kind, whole_objects=whole_objects, whole_victims=whole_victims)
        selector = UNFINISHED_PODS if kind.type is Pod else ""
        found[kind.resource] = Informer(
            reflector_for(client, kind, decode, field_selector=selector),
            on_changes,
            optional=kind.optional,
        )
    return found


def _decoder(
    kind: Kind, *, whole_objects: bool, whole_victims: bool
) -> Callable[[bytes], KubeObject]:
    made = kind.type
    keep = whole_objects and made in (Node, Pod)
    if made is Pod and keep and not whole_victims:
        return _slim_when_placed
    return lambda data: made.from_json(data, keep_source=keep)


def _slim_when_placed(data: bytes) -> Pod:
    """A pod with all its fields while it waits: a cluster has many pods that do not."""
    return Pod.from_json(data, keep_source=lambda pod: not pod.node_name)
