"""Binding a pod's volumes before the pod: claims get their volumes, or the node they are made for.

Writes what VolumeBinding planned and waits until the claims are bound. Called by `Binder`; the PV
controller or a provisioner does the rest, and informers show it. A pod that waits is looked at
only when one of its own objects changes, so thousands that wait cost nothing.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mooring.errors import KubeError
from mooring.framework.runtime import Runtime
from mooring.kube.client import MERGE_PATCH, Client, api_path
from mooring.live.waiting_bindings import WaitingBindings
from mooring.model.change import Change
from mooring.model.meta import KubeObject
from mooring.model.storage import (
    BIND_COMPLETED,
    SELECTED_NODE,
    PersistentVolume,
    PersistentVolumeClaim,
)
from mooring.plugins.volumes.volume_binding import VolumeBinding
from mooring.plugins.volumes.volume_plan import ClaimPlan, VolumePlan
from mooring.scheduler.effects import Bind
from mooring.state.cluster import Cluster

_Key = tuple[type[KubeObject], str]
_RESET = "selectedNode annotation reset"


class VolumesNotBound(KubeError):  # noqa: N818 - reads as the sentence it is raised with
    """The volumes of a pod could not be bound; the pod is tried again."""


class VolumeBinder:
    """Binds volumes on a live cluster.

    Args:
        client: the API server.
        runtimes: the plugins by scheduler name.
        waiting_bindings: where tasks that wait for volumes are kept.
    """

    def __init__(
        self, client: Client, runtimes: Mapping[str, Runtime], waiting_bindings: WaitingBindings
    ) -> None:
        self._client = client
        self._waiting_bindings = waiting_bindings
        self._plugins = {
            name: next(
                (
                    one.plugin
                    for one in runtime.points.get("reserve", ())
                    if isinstance(one.plugin, VolumeBinding)
                ),
                None,
            )
            for name, runtime in runtimes.items()
        }
        self._clusters = {name: runtime.cluster for name, runtime in runtimes.items()}
        # Who waits for a change of which object.
        self._waiting: dict[_Key, set[asyncio.Event]] = {}

    def on_changes(self, changes: list[Change[Any]]) -> None:
        """Notice that claims, volumes or pods changed; the state shows it already."""
        if not self._waiting:
            return
        for change in changes:
            for changed in self._waiting.get(_key(change.object), ()):
                changed.set()

    def needs_writes(self, effect: Bind) -> bool:
        """Whether something has to be written for a pod."""
        plan = self._plan(effect)
        return plan is not None and bool(plan.claims)

    def _plan(self, effect: Bind) -> VolumePlan | None:
        plugin = self._plugins.get(effect.profile)
        return plugin.planned(effect.cycle) if plugin is not None else None

    async def bind(self, effect: Bind) -> None:
        """Write what was planned for a pod, and wait until its claims are bound.

        Raises:
            KubeError: that was not possible, or took too long.
        """
        plan = self._plan(effect)
        plugin = self._plugins.get(effect.profile)
        if plan is None or plugin is None or not plan.claims:
            return
        try:
            await self._bind(effect, plan, plugin)
        except KubeError as error:
            # parity v1.36.4: framework/runtime/framework.go RunPreBindPlugins
            raise VolumesNotBound(
                f'running PreBind plugin "VolumeBinding": binding volumes: {error}'
            ) from error

    async def _bind(self, effect: Bind, plan: VolumePlan, plugin: VolumeBinding) -> None:
        for one in plan.claims:
            await self._write(one, plan.node)
        cluster = self._clusters[effect.profile]
        try:
            async with asyncio.timeout(plugin.bind_timeout_seconds):
                with self._changes_of(effect, plan) as changed:
                    while not self._bound(cluster, effect, plan):
                        changed.clear()
                        with self._waiting_bindings.waiting():
                            await changed.wait()
        except TimeoutError as error:
            # In kube-scheduler's words, which people search for.
            raise VolumesNotBound("context deadline exceeded") from error

    @contextmanager
    def _changes_of(self, effect: Bind, plan: VolumePlan) -> Iterator[asyncio.Event]:
        """Set whenever something changes that decides whether a pod's claims are bound."""
        keys = {_key(effect.pod)}
        for one in plan.claims:
            keys |= {_key(thing) for thing in (one.claim, one.volume) if thing is not None}
        changed = asyncio.Event()
        for key in keys:
            self._waiting.setdefault(key, set()).add(changed)
        try:
            yield changed
        finally:
            for key in keys:
                waiting = self._waiting[key]
                waiting.discard(changed)
                if not waiting:
                    del self._waiting[key]

    async def _write(self, one: ClaimPlan, node: str) -> None:
        thing = one.volume if one.volume is not None else one.claim
        meta: dict[str, object] = {"resourceVersion": thing.resource_version or None}
        body: dict[str, object] = {"metadata": meta}
        if one.volume is not None:
            claim = one.claim
            meta["annotations"] = dict(one.volume.annotations)
            body["spec"] = {
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": claim.namespace,
                    "name": claim.name,
                    "uid": claim.uid,
                    "resourceVersion": claim.resource_version or None,
                }
            }
            path = api_path("api", "v1", "persistentvolumes", one.volume.name)
        else:
            meta["annotations"] = {SELECTED_NODE: node}
            path = api_path(
                "api", "v1", "namespaces", thing.namespace, "persistentvolumeclaims", thing.name
            )
        await self._client.request("PATCH", path, body=body, content_type=MERGE_PATCH)

    def _bound(self, cluster: Cluster, effect: Bind, plan: VolumePlan) -> bool:
        """Whether all claims are bound.

        Raises:
            VolumesNotBound: they never will be.
        """
        # parity v1.36.4: volumebinding/binder.go checkBindings
        pod = effect.pod
        known = cluster.pod(pod.namespace, pod.name)
        if known is None or known.uid != pod.uid:
            raise VolumesNotBound("pod does not exist any more")
        for one in plan.claims:
            claim = cluster.catalog.get(PersistentVolumeClaim, one.claim.key)
            if claim is None:
                raise VolumesNotBound(f"claim {one.claim.key} is gone")
            if one.volume is not None:
                volume = cluster.catalog.get(PersistentVolume, one.volume.name)
                if volume is None:
                    raise VolumesNotBound(f"volume {one.volume.name} is gone")
                if volume.resource_version == one.volume.resource_version:
                    return False  # what was written has not come back yet
                if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
                    raise VolumesNotBound(f'ClaimRef got reset for pv "{volume.name}"')
            elif claim.resource_version == one.claim.resource_version:
                return False
            elif claim.annotations.get(SELECTED_NODE) != plan.node:
                # A provisioner that fails takes the annotation off.
                what = "provisioning failed" if claim.annotations else _RESET
                raise VolumesNotBound(f'{what} for PVC "{claim.name}"')
            elif not _reaches(cluster, claim.spec.volume_name, plan.node):
                raise VolumesNotBound(
                    f'pv "{claim.spec.volume_name}" node affinity doesn\'t match node "{plan.node}"'
                )
            if not claim.spec.volume_name or BIND_COMPLETED not in claim.annotations:
                return False
        return True


def _key(thing: KubeObject) -> _Key:
    return type(thing), thing.key


def _reaches(cluster: Cluster, volume_name: str | None, node: str) -> bool:
    """Whether a volume can be used on a node; yes if it is not known yet."""
    volume = cluster.catalog.get(PersistentVolume, volume_name) if volume_name else None
    row = cluster.columns.row_of.get(node)
    if volume is None or volume.node_selector is None or row is None:
        return True
    return bool(cluster.columns.selector_mask(volume.node_selector)[row])
