"""The controllers of ResourceClaims for a control plane that has no controller manager.

For tests and benchmarks with devices: a `ControlPlane` is etcd and kube-apiserver alone, so nobody
else creates claims from templates or releases those of pods that are done. What runs here is what
the embedded cluster runs, on a `MirroredApi`.
"""

import asyncio
import contextlib
import time
from typing import Any, Final

import msgspec

from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import PodIndex
from mooring.embedded.controllers.resource_claims.claims import owning_pod
from mooring.embedded.controllers.resource_claims.pod_claims import PodClaimController
from mooring.embedded.controllers.resource_claims.resource_claims import ResourceClaimController
from mooring.embedded.controllers.workqueue import WorkQueue
from mooring.embedded.resources import (
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    Obj,
    Resource,
)
from mooring.errors import ApiError
from mooring.kube.client import Client, api_path
from mooring.kube.config import load_kubeconfig
from mooring.kube.informer import Informer
from mooring.kube.reflector import Reflector, ReflectorQuery
from mooring.kube.watch_protocol import ObjectIdentity
from mooring.model.change import Change, Gone
from mooring.testing.base_control_plane import BaseControlPlane
from mooring.testing.child_process import Startable
from mooring.testing.loop_thread import LoopThread
from mooring.testing.mirrored_api import MirroredApi

_COMPONENT: Final = "resource_claim"
_NOT_FOUND: Final = 404
#: Connections with TLS end with an exchange of farewells, for which aiohttp does not wait.
_CLOSE_SECONDS: Final = 0.25
#: How many objects are reconciled before watches are looked at again.
_AT_ONCE: Final = 8


class ResourceClaimControllers(Startable):
    """Creates, reserves and releases ResourceClaims on an API server, in a thread.

    Use it with `with`, or call `start` and `stop`. Claims that belong to pods that are gone are
    deleted, too: there is no garbage collector either.

    Args:
        plane: must run already when `start` is called.
    """

    def __init__(self, plane: BaseControlPlane) -> None:
        self._plane = plane
        self._api = MirroredApi(plane)
        self._thread = LoopThread("resource-claims", self._live, lambda: None)

    def start(self) -> None:
        """Start the controllers and wait until they know the cluster."""
        self._thread.start()

    def stop(self) -> None:
        """End them; harmless when repeated."""
        self._thread.stop()
        if self._thread.failure is not None:
            raise self._thread.failure

    # -- in the thread

    async def _live(self) -> None:
        async with Client(load_kubeconfig(self._plane.kubeconfig)) as client:
            informers = [
                self._informer(client, one)
                for one in (RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS, PODS)
            ]
            tasks = [asyncio.ensure_future(one.run()) for one in informers]
            try:
                for one in informers:
                    await one.wait_synced()
                tasks.append(asyncio.ensure_future(self._work()))
                await self._thread.until_told()
                for task in tasks:
                    if task.done():
                        task.result()
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(_CLOSE_SECONDS)

    async def _work(self) -> None:
        pods = PodIndex()
        controllers = [
            controller(ControllerClient(self._api, _COMPONENT), pods)
            for controller in (PodClaimController, ResourceClaimController)
        ]
        changed = asyncio.Event()
        workqueue = WorkQueue(self._api.store, controllers, pods, changed.set)
        while True:
            changed.clear()
            workqueue.run(time.time(), _AT_ONCE)
            due = workqueue.next_due()
            seconds = None if due is None else max(due - time.time(), 0.0)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await changed.wait()

    def _informer(self, client: Client, resource: Resource) -> Informer[Obj]:
        def observe(changes: list[Change[Obj]]) -> None:
            for change in changes:
                if isinstance(change, Gone):
                    self._api.forget(resource, change.object)
                    if resource is PODS:
                        self._collect_garbage(change.object)
                else:
                    self._api.observe(resource, change.object)

        group = ("apis", resource.group) if resource.group else ("api",)
        query = ReflectorQuery(path=api_path(*group, resource.version, resource.plural))
        return Informer(Reflector(client, query, _decode, _identity), observe)

    def _collect_garbage(self, pod: Obj) -> None:
        """Delete the claims that were created for a pod that is gone."""
        metadata = pod["metadata"]
        for item in self._api.store.all(RESOURCE_CLAIMS, metadata["namespace"]):
            if owning_pod(item.obj)[1] != metadata["uid"]:
                continue
            try:
                self._plane.delete(
                    RESOURCE_CLAIMS.kind,
                    item.name,
                    item.namespace,
                    api_version=RESOURCE_CLAIMS.api_version,
                )
            except ApiError as error:
                if error.status != _NOT_FOUND:
                    raise


def _decode(data: bytes) -> Obj:
    obj: dict[str, Any] = msgspec.json.decode(data)
    return obj


def _identity(obj: Obj) -> ObjectIdentity:
    metadata = obj["metadata"]
    return ObjectIdentity(
        metadata.get("namespace", ""),
        metadata["name"],
        metadata.get("uid", ""),
        metadata.get("resourceVersion", ""),
    )
