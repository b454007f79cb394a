"""The cluster as far as scheduling needs it: nodes, the pods on them, what is in use.

A pod's way through the state (each box is what `Cluster` holds for it):

    put, no node          assume            put with node, confirm
    ──────────────> waiting ──────> assumed ─────────────> bound
                      │ ^              │ │                   │
                      │ └─── forget ───┘ │                   │
                      └──────────────────┴───────────────────┴──> (nothing): gone, finished

`apply` takes what informers saw; `assume` counts a pod on a node before the API server says so, so
that the next decision sees it; `confirm` says that the API server took it; `forget` takes it back.

Nodes are rows of `columns`; whatever is counted there for the pods is changed by `_count` alone.

`fork` makes an independent copy for a what-if; both sides share what neither has written to since.
"""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from mooring.errors import MooringError
from mooring.model.change import Gone, Put
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.assume_cache import AssumeCache
from mooring.state.assumed_pod import AssumedPod
from mooring.state.catalog import Catalog
from mooring.state.columns import Columns
from mooring.state.copy_on_write import SharedDict
from mooring.state.counts import PodCounts, TermCounts
from mooring.state.devices.cluster_devices import NOTHING_PUBLISHED, ClusterDevices
from mooring.state.known_pods import KnownPods
from mooring.state.memory_bounds import BOUNDS, MemoryBounds
from mooring.state.node_info import NodeInfo, without_usage
from mooring.state.nominations import Nominations
from mooring.state.pod_info import PodInfo
from mooring.state.shapes import Shape, Shapes
from mooring.state.usage import NodeUsage
from mooring.state.what_if_pods import WhatIfPods


class Cluster(KnownPods):
    """Nodes and pods, kept up to date by changes.

    Args:
        has_pods: whether pods are known at all; if not, what is in use on a node is not known.
        has_devices: whether devices and claims to them are known; if not, a node's are not.
        bounds: how much is remembered of what pods ask for.

    Attributes:
        nodes: the nodes by name, each with its usage if pods are known.
        columns: the nodes as rows, what is known of them as columns.
        shapes: the compiled descriptions of the pods.
        catalog: all other objects, as the API server has them.
        assume_cache: the same as the next decision sees them.
        devices: the devices of the nodes; None if they are not known.
        pod_counts: how many pods that match a selector are on each node.
        anti_affinity: the required anti-affinity terms of the pods on the nodes.
        affinity: the required affinity terms of the pods on the nodes.
        preferred: the preferred terms of the pods on the nodes.
        nominations: the pending pods that have a nominated node.
        pods_gone: how many pods have gone so far, placed or pending.
        open_what_ifs: those of the hooks under way, innermost last; kept by `framework.what_ifs`.
    """

    def __init__(
        self, *, has_pods: bool = True, has_devices: bool = True, bounds: MemoryBounds = BOUNDS
    ) -> None:
        self.nodes: dict[str, Node] = {}
        self.columns = Columns(bounds)
        self.shapes = Shapes(bounds)
        self.catalog = Catalog()
        self.assume_cache = AssumeCache(self.catalog)
        self.devices = ClusterDevices(self.catalog, self.assume_cache) if has_devices else None
        table = self.columns.table
        self.pod_counts = PodCounts(table)
        self.anti_affinity = TermCounts(table)
        self.affinity = TermCounts(table)
        self.preferred = TermCounts(table)
        self.nominations = Nominations()
        self._has_pods = has_pods
        self._usage: dict[str, NodeUsage] = {}
        self._pods: SharedDict[str, PodInfo] = SharedDict()
        self._by_uid: SharedDict[str, str] = SharedDict()  # the pods' keys
        self.pods_gone = 0
        self._assumed: SharedDict[str, AssumedPod] = SharedDict()
        self._claims: SharedDict[str, int] = SharedDict()
        self.open_what_ifs: list[Any] = []
        self._what_ifs = WhatIfPods(self.columns)
        # Until there are slices, no node has devices, whichever fork it is read in.
        self._shows_devices = False
        # How often a pod came to a node, changed there or left it.
        self._placements = 0

    @property
    def changes(self) -> tuple[int, int, int]:
        """Another value after anything changed but pending pods and what-ifs."""
        columns = self.columns
        return self._placements, columns.puts + columns.rows_version, self.catalog.changes

    def fork(self) -> "Cluster":
        """An independent copy for a what-if: whatever happens in one of the two, the other stays.

        It costs less than a millisecond and little memory, however many pods there are: what it
        shares with this cluster is copied when one of the two first writes to it. Nothing that was
        worked out for those who ask is in it. Plugins that were made for this cluster know nothing
        of it: to decide there, build a runtime on it. A cluster and its forks belong to one thread.

        What was read before stays as it was then: a node of `nodes` shows changes of its pods until
        the next fork, and so does a column.

        Raises:
            MooringError: a pod has been added or removed in thought, and that was not taken back.
        """
        if self._what_ifs:
            raise MooringError(
                "a cluster cannot be forked while a pod is added or removed hypothetically: "
                "undo that first"
            )
        forked = copy.copy(self)
        forked.separate()
        return forked

    def separate(self) -> None:
        """Become independent of the cluster that this one is a copy of; called by `fork` alone."""
        self.columns = self.columns.fork()
        table = self.columns.table
        self.catalog = self.catalog.fork()
        self.assume_cache = self.assume_cache.fork(self.catalog)
        if self.devices is not None:
            self.devices = ClusterDevices(self.catalog, self.assume_cache)
        self.pod_counts = self.pod_counts.fork(table)
        self.anti_affinity = self.anti_affinity.fork(table)
        self.affinity = self.affinity.fork(table)
        self.preferred = self.preferred.fork(table)
        self.nominations = self.nominations.fork()
        self.nodes = self.nodes.copy()
        self._usage = self._usage.copy()
        self._pods = self._pods.fork()
        self._by_uid = self._by_uid.fork()
        self._assumed = self._assumed.fork()
        self._claims = self._claims.fork()
        self.open_what_ifs = []
        self._what_ifs = WhatIfPods(self.columns)
        if self._shows_devices:
            self._show_devices()

    def apply(self, changes: Iterable[Put[Any] | Gone[Any]]) -> None:
        """Take what happened, in order."""
        for change in changes:
            if isinstance(change, Put):
                self.put(change.object)
            else:
                self.remove(change.object)

    def put(self, thing: KubeObject) -> None:
        """Add an object of any kind, or replace the one of the same name."""
        if isinstance(thing, Pod):
            self.put_pod(thing)
        elif isinstance(thing, Node):
            self.put_node(thing)
        else:
            if not self._shows_devices and isinstance(thing, ResourceSlice):
                self._show_devices()
            self.catalog.put(thing)

    def remove(self, thing: KubeObject) -> None:
        """Forget an object of any kind."""
        if isinstance(thing, Pod):
            self.remove_pod(thing.key)
        elif isinstance(thing, Node):
            self.remove_node(thing.name)
        else:
            self.catalog.remove(thing)

    def put_node(self, node: Node) -> Node:
        """Add a node, or replace the one of the same name.

        Returns:
            The node as it is in `nodes`.
        """
        _ = node.allocatable  # an impossible quantity raises here, before anything changed
        usage = self._owned_usage(node.name)
        info = self._described(node, usage)
        known = node.name in self.nodes
        self.nodes[node.name] = info
        row = self.columns.put(info, usage)
        if not known:
            for pod in usage.infos:
                self._count(row, pod, 1)
        return info

    def remove_node(self, name: str) -> None:
        """Forget a node; the pods on it are kept until they go themselves, and count nowhere."""
        if self.nodes.pop(name, None) is None:
            return
        columns, usage = self.columns, self._usage[name]
        row, last = columns.row_of[name], len(columns) - 1
        for info in usage.infos:
            self._count(row, info, -1)
        moved = list(columns.usage(last).infos) if row < last else ()
        for info in moved:
            self._count(last, info, -1)
        columns.remove(name)
        for info in moved:
            self._count(row, info, 1)
        if not usage:
            del self._usage[name]

    def put_pod(self, pod: Pod, key: str = "") -> None:
        """Add a pod, or replace the one of the same namespace and name.

        Args:
            pod: the pod.
            key: its key, if the caller has it at hand.
        """
        key = key or pod.key
        assumed = self._assumed.entries.get(key)
        if pod.spec.node_name and self._put_alike(key, pod):
            if assumed is not None:
                del self._assumed.writable()[key]
            return
        if (
            assumed is not None
            and not pod.node_name
            and pod.uid == assumed.pod.uid
            and not pod.finished
        ):
            # Seen again before the binding arrives: it stays where it was assumed.
            assumed = replace(assumed, pod=pod)
            placed = assumed.placed()
            if not self._put_alike(key, placed):
                self._replace(key, self._info(key, placed))
            self._assumed.writable()[key] = assumed
            return
        self._replace(key, None if pod.finished else self._info(key, pod))
        if assumed is not None:
            del self._assumed.writable()[key]

    def remove_pod(self, key: str) -> None:
        """Forget a pod that is gone."""
        self._replace(key, None)
        if key in self._assumed.entries:
            del self._assumed.writable()[key]

    def assume(
        self,
        pod: Pod,
        node_name: str,
        annotations: Mapping[str, str] = {},
        *,
        key: str = "",
    ) -> Pod:
        """Count a pod on a node before the API server confirms it.

        Args:
            pod: the pod, not yet bound.
            node_name: where it will run.
            annotations: the annotations that the binding will add.
            key: the pod's key, if the caller has it at hand.

        Returns:
            The pod as it is counted.
        """
        key = key or pod.key
        assumption = AssumedPod(pod, node_name, annotations)
        placed = pod.placed(node_name, annotations)
        known = self._pods.entries.get(key)
        if known is not None and known.pod is pod and not pod.spec.node_name:
            # Mostly: a pod that waits here, and nothing is taken back for it.
            info = PodInfo(placed, self.shapes, known.compiled or known.shape)
            self._placements += 1
            self._come(key, info, node_name)
        else:
            self._replace(key, PodInfo(placed, self.shapes, self.shape_of(pod)))
        self._assumed.writable()[key] = assumption
        return placed

    def confirm(self, key: str, uid: str = "") -> None:
        """The API server bound an assumed pod: it can be forgotten no more.

        With `uid`, only if it is that pod, and not another one that has its name by now.
        """
        assumed = self._assumed_pod(key, uid)
        if assumed is not None:
            self._assumed.writable()[key] = replace(assumed, confirmed=True)

    def assumed_pod(self, key: str) -> AssumedPod | None:
        """How an assumed pod is counted; None if the pod is not assumed."""
        return self._assumed.entries.get(key)

    def forget(self, key: str, uid: str = "") -> None:
        """Take an assumption back; nothing happens if the pod was confirmed meanwhile.

        With `uid`, only if it is that pod, and not another one that has its name by now.
        """
        assumed = self._assumed_pod(key, uid)
        if assumed is not None and not assumed.confirmed:
            del self._assumed.writable()[key]
            # It was counted with the shape that it has while it waits.
            shape = self._pods.entries[key].shape
            self._replace(key, PodInfo(assumed.pod, self.shapes, shape))

    def _assumed_pod(self, key: str, uid: str) -> "AssumedPod | None":
        assumed = self._assumed.entries.get(key)
        return assumed if assumed is not None and uid in ("", assumed.pod.uid) else None

    def add_what_if(self, pod: Pod, row: int) -> None:
        """Count a pod on a node for a what-if; `remove_what_if` takes that back."""
        key = pod.key
        # An impossible quantity raises here, before anything changed.
        info = PodInfo(pod, self.shapes, self.shape_of(pod))
        self._owned_usage_at(row).add(key, info)
        self._count(row, info, 1)
        self._what_ifs.note(row, key, info, 1)

    def remove_what_if(self, pod: Pod, row: int) -> None:
        """Count a pod on a node no more, for a what-if; `add_what_if` takes that back."""
        key = pod.key
        removed = self._owned_usage_at(row).remove(key)
        self._count(row, removed, -1)
        self._what_ifs.note(row, key, removed, -1)

    def forget_unused(self) -> None:
        """Forget answers that nobody has asked for since the last call.

        Nothing depends on them; a shell that calls this from time to time gives their memory back.
        """
        self.columns.table.forget_unused()

    def forget_remembered(self) -> None:
        """Forget what plugins remember of nodes and of pod templates, because others ask now."""
        self.columns.forget_results()
        self.shapes.remembering.forget_all()

    @property
    def assumed(self) -> int:
        """How many pods are assumed and not yet confirmed."""
        return sum(not one.confirmed for one in self._assumed.entries.values())

    def shape_of(self, pod: Pod, key: str = "") -> Shape:
        """The compiled description of a pod, shared with all pods of the same template.

        It is at hand for the pods of this cluster; for others it is worked out. The key is the
        pod's, if the caller has it at hand.

        Raises:
            QuantityError: an amount in the pod is no quantity.
        """
        info = self._pods.entries.get(key or pod.key)
        if info is None or info.pod is not pod:
            return self.shapes.of_stranger(pod)
        return info.compiled or info.shape

    def usage(self, node_name: str) -> NodeUsage | None:
        """What is in use on a node, whether or not the node is known; valid until the next change.

        None if pods are not known.
        """
        if not self._has_pods:
            return None
        found = self._usage.get(node_name)
        return found if found is not None else NodeUsage()

    def _owned_usage(self, node_name: str) -> NodeUsage:
        """What is in use on a node, for writing now."""
        usage, owner = self._usage.get(node_name), self.columns.table.owner
        if usage is None:
            usage = self._usage[node_name] = NodeUsage(owner)
        elif usage.owner is not owner:
            usage = self._usage[node_name] = usage.copy(owner)
            row = self.columns.row_of.get(node_name)
            if row is not None:
                node = self.nodes[node_name]
                info = self._described(node, usage)
                self.nodes[node_name] = info
                self.columns.replace_usage(row, info, usage)
        return usage

    def _described(self, node: Node, usage: NodeUsage) -> Node:
        """The node as it is kept: with what is known here of its pods and devices."""
        devices = NOTHING_PUBLISHED if self.devices and not self._shows_devices else self.devices
        if self._has_pods:
            return NodeInfo.of(node, usage, devices)
        return without_usage(node, devices)

    def _show_devices(self) -> None:
        """Let the nodes show this cluster's devices, and not those of one it was forked from."""
        self._shows_devices = True
        columns = self.columns
        for row, node in enumerate(columns.nodes):
            info = self.nodes[node.name] = self._described(node, columns.usage(row))
            columns.replace_usage(row, info, columns.usage(row))

    def _owned_usage_at(self, row: int) -> NodeUsage:
        usage = self.columns.usage(row)
        if usage.owner is not self.columns.table.owner:
            usage = self._owned_usage(self.columns.nodes[row].name)
        return usage

    def _info(self, key: str, pod: Pod) -> PodInfo:
        """What is held of a newer version of a pod."""
        old = self._pods.entries.get(key)
        return PodInfo(pod, self.shapes) if old is None else old.replaced_by(pod)

    def _put_alike(self, key: str, pod: Pod) -> bool:
        """Replace a pod on a node by a newer version that surely counts the same, if it is one.

        As when a pod that was assumed is seen on its node, or its status changes.
        """
        old = self._pods.entries.get(key)
        if old is None or pod.finished or not old.counts_like(pod):
            return False
        self._placements += 1
        info = PodInfo(pod, self.shapes, old.compiled)
        node_name = pod.spec.node_name or ""
        self._pods.writable()[key] = info
        if self._owned_usage(node_name).replace(key, info):
            row = self.columns.row_of.get(node_name)
            if row is not None:
                self.columns.touch(row)
        return True

    def _replace(self, key: str, info: PodInfo | None) -> None:
        old = self._pods.entries.get(key)
        before = old.pod.spec.node_name if old is not None else None
        pod = info.pod if info is not None else None
        after = pod.spec.node_name if pod is not None else None
        if before or after:
            self._placements += 1
        if info is not None and after:
            _ = info.shape  # an impossible quantity raises here, before anything changed
        if old is not None:
            if pod is None or pod.uid != old.pod.uid:
                self._by_uid.writable().pop(old.pod.uid, None)
                self.pods_gone += 1
            if before:
                self._leave(key, before)
        if info is None or pod is None:
            self.nominations.remove(key)
            if old is not None:
                del self._pods.writable()[key]
            return
        if pod.uid:
            self._by_uid.writable()[pod.uid] = key
        if after:
            self._come(key, info, after)
            return
        self.nominations.remove(key)
        if pod.status.nominated_node_name:
            self.nominations.put(pod, pod.status.nominated_node_name)
        self._pods.writable()[key] = info

    def _come(self, key: str, info: PodInfo, node_name: str) -> None:
        """A pod that was on no node is on one."""
        if self.nominations.by_pod:
            self.nominations.remove(key)
        usage = self._usage.get(node_name)
        if usage is None or usage.owner is not self.columns.table.owner:
            usage = self._owned_usage(node_name)
        usage.add(key, info)
        row = self.columns.row_of.get(node_name)
        if row is not None:
            self._count(row, info, 1)
        self._pods.writable()[key] = info

    def _leave(self, key: str, node_name: str) -> None:
        usage = self._owned_usage(node_name)
        info = usage.remove(key)
        row = self.columns.row_of.get(node_name)
        if row is not None:
            self._count(row, info, -1)
        elif not usage:
            del self._usage[node_name]

    def _count(self, row: int, info: PodInfo, sign: int) -> None:
        """Count a pod in a row, or no more: every number that depends on pods changes here."""
        shape = info.compiled or info.shape
        self.columns.count_pod(row, shape.spec, sign)
        for port in shape.host_ports:
            self.columns.count_port(row, port, sign)
        self.pod_counts.count(shape, row, sign, terminating=info.pod.deleting)
        for term in shape.anti_affinity:
            self.anti_affinity.count(term.key, term, 0, row, sign)
        for term in shape.affinity:
            self.affinity.count(term.key, term, 0, row, sign)
        for weighted in shape.preferred:
            self.preferred.count(weighted.key, weighted.term, weighted.weight, row, sign)
        for claim in shape.claims:
            claims = self._claims.writable()
            claims[claim] = claims.get(claim, 0) + sign
            if not claims[claim]:
                del claims[claim]
