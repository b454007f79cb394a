"""An extender that does everything right, except for one fault that a test switches on.

A small HTTP server of its own, so that it can also be wrong about connections. `faults` has the
faults: functions on what it would have answered.
"""

import asyncio
import json
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Answered(NamedTuple):
    """What is sent back."""

    body: bytes
    status: int = 200
    headers: tuple[str, ...] = ()


#: Changes an answer; knows the request.
Change = Callable[[dict[str, Any], Any], Any]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that is wrong.

    Attributes:
        verb: where.
        checks: the ids of the checks that have to fail, and no others.
        mode: the mode in which it shows.
        change: changes the answer, or raises to fail with status 500.
        send: changes the bytes that are sent.
        raw: answers a body before it is read as JSON; None goes on.
        serial: serves one connection at a time.
        hangs: never answers such a request.
        seconds: the ``httpTimeout`` of the test.
        plan: what the test has to say besides.
    """

    verb: str
    checks: set[str]
    mode: str = "names"
    change: Change | None = None
    send: Callable[[Answered], Answered] | None = None
    raw: Callable[["WrongExtender", bytes], Answered | None] | None = None
    serial: bool = False
    hangs: Callable[[dict[str, Any]], bool] | None = None
    seconds: float = 30.0
    plan: dict[str, Any] = field(default_factory=dict)


class WrongExtender:
    """Serves all verbs, with at most one fault."""

    def __init__(self, fault: Fault | None = None) -> None:
        self.fault = fault
        self.url = ""
        self.asked: list[tuple[str, bytes]] = []
        self.broken = False
        self.cut_off = False
        self.number = 0
        self.last: dict[str, Any] = {}
        self._turn = asyncio.Lock()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        serial = self.fault is not None and self.fault.serial
        try:
            if serial:
                async with self._turn:
                    await self._requests(reader, writer)
            else:
                await self._requests(reader, writer)
        except asyncio.IncompleteReadError as error:
            self.cut_off |= bool(error.partial)
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            lines = head.decode().split("\r\n")
            path = lines[0].split(" ")[1]
            sizes = [line for line in lines if line.lower().startswith("content-length:")]
            body = await reader.readexactly(int(sizes[0].split(":")[1]) if sizes else 0)
            self.asked.append((path, body))
            found = await self.answer(path.rpartition("/")[2], body)
            headers = "".join(f"{one}\r\n" for one in found.headers)
            start = f"HTTP/1.1 {found.status} X\r\nContent-Length: {len(found.body)}\r\n"
            writer.write(f"{start}{headers}\r\n".encode() + found.body)
            await writer.drain()
            if "Connection: close" in found.headers:
                return

    async def answer(self, verb: str, body: bytes) -> Answered:
        """Answer a request, rightly but for the fault."""
        right = {"filter": _filter, "prioritize": _prioritize, "preempt": _preempt, "bind": _bind}
        if verb not in right:
            return Answered(b"no such verb", 404)
        fault = self.fault if self.fault is not None and self.fault.verb == verb else None
        if fault is not None and fault.raw is not None:
            found = fault.raw(self, body)
            if found is not None:
                return found
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            return Answered(b"no JSON", 400)
        try:
            value = right[verb](request)
            if fault is not None and fault.hangs is not None and fault.hangs(request):
                await asyncio.Event().wait()
            if fault is not None and fault.change is not None:
                value = fault.change(request, value)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return Answered(str(error).encode(), 500)
        if isinstance(value, Answered):
            return value
        if fault is not None and fault.checks == {"concurrency"}:
            value = await self._mixed(value)
        sent = Answered(value if isinstance(value, bytes) else json.dumps(value).encode())
        return sent if fault is None or fault.send is None else fault.send(sent)

    async def _mixed(self, value: Any) -> Any:
        """Answers with what the last request left, if another one came in the meantime."""
        self.last = value
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return self.last


def nodes_of(request: dict[str, Any]) -> list[str]:
    _typed(request.get("Pod") or {}, dict)
    if request.get("NodeNames") is not None:
        return list(_typed(request["NodeNames"], list))
    nodes = _typed(request.get("Nodes") or {}, dict)
    return [one["metadata"]["name"] for one in nodes.get("items") or []]


def _typed(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


def _filter(request: dict[str, Any]) -> Any:
    names = nodes_of(request)
    kept = [name for name in names if not name.endswith("3")]
    failed = {name: "its name ends in 3" for name in names if name.endswith("3")}
    whole = request.get("Nodes")
    items = [one for one in (whole or {}).get("items") or [] if one["metadata"]["name"] in kept]
    return {
        "Nodes": None if whole is None else {"items": items},
        "NodeNames": kept if whole is None else None,
        "FailedNodes": failed,
        "Error": "",
    }


def _prioritize(request: dict[str, Any]) -> Any:
    return [{"Host": name, "Score": len(name) % 11} for name in nodes_of(request)]


def _preempt(request: dict[str, Any]) -> Any:
    _typed(request.get("Pod") or {}, dict)
    found = {}
    for kind in ("NodeNameToMetaVictims", "NodeNameToVictims"):
        for node, one in _typed(request.get(kind) or {}, dict).items():
            ids = [pod.get("UID") or pod["metadata"]["uid"] for pod in one["Pods"] or []]
            if ids:
                found[node] = {
                    "Pods": [{"UID": one} for one in ids],
                    "NumPDBViolations": min(one["NumPDBViolations"], len(ids)),
                }
    return {"NodeNameToMetaVictims": found}


def _bind(request: dict[str, Any]) -> Any:
    return {"Error": f"pods {json.dumps(request.get('PodName'))} not found"}


@asynccontextmanager
async def serving(
    fault: Fault | None = None, tls: ssl.SSLContext | None = None, port: int = 0
) -> AsyncIterator[WrongExtender]:
    """Run an extender, on a free port unless one is given."""
    extender = WrongExtender(fault)
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(extender.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", port, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    extender.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield extender
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def serving_apart(
    fault: Fault | None = None, tls: ssl.SSLContext | None = None, port: int = 0
) -> Iterator[WrongExtender]:
    """The same in a thread of its own, for tests of the command line."""
    loop = asyncio.new_event_loop()
    ready, end = threading.Event(), asyncio.Event()
    found: list[WrongExtender] = []

    async def serve() -> None:
        async with serving(fault, tls, port) as extender:
            found.append(extender)
            ready.set()
            await end.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(60)
        yield found[0]
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(60)
        loop.close()
