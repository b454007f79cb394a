"""The kubelets of all nodes at once: pods that are bound run, end and go, without any container.

A `Controller` that `controller_manager` runs. It writes only pods: nodes are left alone. Whether a
pod may run is decided by `node_admission`, whether its devices are there by `device_claims`; what
is written is made by `pod_status`.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from mooring.embedded.controllers.controller import Controller, EventHandler
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import Key, PodIndex, PodSummary
from mooring.embedded.controllers.timestamps import format_time
from mooring.embedded.kubelet import pod_status
from mooring.embedded.kubelet.device_claims import find_unprepared
from mooring.embedded.kubelet.node_admission import NodeAdmission, PodRequests, pod_requests
from mooring.embedded.kubelet.pre_stop import pre_stop_seconds
from mooring.embedded.resources import NODES, PODS, RESOURCE_CLAIMS, Obj, Resource
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent
from mooring.model.node import Node
from mooring.model.pod import Pod

#: For how many seconds a pod runs before it ends by itself.
RUN_SECONDS: Final = "mooring.dev/run-seconds"
#: With which exit code its containers end; 0 if it is not there.
EXIT_CODE: Final = "mooring.dev/exit-code"
_KILLED: Final = 137
#: Pod addresses are counted up from 10.244.0.1; after 10.255.255.255 they begin anew.
_FIRST_IP: Final = (10 << 24) + (244 << 16) + 1
_IPS: Final = 12 * 2**16 - 2


class KubeletSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How pods behave.

    Attributes:
        start_seconds: from being bound to running.
        stop_seconds: from being deleted to being gone, unless a preStop hook takes longer.
        job_seconds: how long the pods of Jobs run; None for ever.
        events: whether to write the events of kubelets.
    """

    start_seconds: float = 0.0
    stop_seconds: float = 0.0
    job_seconds: float | None = None
    events: bool = False


DEFAULT_SETTINGS: Final = KubeletSettings()


class Kubelet(Controller):
    """Runs pods.

    Args:
        client: reads and writes objects.
        pods: all pods.
        settings: how pods behave.
    """

    resource = PODS

    def __init__(
        self, client: ControllerClient, pods: PodIndex, settings: KubeletSettings = DEFAULT_SETTINGS
    ) -> None:
        super().__init__(client, pods)
        self._settings = settings
        self._nodes: dict[str, NodeAdmission] = {}
        self._admitted: dict[Key, PodRequests] = {}
        self._due: dict[Key, tuple[str, str, float]] = {}
        self._ips = 0

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """Of nodes, and of claims to devices."""
        return {NODES: self._node_changed, RESOURCE_CLAIMS: self._claim_changed}

    def _claim_changed(self, event: WatchEvent) -> Iterable[Key]:
        """The pods that may wait for it."""
        pods = self._pods.using_claim(event.item.namespace, event.item.name)
        return [pod.key for pod in pods if pod.node and pod.phase == "Pending"]

    def _node_changed(self, event: WatchEvent) -> Iterable[Key]:
        item = event.item
        if event.type == "DELETED":
            self._nodes.pop(item.name, None)
            for pod in self._pods.on_node(item.name):
                self._admitted.pop(pod.key, None)
        else:
            spec, host = Node.from_json(item.body, keep_source=False), _host_ip(item.obj)
            node = self._nodes.get(item.name)
            if node is not None:
                node.update_node(spec, host)
                return ()
            self._nodes[item.name] = NodeAdmission(spec, host)
        return [pod.key for pod in self._pods.on_node(item.name)]

    def pod_changed(self, old: PodSummary | None, new: PodSummary | None) -> Iterable[Key]:
        """The pod itself, if a kubelet has to do with it."""
        if old is not None and (new is None or new.finished or new.uid != old.uid):
            self._release(old.key)
        if new is None or not new.node:
            return ()
        if old is None and new.ip:
            self._restore(new)
        if old is not None and old.node == new.node and old.uid == new.uid:
            same = old.deleting == new.deleting and old.phase == new.phase
            same = same and old.grace_seconds == new.grace_seconds
            same = same and old.claim_names == new.claim_names
            if same and old.finalizers == new.finalizers:
                return ()  # somebody wrote a label or a condition
        return (new.key,)

    def _restore(self, pod: PodSummary) -> None:
        """A pod was there before us, and has an address."""
        parts = [int(one) for one in pod.ip.split(".") if one.isdigit()]
        if len(parts) == 4:
            number = int.from_bytes(bytes(one & 255 for one in parts), "big") - _FIRST_IP
            if 0 <= number < _IPS:
                self._ips = max(self._ips, number + 1)
        node = self._nodes.get(pod.node)
        item = self._client.store.get(PODS, *pod.key)
        if node is not None and item is not None and pod.phase == "Running":
            self._admit(node, pod_requests(_typed(item)), pod.key)

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:
        """Do what the pod's kubelet would do."""
        pod = self._pods.get(key)
        if pod is None or not pod.node:
            return None
        node = self._nodes.get(pod.node)
        if pod.deleting:
            return self._stop(pod, item, node, now)
        if pod.finished or node is None:
            return None
        if pod.phase == "Running":
            if key not in self._admitted:
                self._admit(node, pod_requests(_typed(item)), key)
            return self._go_on(pod, item, now)
        wait = self._wait(pod, "start", self._settings.start_seconds, now)
        if wait is not None:
            return wait
        self._start(pod, item, node, now)
        return None  # that it runs now, or that a claim is ready, is a change like any other

    # -- what happens to a pod

    def _start(self, pod: PodSummary, item: StoredObject, node: NodeAdmission, now: float) -> None:
        obj = item.obj
        if pod.key not in self._admitted:
            typed = _typed(item)
            requests = pod_requests(typed)
            failure = node.admit(typed, requests)
            if failure is not None:
                self._write(obj, pod_status.rejected(obj, failure, format_time(now)))
                host = pod.node
                self._client.record_event(
                    obj, "Warning", failure.reason, failure.message, now, host=host
                )
                return
            self._admit(node, requests, pod.key)
        if pod.claims or pod.extended_claim:
            missing = find_unprepared(self._client.store, pod)
            if missing is not None:
                self._record_unprepared(obj, missing, pod.node, now)
                return
        ip = pod.ip or ("" if obj["spec"].get("hostNetwork") else self._next_ip())
        self._write(obj, pod_status.running(obj, node.host, ip, format_time(now)))
        if self._settings.events:
            self._record_started(obj, pod.node, now)

    def _go_on(self, pod: PodSummary, item: StoredObject, now: float) -> float | None:
        seconds = self._run_seconds(pod)
        if seconds is None:
            return None
        wait = self._wait(pod, "run", seconds, now)
        if wait is not None:
            return wait
        code = pod.annotations.get(EXIT_CODE, "0")
        obj = item.obj
        status = pod_status.ended(obj, int(code) if code.isdigit() else 1, format_time(now))
        self._write(obj, status)
        return None

    def _stop(
        self, pod: PodSummary, item: StoredObject, node: NodeAdmission | None, now: float
    ) -> float | None:
        if node is not None and not pod.finished:
            known = self._due.get(pod.key)
            if known is None or known[:2] != (pod.uid, "stop"):
                # The first time it is reconciled since it was deleted.
                self._record_killing(item, pod, now)
            wait = self._wait(pod, "stop", self._stop_seconds(pod, item), now)
            if wait is not None:
                return wait
        if pod.finalizers and not pod.finished and node is not None:
            # It stays for whoever holds it, and that one wants to know how it ended.
            obj = item.obj
            self._write(obj, pod_status.ended(obj, _KILLED, format_time(now)))
        self._client.delete(PODS, *pod.key, pod.uid, grace=0)
        return None

    def _stop_seconds(self, pod: PodSummary, item: StoredObject) -> float:
        seconds = self._settings.stop_seconds
        if pod.phase == "Running" and b'"preStop"' in item.body:
            seconds = max(seconds, pre_stop_seconds(item.obj))
        return seconds

    def _run_seconds(self, pod: PodSummary) -> float | None:
        text = pod.annotations.get(RUN_SECONDS)
        if text is not None:
            try:
                return max(float(text), 0.0)
            except ValueError:
                return None
        if pod.owner is not None and pod.owner.kind == "Job":
            return self._settings.job_seconds
        return None

    def _wait(self, pod: PodSummary, what: str, seconds: float | None, now: float) -> float | None:
        """How much longer to wait until something is to happen; None if it is time, or never."""
        if seconds is None:
            return None
        known = self._due.get(pod.key)
        # It is due earlier than before if the grace period was shortened.
        if known is None or known[:2] != (pod.uid, what) or known[2] > now + seconds:
            known = self._due[pod.key] = (pod.uid, what, now + seconds)
        if known[2] <= now:
            return None
        return known[2] - now

    # -- admitted pods

    def _admit(self, node: NodeAdmission, requests: PodRequests, key: Key) -> None:
        node.add_pod(requests)
        self._admitted[key] = requests

    def _release(self, key: Key) -> None:
        self._due.pop(key, None)
        requests = self._admitted.pop(key, None)
        node = self._nodes.get(requests.node) if requests is not None else None
        if node is not None and requests is not None:
            node.remove_pod(requests)

    def _next_ip(self) -> str:
        number = _FIRST_IP + self._ips % _IPS
        self._ips += 1
        return f"{number >> 24}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"

    def _write(self, obj: Obj, status: Obj) -> None:
        obj["status"] = status
        self._client.update(PODS, obj, "status")

    # -- events

    def _record_started(self, obj: Obj, node: str, now: float) -> None:
        for container in obj["spec"]["containers"]:
            image = container.get("image", "")
            present = "already present on machine and can be accessed by the pod"
            for reason, message in (
                ("Pulled", f'Container image "{image}" {present}'),
                ("Created", "Container created"),
                ("Started", "Container started"),
            ):
                self._client.record_event(obj, "Normal", reason, message, now, host=node)

    def _record_unprepared(self, obj: Obj, missing: str, node: str, now: float) -> None:
        if self._settings.events:
            message = f"Failed to prepare dynamic resources: {missing}"
            reason = "FailedPrepareDynamicResources"
            self._client.record_event(obj, "Warning", reason, message, now, host=node)

    def _record_killing(self, item: StoredObject, pod: PodSummary, now: float) -> None:
        if not self._settings.events:
            return
        obj = item.obj
        for container in obj["spec"]["containers"]:
            message = f"Stopping container {container['name']}"
            self._client.record_event(obj, "Normal", "Killing", message, now, host=pod.node)


def _typed(item: StoredObject) -> Pod:
    return Pod.from_json(item.body, keep_source=False)


def _host_ip(node: Obj) -> str:
    addresses = (node.get("status") or {}).get("addresses") or ()
    return next((str(one["address"]) for one in addresses if one["type"] == "InternalIP"), "")
