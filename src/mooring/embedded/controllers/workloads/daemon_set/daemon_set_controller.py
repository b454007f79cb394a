"""Keeps one pod of each DaemonSet on every node that it is for.

parity v1.36.4: pkg/controller/daemon
"""

from collections.abc import Iterable, Mapping
from typing import Final

from mooring.embedded.controllers.controller import Controller, EventHandler
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import Key, PodIndex, PodSummary
from mooring.embedded.controllers.workloads.controller_history import (
    REVISION_LABEL,
    ControllerHistory,
    Revision,
)
from mooring.embedded.controllers.workloads.controller_utils import (
    BATCH,
    deep_copy,
    is_available,
    min_ready_seconds,
    until_available,
)
from mooring.embedded.controllers.workloads.daemon_set.daemon_pods import (
    node_of,
    pod_for,
    read_node,
    should_continue_running,
    should_run,
)
from mooring.embedded.controllers.workloads.deployment.scaling import scaled_value
from mooring.embedded.controllers.workloads.pod_control import PodControl
from mooring.embedded.resources import DAEMON_SETS, NODES, PODS, Obj, Resource
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent
from mooring.model.node import Node
from mooring.model.pod import Pod

_FIRST_BACKOFF: Final = 1.0
_LAST_BACKOFF: Final = 900.0


class DaemonSetController(Controller):
    """Makes and deletes daemon pods."""

    resource = DAEMON_SETS
    throttled = True

    def __init__(self, client: ControllerClient, pods: PodIndex) -> None:
        super().__init__(client, pods)
        self._history = ControllerHistory(client)
        self._pod_control = PodControl(client)
        self._sets: dict[Key, None] = {}
        self._nodes: dict[str, Node] = {}
        self._targets: dict[str, str] = {}
        self._failed: dict[tuple[str, str], tuple[int, float]] = {}

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """Of DaemonSets and nodes."""
        return {NODES: self._node_changed, DAEMON_SETS: self._changed}

    def _changed(self, event: WatchEvent) -> Iterable[Key]:
        item = event.item
        key = (item.namespace, item.name)
        if event.type == "DELETED":
            self._sets.pop(key, None)
            self._history.forget(item.uid)
        else:
            self._sets[key] = None
        return (key,)

    def _node_changed(self, event: WatchEvent) -> Iterable[Key]:
        item = event.item
        before = self._nodes.pop(item.name, None)
        if event.type != "DELETED":
            node = self._nodes[item.name] = read_node(item.body)
            if before is not None and (before.labels, before.taints) == (node.labels, node.taints):
                return ()
        return list(self._sets)

    def pod_changed(self, old: PodSummary | None, new: PodSummary | None) -> Iterable[Key]:
        """The set that controls the pod."""
        if new is None and old is not None:
            self._targets.pop(old.uid, None)
        return self._controlling(new or old)

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:
        """Bring one set nearer to a pod on every node."""
        obj = item.obj
        revision = self._history.current(obj)
        mine = self._pods.owned_by(item.uid)
        by_node = self._by_node(mine)
        sample = Pod.from_dict(pod_for(obj, revision, ""))
        eligible = {name for name, node in self._nodes.items() if should_run(sample, node)}
        again: float | None = None
        if not obj["metadata"].get("deletionTimestamp"):
            again = self._manage(obj, revision, sample, eligible, by_node, now)
            if again != 0.0:
                self._update(obj, revision, eligible, by_node, now)
        status = _status(obj, eligible, by_node, revision, now)
        self._client.set_status(DAEMON_SETS, item, obj, status)
        if again == 0.0:
            return again
        used = {pod.labels.get(REVISION_LABEL, "") for pod in mine} | {revision.digest}
        name = key[1]
        self._history.prune(obj, {f"{name}-{digest}" for digest in used})
        self._throttle.synced(key, len(self._nodes), now)
        least = min_ready_seconds(obj)
        waits = [one for one in (again, until_available(mine, least, now)) if one is not None]
        return min(waits, default=None)

    def _by_node(self, mine: list[PodSummary]) -> dict[str, list[PodSummary]]:
        found: dict[str, list[PodSummary]] = {}
        for pod in mine:
            name = pod.node or self._targets.get(pod.uid)
            if name is None:
                item = self._client.store.get(PODS, *pod.key)
                name = self._targets[pod.uid] = node_of(item.obj) if item is not None else ""
            found.setdefault(name, []).append(pod)
        return found

    def _manage(
        self,
        obj: Obj,
        revision: Revision,
        sample: Pod,
        eligible: set[str],
        by_node: Mapping[str, list[PodSummary]],
        now: float,
    ) -> float | None:
        """Make missing pods and delete those that should not be; 0 if others have to follow."""
        wanted: list[str] = []
        unwanted: list[PodSummary] = []
        again: float | None = None
        for name in self._nodes:
            pods = by_node.get(name, [])
            if name in eligible:
                if not pods:
                    wanted.append(name)
                    continue
                for pod in pods:
                    if pod.phase == "Failed" and not pod.deleting:
                        wait = self._backoff(obj, name, now)
                        if wait > 0:
                            again = wait if again is None else min(again, wait)
                        else:
                            self._note_failure(obj, pod, name, now)
                            unwanted.append(pod)
                alive = [pod for pod in pods if pod.active]
                alive.sort(key=lambda pod: (pod.created, pod.key))
                unwanted.extend(alive[1:])
            elif pods and not should_continue_running(sample, self._nodes[name]):
                unwanted.extend(pod for pod in pods if not pod.deleting)
        for name, pods in by_node.items():
            if name not in self._nodes:  # the node is gone; pods that wait for it never start
                unwanted.extend(pod for pod in pods if not pod.deleting and not pod.node)
        for pod in unwanted[:BATCH]:
            self._pod_control.delete(obj, pod, now)
        for name in sorted(wanted)[:BATCH]:
            self._create(obj, revision, name, now)
        return 0.0 if wanted or unwanted else again

    def _update(
        self,
        obj: Obj,
        revision: Revision,
        eligible: set[str],
        by_node: Mapping[str, list[PodSummary]],
        now: float,
    ) -> None:
        """Replace pods of an old template, a few at a time."""
        strategy = obj["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return
        rolling = strategy.get("rollingUpdate") or {}
        limit = scaled_value(rolling.get("maxUnavailable", 1), len(eligible), up=True)
        least = min_ready_seconds(obj)
        old: list[PodSummary] = []
        for name in sorted(eligible):
            pods = [pod for pod in by_node.get(name, ()) if pod.active]
            if not pods or not is_available(pods[0], least, now):
                limit -= 1
            if pods and pods[0].labels.get(REVISION_LABEL) != revision.digest:
                if not is_available(pods[0], least, now):
                    self._pod_control.delete(obj, pods[0], now)  # it is missed by nobody
                else:
                    old.append(pods[0])
        for pod in old[: max(limit, 0)]:
            self._pod_control.delete(obj, pod, now)

    def _create(self, obj: Obj, revision: Revision, node: str, now: float) -> None:
        pod = deep_copy(pod_for(obj, revision, node))
        made = self._client.create(PODS, pod, obj["metadata"]["namespace"])
        self._targets[made.uid] = node
        self._client.record_event(
            obj, "Normal", "SuccessfulCreate", f"Created pod: {made.name}", now
        )

    def _backoff(self, obj: Obj, node: str, now: float) -> float:
        count, since = self._failed.get((obj["metadata"]["uid"], node), (0, 0.0))
        if not count:
            return 0.0
        pause: float = min(_FIRST_BACKOFF * 2 ** min(count - 1, 16), _LAST_BACKOFF)
        return since + pause - now

    def _note_failure(self, obj: Obj, pod: PodSummary, node: str, now: float) -> None:
        place = (obj["metadata"]["uid"], node)
        self._failed[place] = (self._failed.get(place, (0, 0.0))[0] + 1, now)
        message = f"Found failed daemon pod {'/'.join(pod.key)} on node {node}, will try to kill it"
        self._client.record_event(obj, "Warning", "FailedDaemonPod", message, now)


def _status(
    obj: Obj,
    eligible: set[str],
    by_node: Mapping[str, list[PodSummary]],
    revision: Revision,
    now: float,
) -> Obj:
    least = min_ready_seconds(obj)
    scheduled = ready = available = updated = 0
    for name in eligible:
        pods = sorted(by_node.get(name, ()), key=lambda pod: (pod.created, pod.key))
        if not pods:
            continue
        scheduled += 1
        first = pods[0]
        ready += first.ready
        available += is_available(first, least, now)
        updated += first.labels.get(REVISION_LABEL) == revision.digest
    misplaced = sum(bool(pods) for name, pods in by_node.items() if name not in eligible)
    return {
        "currentNumberScheduled": scheduled,
        "numberMisscheduled": misplaced,
        "desiredNumberScheduled": len(eligible),
        "numberReady": ready,
        "observedGeneration": obj["metadata"].get("generation"),
        "updatedNumberScheduled": updated or None,
        "numberAvailable": available or None,
        "numberUnavailable": (len(eligible) - available) or None,
    }
