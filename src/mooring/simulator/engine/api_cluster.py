"""The cluster beside the scheduler: objects, controllers and kubelets, in process.

Everything is the embedded cluster's own: its API with defaults and validation, its controllers, its
kubelet; only time is virtual, and nothing goes over a socket. What the scheduler would see in its
watches is collected as changes. What becomes of the pods of nodes that are tainted or gone is not
the business of these controllers here, because not all pods live here (see `node_evictions`).
There is no garbage collector: nothing deletes owners, and snapshots do not have all of them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from mooring.embedded.api import Api
from mooring.embedded.built_in_objects import create_built_in_objects
from mooring.embedded.controllers.all_controllers import all_controllers
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.garbage_collector import GarbageCollector
from mooring.embedded.controllers.nodes.taint_eviction import TaintEvictionController
from mooring.embedded.controllers.pod_index import PodIndex
from mooring.embedded.controllers.root_ca_publisher import RootCAPublisher
from mooring.embedded.controllers.workqueue import WorkQueue
from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import BY_KIND, NODES, RESOURCES, Obj, Resource
from mooring.embedded.store import Store
from mooring.embedded.watch_history import WatchEvent
from mooring.model.change import Change, Gone, Put
from mooring.model.kinds import find_kind
from mooring.model.meta import KubeObject
from mooring.simulator.engine.answering_kubelet import AnsweringKubelet
from mooring.simulator.engine.unreachable_nodes import UnreachableNodes

#: Virtual time begins here: seconds since 1970 of 1 January 2026, 00:00 UTC.
EPOCH: Final = 1_767_225_600.0
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
#: Has no divisor in common with the number of suffixes, so that each comes once.
_STRIDE: Final = 5_039_081
#: Nobody watches over a socket, so nobody falls behind.
_HISTORY: Final = 16
_LEFT_OUT: Final = (TaintEvictionController, RootCAPublisher, GarbageCollector)
#: More reconciliations at one moment mean that controllers quarrel for ever.
_MOST_AT_ONCE: Final = 5_000_000


class Ids:
    """Unique ids and ends of names, counted: the same every time."""

    def __init__(self) -> None:
        self._ids = 0
        self._suffixes = 0

    def new_id(self) -> str:
        """The unique id of a new object."""
        self._ids += 1
        return f"00000000-0000-4000-8000-{self._ids:012x}"

    def suffix(self) -> str:
        """Five characters for the end of a name."""
        self._suffixes += 1
        number = self._suffixes * _STRIDE
        text = ""
        for _ in range(5):
            number, letter = divmod(number, len(_LETTERS))
            text += _LETTERS[letter]
        return text


class ApiCluster:
    """Objects, controllers and kubelets.

    Args:
        now: the virtual time, in seconds since the beginning.
        kubelet: how pods behave.
        unreachable: the nodes whose kubelets do nothing.
        keep_source: whether policies may read fields of objects that scheduling does not.

    Attributes:
        api: the API without HTTP.
        ids: of all objects, also of those that do not live here.
        changes: what a scheduler has not seen yet; whoever feeds one empties it.
    """

    def __init__(
        self,
        now: Callable[[], float],
        kubelet: KubeletSettings,
        unreachable: UnreachableNodes,
        *,
        keep_source: bool = False,
    ) -> None:
        self._now = now
        self._keep_source = keep_source
        self.ids = Ids()
        self.changes: list[Change[Any]] = []
        store = Store(history=_HISTORY)
        self.api = Api(
            store,
            clock=lambda: EPOCH + now(),
            new_id=self.ids.new_id,
            suffix=self.ids.suffix,
        )
        pods = PodIndex()
        client = ControllerClient(self.api, "kubelet", manager="kubelet", events=False)
        controllers = [
            AnsweringKubelet(client, pods, kubelet, unreachable),
            *(
                one
                for one in all_controllers(self.api, pods, events=False)
                if not isinstance(one, _LEFT_OUT)
            ),
        ]
        self.pod_index = pods
        for resource in RESOURCES:
            kind = find_kind(resource.kind, resource.api_version)
            if kind is not None:
                store.listen(resource, partial(self._changed, kind.type))
        self._work = WorkQueue(store, controllers, pods)
        create_built_in_objects(self.api)

    def settle(self) -> None:
        """Let controllers and kubelets do what is to be done now."""
        self._work.run(EPOCH + self._now(), _MOST_AT_ONCE)

    @property
    def busy(self) -> bool:
        """Whether something is to be done now."""
        due = self._work.next_due()
        return due is not None and due <= EPOCH + self._now()

    def next_time(self) -> float | None:
        """The virtual time when something is to be done; None for not until something changes."""
        due = self._work.next_due()
        return None if due is None else max(due - EPOCH, 0.0)

    def restore(self, obj: Obj) -> None:
        """Put an object here as it is, with its status; kinds that nobody knows are left out.

        Raises:
            StatusError: something in it is wrong, or it is here already.
        """
        resource = resource_of(obj)
        if resource is not None:
            self.api.restore(resource, obj)

    def change_node(self, name: str, change: Callable[[Obj], None], subresource: str = "") -> bool:
        """Change a node in place; whether there is one of this name."""
        item = self.api.store.get(NODES, "", name)
        if item is None:
            return False
        obj = item.obj
        change(obj)
        self.api.update(NODES, obj, "", name, subresource=subresource)
        return True

    def _changed(self, kind: type[KubeObject], event: WatchEvent) -> None:
        thing = kind.from_json(event.item.body, keep_source=self._keep_source)
        self.changes.append(Gone(thing) if event.type == "DELETED" else Put(thing))


def resource_of(obj: Obj) -> Resource | None:
    """The resource that an object belongs to; None if there is no such one."""
    return BY_KIND.get((str(obj.get("apiVersion", "")), str(obj.get("kind", ""))))
