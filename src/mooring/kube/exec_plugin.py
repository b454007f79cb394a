"""Credentials from a program, as kubeconfig's ``exec`` asks for (ExecCredential v1, v1beta1).

`kubeconfig` makes an `ExecPlugin`; `client` asks it. The program runs once and its answer is kept
until it expires or the API server rejects it. Its output is secret: only the last line of its
standard error may appear in an error.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated

import msgspec

from mooring.errors import ConfigError
from mooring.kube.config_texts import shown
from mooring.kube.credentials import Credentials

API_VERSIONS = (
    "client.authentication.k8s.io/v1",
    "client.authentication.k8s.io/v1beta1",
)
INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")
TIME_LIMIT_SECONDS = 300.0  # a person may have to log in with a browser
_TAIL_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecSpec:
    """Which program to run, and how.

    Attributes:
        user: whose it is, for error sentences: ``user "me" of ~/.kube/config``.
        cluster_info: what ``provideClusterInfo`` tells the program; None when not asked for.
    """

    user: str
    command: str
    api_version: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"
    cluster_info: Mapping[str, object] | None = field(default=None, repr=False)


class _Status(msgspec.Struct, rename="camel"):
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


def _now() -> datetime:
    return datetime.now(UTC)


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


class ExecPlugin:
    """Runs the program when credentials are needed; never twice at the same time."""

    def __init__(
        self,
        spec: ExecSpec,
        *,
        now: Callable[[], datetime] = _now,
        is_terminal: Callable[[], bool] = _is_terminal,
    ) -> None:
        self.spec = spec
        self._now = now
        self._is_terminal = is_terminal
        self._lock = asyncio.Lock()
        self._value: Credentials | None = None
        self._expires: datetime | None = None

    def __repr__(self) -> str:
        return f"ExecPlugin({self.spec!r})"

    async def credentials(self) -> Credentials:
        """What the program said, from memory while it holds."""
        async with self._lock:
            if self._value is None or (self._expires is not None and self._now() > self._expires):
                await self._run()
            return self._value or Credentials()

    async def renew(self, rejected: Credentials) -> bool:
        """Run the program again, unless another request already did."""
        async with self._lock:
            if self._value is rejected:
                await self._run()
            return self._value != rejected

    def _error(self, problem: str) -> ConfigError:
        return ConfigError(
            f'The credential program "{shown(self.spec.command)}" of {self.spec.user} {problem}'
        )

    async def _run(self) -> None:
        output = await self._output()
        try:
            answer = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            # its text may quote the output, which is secret
            raise self._error(
                "did not print an ExecCredential; run it manually to see why."
            ) from None
        if answer.kind != "ExecCredential" or answer.api_version != self.spec.api_version:
            raise self._error(
                f"did not print an ExecCredential of {self.spec.api_version}; fix apiVersion "
                "in the kubeconfig."
            )
        status = answer.status
        if status is None or not (status.token or status.client_certificate_data):
            raise self._error(
                "returned neither a token nor a client certificate; run it manually to see why."
            )
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._error(
                "returned a client certificate without its key, or a key without its certificate."
            )
        if not status.token.isprintable():
            raise self._error("returned a token of more than one line; run it manually to see why.")
        self._expires = status.expiration_timestamp
        self._value = Credentials(
            authorization=f"Bearer {status.token}" if status.token else "",
            certificate=status.client_certificate_data.encode(),
            key=status.client_key_data.encode(),
        )

    async def _output(self) -> bytes:
        spec = self.spec
        interactive = spec.interactive_mode != "Never" and self._is_terminal()
        if spec.interactive_mode == "Always" and not interactive:
            raise self._error("needs a terminal, and there is none; use another user.")
        info: dict[str, object] = {"interactive": interactive}
        if spec.cluster_info is not None:
            info["cluster"] = spec.cluster_info
        request = {"apiVersion": spec.api_version, "kind": "ExecCredential", "spec": info}
        env = {
            **os.environ,
            **spec.env,
            "KUBERNETES_EXEC_INFO": msgspec.json.encode(request).decode(),
        }
        try:
            process = await asyncio.create_subprocess_exec(
                spec.command,
                *spec.args,
                env=env,
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except FileNotFoundError:
            hint = _one_line(spec.install_hint) or "install it or put it on the PATH."
            raise self._error(f"was not found: {hint}") from None
        except OSError as error:
            raise self._error(f"cannot be started: {error.strerror}.") from None
        except ValueError:
            raise self._error(
                "cannot be started: its name, an argument or a variable contains a character "
                "that cannot be passed to a program."
            ) from None
        try:
            async with asyncio.timeout(TIME_LIMIT_SECONDS):
                output, tail, code = await asyncio.gather(
                    _all(process.stdout), _tail(process.stderr, echo=interactive), process.wait()
                )
        except TimeoutError:
            raise self._error(f"did not end within {TIME_LIMIT_SECONDS:.0f}s.") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if code:
            lines = tail.decode(errors="replace").strip().splitlines()
            said = f": {_one_line(lines[-1])}" if lines else " and printed nothing."
            raise self._error(f"failed with exit code {code}{said}")
        return output


async def _all(stream: asyncio.StreamReader | None) -> bytes:
    return b"" if stream is None else await stream.read()


async def _tail(stream: asyncio.StreamReader | None, *, echo: bool) -> bytes:
    """The last bytes of a stream; a person at a terminal sees all of it as it comes."""
    tail = b""
    while stream is not None and (chunk := await stream.read(_TAIL_BYTES)):
        tail = (tail + chunk)[-_TAIL_BYTES:]
        if echo:
            sys.stderr.write(chunk.decode(errors="replace"))
            sys.stderr.flush()
    return tail


def _one_line(text: str) -> str:
    """The text without line breaks and control characters, at most 300 characters."""
    words = " ".join(text.split())
    return "".join(c for c in words if c.isprintable())[:300]
