"""The kubelets of all nodes at once: pods that are bound run, end and go, without any container.

A `work.Controller` that `life` runs. It writes only pods: nodes are left alone. What may run where
is asked of `kubelet_room`, what is written is made by `kubelet_status`.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from mooring.embedded.controllers import moments
from mooring.embedded.controllers.hand import Hand
from mooring.embedded.controllers.pod_index import Key, PodIndex, SeenPod
from mooring.embedded.controllers.work import Controller, Heard
from mooring.embedded.kubelet import status as kubelet_status
from mooring.embedded.kubelet.room import Load, Room, load_of
from mooring.embedded.resources import NODES, PODS, Obj, Resource
from mooring.embedded.store import Entry, Item
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
        stop_seconds: from being deleted to being gone.
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
        hand: writes.
        pods: all pods.
        settings: how pods behave.
    """

    def __init__(
        self, hand: Hand, pods: PodIndex, settings: KubeletSettings = DEFAULT_SETTINGS
    ) -> None:
        self._hand = hand
        self._pods = pods
        self._settings = settings
        self._rooms: dict[str, Room] = {}
        self._loads: dict[Key, Load] = {}
        self._due: dict[Key, tuple[str, str, float]] = {}
        self._ips = 0

    @property
    def name(self) -> str:
        """For the log."""
        return "kubelet"

    @property
    def listens(self) -> Mapping[Resource, Heard]:
        """To nodes."""
        return {NODES: self._node_changed}

    def _node_changed(self, entry: Entry) -> Iterable[Key]:
        item = entry.item
        if entry.type == "DELETED":
            self._rooms.pop(item.name, None)
            for pod in self._pods.on_node(item.name):
                self._loads.pop(pod.key, None)
        else:
            node, host = Node.from_json(item.body, keep_source=False), _host_ip(item.obj)
            room = self._rooms.get(item.name)
            if room is not None:
                room.change(node, host)
                return ()
            self._rooms[item.name] = Room(node, host)
        return [pod.key for pod in self._pods.on_node(item.name)]

    def pod_changed(self, old: SeenPod | None, new: SeenPod | None) -> Iterable[Key]:
        """The pod itself, if a kubelet has to do with it."""
        if old is not None and (new is None or new.finished or new.uid != old.uid):
            self._leave(old.key)
        if new is None or not new.node:
            return ()
        if old is None and new.ip:
            self._know(new)
        if old is not None and old.node == new.node and old.uid == new.uid:
            same = old.deleting == new.deleting and old.phase == new.phase
            if same and old.finalizers == new.finalizers:
                return ()  # somebody wrote a label or a condition
        return (new.key,)

    def _know(self, pod: SeenPod) -> None:
        """A pod was there before us, and has an address."""
        parts = [int(one) for one in pod.ip.split(".") if one.isdigit()]
        if len(parts) == 4:
            number = int.from_bytes(bytes(one & 255 for one in parts), "big") - _FIRST_IP
            if 0 <= number < _IPS:
                self._ips = max(self._ips, number + 1)
        room = self._rooms.get(pod.node)
        item = self._hand.store.get(PODS, *pod.key)
        if room is not None and item is not None and pod.phase == "Running":
            self._enter(room, load_of(_typed(item)), pod.key)

    def reconcile(self, key: Key, now: float) -> float | None:
        """Do what the pod's kubelet would do."""
        pod = self._pods.get(key)
        item = self._hand.store.get(PODS, *key)
        if pod is None or item is None or not pod.node:
            return None
        room = self._rooms.get(pod.node)
        if pod.deleting:
            return self._stop(pod, item, room, now)
        if pod.finished or room is None:
            return None
        if pod.phase == "Running":
            if key not in self._loads:
                self._enter(room, load_of(_typed(item)), key)
            return self._go_on(pod, item, now)
        wait = self._wait(pod, "start", self._settings.start_seconds, now)
        if wait is not None:
            return wait
        self._start(pod, item, room, now)
        return None  # that it runs now is heard like any other change

    # -- what happens to a pod

    def _start(self, pod: SeenPod, item: Item, room: Room, now: float) -> None:
        obj = item.obj
        if pod.key not in self._loads:
            typed = _typed(item)
            load = load_of(typed)
            refusal = room.refuse(typed, load)
            if refusal is not None:
                self._write(obj, kubelet_status.rejected(obj, refusal, moments.written(now)))
                host = pod.node
                self._hand.tell(obj, "Warning", refusal.reason, refusal.message, now, host=host)
                return
            self._enter(room, load, pod.key)
        ip = pod.ip or ("" if obj["spec"].get("hostNetwork") else self._next_ip())
        self._write(obj, kubelet_status.running(obj, room.host, ip, moments.written(now)))
        if self._settings.events:
            self._tell_started(obj, pod.node, now)

    def _go_on(self, pod: SeenPod, item: Item, now: float) -> float | None:
        seconds = self._run_seconds(pod)
        if seconds is None:
            return None
        wait = self._wait(pod, "run", seconds, now)
        if wait is not None:
            return wait
        code = pod.annotations.get(EXIT_CODE, "0")
        obj = item.obj
        status = kubelet_status.ended(obj, int(code) if code.isdigit() else 1, moments.written(now))
        self._write(obj, status)
        return None

    def _stop(self, pod: SeenPod, item: Item, room: Room | None, now: float) -> float | None:
        if room is not None and not pod.finished:
            known = self._due.get(pod.key)
            if known is None or known[:2] != (pod.uid, "stop"):
                # The first time it is looked at since it was deleted.
                self._tell_killing(item, pod, now)
            wait = self._wait(pod, "stop", self._settings.stop_seconds, now)
            if wait is not None:
                return wait
        if pod.finalizers and not pod.finished and room is not None:
            # It stays for whoever holds it, and that one wants to know how it ended.
            obj = item.obj
            self._write(obj, kubelet_status.ended(obj, _KILLED, moments.written(now)))
        self._hand.delete(PODS, *pod.key, pod.uid, grace=0)
        return None

    def _run_seconds(self, pod: SeenPod) -> float | None:
        text = pod.annotations.get(RUN_SECONDS)
        if text is not None:
            try:
                return max(float(text), 0.0)
            except ValueError:
                return None
        if pod.owner is not None and pod.owner.kind == "Job":
            return self._settings.job_seconds
        return None

    def _wait(self, pod: SeenPod, what: str, seconds: float | None, now: float) -> float | None:
        """How much longer to wait until something is to happen; None if it is time, or never."""
        if seconds is None:
            return None
        known = self._due.get(pod.key)
        if known is None or known[:2] != (pod.uid, what):
            known = self._due[pod.key] = (pod.uid, what, now + seconds)
        if known[2] <= now:
            return None
        return known[2] - now

    # -- books

    def _enter(self, room: Room, load: Load, key: Key) -> None:
        room.add(load)
        self._loads[key] = load

    def _leave(self, key: Key) -> None:
        self._due.pop(key, None)
        load = self._loads.pop(key, None)
        room = self._rooms.get(load.node) if load is not None else None
        if room is not None and load is not None:
            room.take_off(load)

    def _next_ip(self) -> str:
        number = _FIRST_IP + self._ips % _IPS
        self._ips += 1
        return f"{number >> 24}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"

    def _write(self, obj: Obj, status: Obj) -> None:
        obj["status"] = status
        self._hand.update(PODS, obj, "status")

    # -- events

    def _tell_started(self, obj: Obj, node: str, now: float) -> None:
        for container in obj["spec"]["containers"]:
            image = container.get("image", "")
            present = "already present on machine and can be accessed by the pod"
            for reason, message in (
                ("Pulled", f'Container image "{image}" {present}'),
                ("Created", "Container created"),
                ("Started", "Container started"),
            ):
                self._hand.tell(obj, "Normal", reason, message, now, host=node)

    def _tell_killing(self, item: Item, pod: SeenPod, now: float) -> None:
        if not self._settings.events:
            return
        obj = item.obj
        for container in obj["spec"]["containers"]:
            message = f"Stopping container {container['name']}"
            self._hand.tell(obj, "Normal", "Killing", message, now, host=pod.node)


def _typed(item: Item) -> Pod:
    return Pod.from_json(item.body, keep_source=False)


def _host_ip(node: Obj) -> str:
    addresses = (node.get("status") or {}).get("addresses") or ()
    return next((str(one["address"]) for one in addresses if one["type"] == "InternalIP"), "")
