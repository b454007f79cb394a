"""Loading a policy again when one of its files changes; for ``--reload``.

A broken file leaves the old policy in service. A file may run anything when it is loaded, so that
happens on a thread that holds up nobody, not even the end. Who runs the policy takes the new one,
at a moment of its own choice.

A file that does not finish loading is given up. If it computes, it is interrupted until it ends; if
it waits, its thread stays behind and costs nothing. With too many of those, nothing is loaded until
one of them ends.
"""

import asyncio
import contextlib
import importlib.util
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from mooring.errors import InputError
from mooring.framework import foreign
from mooring.framework.loading import forget, load, source_files
from mooring.framework.policy import Policy
from mooring.process.computing_threads import AbandonedThreads

log = logging.getLogger("mooring.policy")

T = TypeVar("T")
#: How one version of each file differs from another: time, size and number.
Stamps = dict[Path, tuple[int, int, int]]

#: A file that takes longer to load is left behind; it may hang for ever.
_LOAD_SECONDS: Final = 30.0
#: So many threads may be left behind.
_MOST_ABANDONED: Final = 3


async def reload(
    source: str,
    replace: Callable[[Policy], None],
    seconds: float = 0.5,
    load_seconds: float = _LOAD_SECONDS,
) -> None:
    """Load the policy again whenever one of its files changes; a broken one is not taken.

    Args:
        source: where the policy is, as `load` takes it.
        replace: takes the new policy.
        seconds: between two looks at the files.
        load_seconds: how long loading may take.
    """
    # Files are never left out again: one that cannot be imported now may be mended.
    files = set(source_files(source))
    stamps = _stamps(files)
    rejected: Stamps = {}
    abandoned = AbandonedThreads()
    while True:
        await asyncio.sleep(seconds)
        left = abandoned.look()
        files.update(source_files(source))
        if _stamps(files) == stamps:
            continue
        now = await settled(lambda: _stamps(files), seconds / 2)
        if now == stamps:
            continue
        if left >= _MOST_ABANDONED:
            if now != rejected:
                log.error(
                    "kept the old policy: %d earlier versions of %s are still loading and cannot "
                    "be interrupted; restart the process to load this one",
                    left, source,
                )  # fmt: skip
            rejected = now
            continue
        stamps = now
        loading = _Loading(source, files)
        try:
            policy = await asyncio.wait_for(loading.done, load_seconds)
        except TimeoutError:
            abandoned.add(loading.thread)
            log.error(  # noqa: TRY400
                ("kept the old policy: %s is still loading after %g seconds; fix it to load it "
                "again"),
                source, load_seconds,
            )  # fmt: skip
            continue
        except InputError as error:
            log.error("kept the old policy: %s", error)  # noqa: TRY400 - the sentence says it all
            continue
        except Exception:
            log.exception("kept the old policy: %s could not be loaded", source)
            continue
        replace(policy)


class _Loading:
    """A policy that is loaded on a thread which does not hold up the end: it may run anything.

    Args:
        source: where the policy is.
        files: its files.

    Attributes:
        done: has the policy in the end.
        thread: loads it.
    """

    def __init__(self, source: str, files: set[Path]) -> None:
        self._source = source
        self._files = files
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[Policy] = self._loop.create_future()
        self.thread = threading.Thread(target=self._load, name="load", daemon=True)
        self.thread.start()

    def _load(self) -> None:
        policy, problem = None, None
        try:
            policy = _load_again(self._source, self._files)
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            problem = error
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._finish, policy, problem)

    def _finish(self, policy: Policy | None, problem: BaseException | None) -> None:
        if self.done.done():
            return
        if policy is not None:
            self.done.set_result(policy)
        else:
            self.done.set_exception(problem if isinstance(problem, Exception) else InputError(
                f"{self._source} tried to end the process: {foreign.text_of(problem, repr)}"
            ))  # fmt: skip


async def settled(look: Callable[[], T], seconds: float) -> T:
    """What is seen twice in a row: a file that is half written may be a policy, but not the one.

    Args:
        look: sees something.
        seconds: between two looks.
    """
    before = look()
    while True:
        await asyncio.sleep(seconds)
        now = look()
        if now == before:
            return now
        before = now


def _stamps(files: set[Path]) -> Stamps:
    found = {}
    for path in files:
        with contextlib.suppress(OSError):
            state = path.stat()
            found[path] = state.st_mtime_ns, state.st_size, state.st_ino
    return found


def _load_again(source: str, files: set[Path]) -> Policy:
    for file in files:
        # Bytecode is told from old by whole seconds; a file may be written twice in one.
        with contextlib.suppress(OSError):
            Path(importlib.util.cache_from_source(str(file))).unlink()
    forget(files)
    return load(source)
