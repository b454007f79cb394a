"""Part `wire`: the same requests in turn to the Go extender and to `moor serve`.

Called by `__main__`. Both servers of a case are fresh processes. The client sends one request at
a time, first to one server and then the very same to the other, so that noise hits both alike.
"""

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.extender import bodies, replies
from benchmarks.extender.client import Client
from benchmarks.process import Server, moor_command
from benchmarks.reporting import percentile

_HERE = Path(__file__).parent
_SPARE_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class Size:
    """How many nodes a request carries, and how often it is sent."""

    label: str
    nodes: int
    whole: bool
    requests: int
    warm_ups: int
    #: Rest before each request, in which Go's collector finishes what it began.
    pause_seconds: float


@dataclass(frozen=True, slots=True)
class Verb:
    """One question to both servers."""

    name: str
    go_path: str
    mooring_path: str
    policy: str

    @property
    def reply(self) -> str:
        """What the reply is of."""
        return self.name.removesuffix("_nodes").replace("score", "prioritize")


class Side(msgspec.Struct):
    """What was measured of one server in one case."""

    p50_ms: float
    p99_ms: float
    cold_ms: float
    cpu_ms: float
    peak_memory_mb: float
    reply_bytes: int


class WireResult(msgspec.Struct):
    """One case: a size and a verb, measured for both servers."""

    case: str
    nodes: int
    whole: bool
    verb: str
    requests: int
    request_bytes: int
    go: Side
    mooring: Side
    #: How many times faster mooring's median is, and the same for the 99th percentile.
    times_faster: float
    times_faster_p99: float

    @property
    def cpu_ratio(self) -> float:
        """Mooring's CPU time divided by that of Go."""
        return self.mooring.cpu_ms / self.go.cpu_ms


_WHOLE, _NAMES, _PLURAL = "policy.py", "policy_names.py", "policy_names_plural.py"
_WHOLE_VERBS = (
    Verb("filter", "/filter", "/predicates/ssd", _WHOLE),
    Verb("prioritize", "/prioritize", "/priorities/by_name", _WHOLE),
    Verb("image_score", "/priorities/image_score", "/priorities/image_score", _WHOLE),
)
_NAME_VERBS = (
    Verb("filter", "/filter", "/predicates/not_seven", _NAMES),
    Verb("prioritize", "/prioritize", "/priorities/by_name", _NAMES),
    Verb("filter_nodes", "/filter", "/predicates/not_seven", _PLURAL),
    Verb("score_nodes", "/prioritize", "/priorities/by_name", _PLURAL),
)


def sizes(*, quick: bool) -> list[Size]:
    """The sizes to measure."""
    if quick:
        return [
            Size("100 nodes", 100, True, 40, 5, 0.002),
            Size("1,000 nodes", 1000, True, 16, 3, 0.01),
            Size("5,000 nodes", 5000, True, 8, 1, 0.03),
            Size("5,000 names", 5000, False, 80, 10, 0.002),
        ]
    return [
        Size("100 nodes", 100, True, 300, 30, 0.002),
        Size("1,000 nodes", 1000, True, 100, 8, 0.01),
        Size("5,000 nodes", 5000, True, 30, 3, 0.03),
        Size("5,000 names", 5000, False, 500, 50, 0.002),
    ]


def go_server(program: Path) -> Server:
    """A Go extender, not yet started."""
    return Server("the Go extender", [str(program), "-port", "{port}"], health="/healthz")


def mooring_server(policy: str, *options: str) -> Server:
    """A mooring server with a policy of this folder, not yet started."""
    fixed = ("--host", "127.0.0.1", "--port", "{port}", "--workers", "1", "--drain", "0")
    command = [*moor_command(), "serve", str(_HERE / policy), *fixed, *options]
    return Server("moor serve", command, health="/readyz")


def measure(program: Path, *, quick: bool, say: Callable[[str], None]) -> list[WireResult]:
    """Measure all cases; `say` is told what is going on."""
    results = []
    for size in sizes(quick=quick):
        say(f"wire: {size.label}, making the bodies")
        maker = bodies.whole_nodes if size.whole else bodies.names_only
        body = maker(program, size.nodes)
        buffer = bytearray(body.size + _SPARE_BYTES)
        for verb in _WHOLE_VERBS if size.whole else _NAME_VERBS:
            say(f"wire: {size.label}, {verb.name}")
            case = _Case(program, size, verb, body, buffer)
            results.append(case.run(1 if quick else 3))
    return results


@dataclass(slots=True)
class _Contender:
    """One of the two servers, with the connection to it."""

    server: Server
    client: Client
    path: str
    pause_seconds: float
    reply_bytes: int = 0

    def ask(self, body: bytes) -> int:
        time.sleep(self.pause_seconds)
        return self.client.post(self.path, body)

    def answer(self, body: bytes) -> bytes:
        self.ask(body)
        reply = self.client.body()
        self.reply_bytes = len(reply)
        return reply


class _Case:
    """Measures one size and verb."""

    def __init__(
        self, program: Path, size: Size, verb: Verb, body: bodies.Body, buffer: bytearray
    ) -> None:
        self._program = program
        self._size = size
        self._verb = verb
        self._body = body
        self._buffer = buffer

    def run(self, cold_runs: int) -> WireResult:
        """Start fresh servers `cold_runs` times; the last two of them answer all requests."""
        cold: list[list[int]] = []
        for _ in range(cold_runs - 1):
            with ExitStack() as stack:
                cold.append(self._round(self._start(stack)))
        with ExitStack() as stack:
            contenders = self._start(stack)
            cold.append(self._round(contenders))
            return self._warm(contenders, cold)

    def _start(self, stack: ExitStack) -> list[_Contender]:
        servers = (
            (go_server(self._program), self._verb.go_path),
            (mooring_server(self._verb.policy, "--no-node-cache"), self._verb.mooring_path),
        )
        contenders = []
        for server, path in servers:
            stack.enter_context(server)
            client = stack.enter_context(Client(server.port, self._buffer))
            contenders.append(_Contender(server, client, path, self._size.pause_seconds))
        return contenders

    def _round(self, contenders: list[_Contender]) -> list[int]:
        """Ask both the same; the nanoseconds they took."""
        body = self._body.advance()
        return [contender.ask(body) for contender in contenders]

    def _check(self, contenders: list[_Contender]) -> None:
        body = self._body.advance()
        go, mooring = (contender.answer(body) for contender in contenders)
        replies.check_same(self._verb.reply, go, mooring)

    def _warm(self, contenders: list[_Contender], cold: list[list[int]]) -> WireResult:
        self._check(contenders)
        for _ in range(self._size.warm_ups):
            self._round(contenders)
        before = [contender.server.cpu_ms() for contender in contenders]
        times = [self._round(contenders) for _ in range(self._size.requests)]
        after = [contender.server.cpu_ms() for contender in contenders]
        self._check(contenders)
        go, mooring = (
            Side(
                p50_ms=statistics.median(warm) / 1e6,
                p99_ms=percentile(warm, 0.99) / 1e6,
                cold_ms=statistics.median(first) / 1e6,
                cpu_ms=(end - start) / self._size.requests,
                peak_memory_mb=contender.server.peak_memory_mb(),
                reply_bytes=contender.reply_bytes,
            )
            for contender, warm, first, start, end in zip(
                contenders,
                zip(*times, strict=True),
                zip(*cold, strict=True),
                before,
                after,
                strict=True,
            )
        )
        return WireResult(
            case=self._size.label,
            nodes=self._size.nodes,
            whole=self._size.whole,
            verb=self._verb.name,
            requests=self._size.requests,
            request_bytes=self._body.size,
            go=go,
            mooring=mooring,
            times_faster=go.p50_ms / mooring.p50_ms,
            times_faster_p99=go.p99_ms / mooring.p99_ms,
        )
