"""What the scheduler's fault tests share: large fleets, an audit of who bound what, broken lines.

The audit log is the judge: the API server writes down every Binding and every write of a Lease with
its author and its time, whatever became of the scheduler that sent it.
"""

import asyncio
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from mooring.errors import ApiError
from mooring.testing.child_process import Startable
from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import BaseControlPlane, free_port, node, wait_for
from tests.e2e.pod_helpers import pod

SCHEDULER = "default-scheduler"
#: Nobody waits so long; a loaded machine may take a good part of it.
PATIENCE = 120.0


# -- who did what


class AuditedWrite(NamedTuple):
    """A Binding or a write of a Lease that the API server answered.

    Attributes:
        user: who sent it.
        name: the pod's or the Lease's.
        status: the HTTP status of the answer.
        came: when the request arrived, in seconds since 1970.
        went: when it was answered.
        body: what was sent.
    """

    user: str
    name: str
    status: int
    came: float
    went: float
    body: dict[str, Any]

    @property
    def done(self) -> bool:
        """Whether it took effect."""
        return self.status < 300

    @property
    def uid(self) -> str:
        """The unique id of the pod that a Binding is for."""
        # A request that was rejected at once is written down without its body.
        return str(self.body.get("metadata", {}).get("uid", ""))

    @property
    def node(self) -> str:
        """The node that a Binding is for."""
        return str(self.body["target"]["name"])

    @property
    def holder(self) -> str:
        """Who holds the Lease after this write."""
        return str(self.body["spec"].get("holderIdentity") or "")


class AuditLog:
    """The API server's account of what happened, in the order of the answers; one thread's."""

    def __init__(self, plane: BaseControlPlane) -> None:
        self._file = plane.audit_file
        self._offset = 0
        self._rest = b""
        self._bindings: list[AuditedWrite] = []
        self._leases: list[AuditedWrite] = []

    def bindings(self) -> list[AuditedWrite]:
        """All Bindings that were answered so far."""
        self._read()
        return self._bindings

    def leases(self, name: str) -> list[AuditedWrite]:
        """All writes of a Lease that were answered so far."""
        self._read()
        return [write for write in self._leases if write.name == name]

    def bound(self, user: str | None = None) -> list[AuditedWrite]:
        """The Bindings that took effect, those of one user if it is given."""
        return [one for one in self.bindings() if one.done and user in (None, one.user)]

    def _read(self) -> None:
        with self._file.open("rb") as file:
            file.seek(self._offset)
            content = file.read()
        self._offset += len(content)
        *lines, self._rest = (self._rest + content).split(b"\n")
        for line in lines:
            event = msgspec.json.decode(line)
            target = event["objectRef"]
            write = AuditedWrite(
                user=event["user"]["username"],
                name=target.get("name") or event["requestObject"]["metadata"]["name"],
                status=event["responseStatus"]["code"],
                came=_seconds(event["requestReceivedTimestamp"]),
                went=_seconds(event["stageTimestamp"]),
                body=event.get("requestObject") or {},
            )
            (self._leases if target["resource"] == "leases" else self._bindings).append(write)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


# -- many nodes and pods


def many_nodes(names: Iterable[str], **options: Any) -> list[dict[str, Any]]:
    """Manifests of equal nodes."""
    return [node(name, **options) for name in names]


def many_pods(names: Iterable[str], cpu: str = "1", **spec: Any) -> list[dict[str, Any]]:
    """Manifests of equal pods in the namespace `default` for the default scheduler."""
    requests = {"cpu": cpu, "memory": "64Mi"}
    # Without a kubelet, a pod that may take its time to end would never be gone.
    spec = {"terminationGracePeriodSeconds": 0, **spec}
    return [pod(name, "default", SCHEDULER, requests=requests, **spec) for name in names]


def each(action: Callable[[str], object], names: Iterable[str], threads: int = 8) -> None:
    """Do something for many names, several at a time; what is gone already does not matter."""

    def quietly(name: str) -> None:
        try:
            action(name)
        except ApiError as error:
            if error.status != 404:
                raise

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(quietly, names))


@contextmanager
def pod_stream(plane: BaseControlPlane, prefix: str, pause: float = 0.01) -> Iterator[None]:
    """Pods that are created one after the other for the time of the block."""
    ended = threading.Event()

    def create() -> None:
        number = 0
        while not ended.wait(pause):
            plane.create(many_pods([f"{prefix}-{number}"], cpu="10m")[0])
            number += 1

    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(create)
        try:
            yield
        finally:
            ended.set()
            stream.result()


# -- what must hold at the end


def wait_bound(audit: AuditLog, count: int) -> None:
    """Wait until so many Bindings took effect."""
    wait_for(lambda: len(audit.bound()) >= count, f"{count} pods to be bound", PATIENCE)


def wait_all_bound(plane: BaseControlPlane, count: int, seconds: float = PATIENCE) -> list[Any]:
    """All pods of the cluster, once there are so many and each has a node."""
    found: list[Any] = []

    def all_bound() -> bool:
        found[:] = plane.list_objects("Pod")
        return len(found) == count and all(one["spec"].get("nodeName") for one in found)

    wait_for(all_bound, f"{count} pods to be bound", seconds)
    return found


def check_bound_once(
    pods: Iterable[Mapping[str, Any]], audit: AuditLog, *, unwritten: bool = False
) -> None:
    """Each pod was bound by one Binding, and is where that one said.

    Args:
        pods: all pods that were ever bound and still exist.
        audit: what was written down.
        unwritten: the API server may have died before it wrote down a Binding.
    """
    sent: dict[str, list[AuditedWrite]] = {}
    for write in audit.bindings():
        sent.setdefault(write.uid, []).append(write)
    for one in pods:
        uid, where = one["metadata"]["uid"], one["spec"]["nodeName"]
        done = [write for write in sent.get(uid, ()) if write.done]
        assert len(done) <= 1
        # The Bindings of a scheduler that is gone end with 504 and may have taken effect.
        lost = [write for write in sent.get(uid, ()) if write.status == 504]
        assert unwritten or where in {write.node for write in done or lost}
        assert not done or done[0].node == where


def check_capacity(plane: BaseControlPlane, pods: Iterable[Mapping[str, Any]]) -> None:
    """No node carries more than it can."""
    used: Counter[tuple[str, str]] = Counter()
    for one in pods:
        name = one["spec"].get("nodeName", "")
        requests = one["spec"]["containers"][0]["resources"]["requests"]
        used[name, "pods"] += 1
        used[name, "cpu"] += _milli(requests["cpu"])
    over = []
    for listed in plane.list_objects("Node"):
        name, room = listed["metadata"]["name"], listed["status"]["allocatable"]
        cpu, count = used[name, "cpu"], used[name, "pods"]
        if cpu > _milli(room["cpu"]) or count > int(room["pods"]):
            over.append(f"{name}: {cpu}m of {room['cpu']} cpu, {count} of {room['pods']} pods")
    assert not over


def _milli(cpu: str) -> int:
    return int(Decimal(cpu[:-1])) if cpu.endswith("m") else int(Decimal(cpu) * 1000)


def check_nothing_left(pods: Iterable[Mapping[str, Any]], scheduler: MoorRun) -> None:
    """Nobody waits, nobody is nominated, and the scheduler's own state is that of the cluster."""
    pods = list(pods)
    nominated = [one for one in pods if one.get("status", {}).get("nominatedNodeName")]
    assert not nominated
    for one in pods:
        conditions = {each["type"]: each["status"] for each in one["status"].get("conditions", ())}
        assert conditions.get("PodScheduled") == "True"
    wait_for(lambda: not _waiting(scheduler), "the scheduler to know of every binding", PATIENCE)
    assert comparison(scheduler) == "the state matches the cluster"


def _waiting(scheduler: MoorRun) -> list[str]:
    """The metrics that say that something is waiting or under way."""
    names = ("scheduler_pending_pods{", 'scheduler_cache_size{type="assumed_pods"}')
    lines = [one for one in scheduler.metrics().splitlines() if one.startswith(names)]
    assert len(lines) > len(names)
    return [line for line in lines if float(line.rpartition(" ")[2]) > 0]


def comparison(scheduler: MoorRun) -> str:
    """What the scheduler says when it compares its state with the cluster, without the numbers."""
    text = "the state "
    before = scheduler.log().count(text)
    scheduler.send(signal.SIGUSR2)
    wait_for(lambda: scheduler.log().count(text) > before, "the state to be compared", PATIENCE)
    tail = scheduler.log().rpartition(text)[2]
    return text + ("matches the cluster" if tail.startswith("matches the cluster:") else tail)


# -- faults


class CuttableConnection(Startable):
    """A connection to the API server that can be cut, for one kubeconfig.

    Attributes:
        kubeconfig: of the user who connects through this line.
        refused: how many connections were refused while it was cut.
    """

    def __init__(self, plane: BaseControlPlane, user: str = "behind-a-line") -> None:
        self._plane = plane
        self._port = free_port()
        direct = plane.kubeconfig_for(user, ["system:masters"])
        here = plane.url.replace(str(plane.port), str(self._port))
        config = direct.read_text().replace(plane.url, here)
        self.kubeconfig = direct.with_suffix(".line.kubeconfig")
        self.kubeconfig.write_text(config)
        self.refused = 0
        self._cut = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self) -> None:
        """Listen."""
        self._thread.start()
        self._run(self._listen())

    def stop(self) -> None:
        """Close everything."""
        self.cut()
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        """Break all connections, and refuse others until `mend`."""
        self._run(self._break())

    def mend(self) -> None:
        """Let connections through again."""
        self._cut = False

    def _run(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)

    async def _close(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _break(self) -> None:
        self._cut = True
        for writer in list(self._writers):
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._cut:
            self.refused += 1
            writer.transport.abort()
            return
        try:
            there, onward = await asyncio.open_connection("127.0.0.1", self._plane.port)
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(self._pump(reader, onward), self._pump(there, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(OSError):
            while data := await reader.read(2**16):
                writer.write(data)
                await writer.drain()
        self._writers.discard(writer)
        writer.close()
