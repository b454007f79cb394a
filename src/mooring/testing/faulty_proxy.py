"""A proxy between clients and their API servers that makes things go wrong, by script and seed.

For people who test a scheduler, a controller or any other client of Kubernetes; mooring's own fault
tests use it. It runs in a thread of this process, listens on 127.0.0.1 and speaks HTTP/1.1. It does
not carry upgraded connections: exec, attach and port-forward get a 501.
"""

import asyncio
import contextlib
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar

import msgspec

from mooring.errors import InputError
from mooring.testing.child_process import Startable, free_port
from mooring.testing.fault_script import FaultScript, Strike
from mooring.testing.fault_target import FaultTarget
from mooring.testing.faults import Fault

if TYPE_CHECKING:
    from mooring.testing.certificates import Authority
    from mooring.testing.faulty_forwarding import ProxiedRequest
    from mooring.testing.faulty_listener import Listener

T = TypeVar("T")

_SECONDS: Final = 30.0


class FaultyProxy(Startable):
    """A proxy between clients and API servers that injects faults.

    Use it with ``with``, or call `start` and `stop`. Each client has its own path through the
    proxy, with its own credentials: the API server sees the client, not the proxy. Initially there
    are not faults; `set` sets them. All methods may be called from any thread.

    Args:
        seed: the same seed and the same requests give the same faults.
        journal: a file that gets one line of JSON per request, with its time, its client, the fault
        it met and its ID in the API server's audit log.
    """

    def __init__(self, seed: int = 0, *, journal: Path | str | None = None) -> None:
        self._seed = seed
        self._journal = Path(journal) if journal is not None else None
        self._lock = threading.Lock()
        self._script = FaultScript()
        self._counts: Counter[str] = Counter()
        self._passed = 0
        self._listeners: dict[str, Listener] = {}
        self._authority: Authority | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._folder: Path | None = None
        self._file: BinaryIO | None = None

    # -- its life

    def start(self) -> None:
        """Start the proxy; `through` then adds a client."""
        if self._loop is not None:
            raise InputError("The proxy is running already.")
        self._folder = Path(tempfile.mkdtemp(prefix="mooring-proxy-"))
        self._file = self._journal.open("ab") if self._journal is not None else None
        import uvloop  # noqa: PLC0415 - slow to import

        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="faulty-proxy", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Close all connections and stop; may be called more than once."""
        if self._loop is None or self._thread is None:
            return
        for listener in self._listeners.values():
            self._run(listener.close())
        self._listeners.clear()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = self._authority = None
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def through(
        self, kubeconfig: Path | str, *, client: str = "", context: str | None = None
    ) -> Path:
        """A kubeconfig that takes a client through the proxy, based on the client's own kubeconfig.

        The client keeps its credentials. Tokens are passed through; the proxy requests a client
        certificate and uses it for the API server, so that nobody else can use it.

        Args:
            kubeconfig: the client's own kubeconfig, of which one context is used.
            client: its name for `Requests.client`; if empty, the file's name without its extension.
            context: which context of the file; the current context if omitted.

        Raises:
            ConfigError: the kubeconfig cannot be used.
            InputError: the proxy is not running, or already has a client with this name.
        """
        from mooring.testing import faulty_listener  # noqa: PLC0415 - slow to import
        from mooring.testing.faulty_forwarding import Forwarding  # noqa: PLC0415

        kubeconfig = Path(kubeconfig)
        client = client or kubeconfig.name.partition(".")[0]
        if self._folder is None or self._loop is None:
            raise InputError("The proxy is not running; call start() first.")
        if client in self._listeners:
            raise InputError(f"The proxy already has a client {client!r}; use another name.")
        access = faulty_listener.read_client_config(kubeconfig, context)
        pair = None
        if access.config.secure:
            from mooring.testing.certificates import Authority  # noqa: PLC0415

            self._authority = self._authority or Authority(self._folder)
            pair = self._authority.server(f"proxy-for-{len(self._listeners)}")
        forwarding = Forwarding(client, access.config, self._decide, self._note)
        listener = faulty_listener.Listener(
            forwarding, free_port(), pair, access.client_certificate
        )
        self._run(listener.open())
        self._listeners[client] = listener
        file = self._folder / f"{client}.kubeconfig"
        authority = self._authority.file if self._authority is not None and pair else None
        faulty_listener.write_proxy_kubeconfig(file, access, listener.url, authority)
        return file

    # -- what goes wrong

    def set(self, *faults: Fault) -> None:
        """Replace all faults; the counts of `times` and `skip` start again.

        Requests in progress are not affected: a request that is being delayed stays delayed.

        Args:
            faults: for each request and event, the first fault that applies is used.

        Raises:
            InputError: one of them is not a fault, such as a list of faults.
        """
        for one in faults:
            if not isinstance(one, Fault):
                raise InputError(
                    f"proxy.set takes faults as separate arguments, not a {type(one).__name__}: "
                    "proxy.set(Fault.drop(), Fault.cut())."
                )
        with self._lock:
            self._script = FaultScript(faults, self._seed)

    def clear(self) -> None:
        """Remove all faults."""
        self.set()

    def cut(self, *clients: str) -> None:
        """Close all connections and refuse new ones until `mend`; for all clients if none is named.

        The port is closed, so a client gets "connection refused".
        """
        for listener in self._of(clients):
            self._run(listener.cut())

    def mend(self, *clients: str) -> None:
        """Accept connections again after `cut`; for all clients if none is named."""
        for listener in self._of(clients):
            self._run(listener.mend())

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each kind of fault has happened since the start, such as ``{"cut": 3}``."""
        with self._lock:
            return dict(self._counts)

    @property
    def requests(self) -> int:
        """The number of requests since the start."""
        return self._passed

    # -- on the loop

    def _decide(self, target: FaultTarget) -> Strike | None:
        with self._lock:
            strike = self._script.decide(target)
            if strike is not None:
                self._counts[strike.fault.kind] += 1
            return strike

    def _note(self, passed: "ProxiedRequest") -> None:
        self._passed += 1
        if self._file is not None:
            self._file.write(msgspec.json.encode(passed._asdict()) + b"\n")
            self._file.flush()

    def _of(self, clients: tuple[str, ...]) -> "list[Listener]":
        unknown = set(clients) - self._listeners.keys()
        if unknown:
            raise InputError(f"The proxy has no client {', '.join(sorted(unknown))}.")
        return [self._listeners[name] for name in clients or self._listeners]

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Have something done on the proxy's loop, and wait for it."""
        if self._loop is None:
            work.close()
            raise InputError("The proxy is not running; call start() first.")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        with contextlib.suppress(TimeoutError):
            return future.result(_SECONDS)
        raise InputError(f"The proxy did not finish within {_SECONDS:g}s.")
