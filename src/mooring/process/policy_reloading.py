"""Loading a policy again when one of its files changes; for ``--reload``.

A broken file leaves the old policy in service. A file may run anything when it is loaded, so that
happens on a thread that holds up nobody, not even the end. Who runs the policy takes the new one,
at a moment of its own choice.
"""

import asyncio
import contextlib
import importlib.util
import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from mooring.errors import InputError
from mooring.framework import foreign
from mooring.framework.loading import load, source_files
from mooring.framework.policy import Policy

log = logging.getLogger("mooring.policy")

#: A file that takes longer to load is left behind; it may hang for ever.
_LOAD_SECONDS: Final = 30.0


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
    while True:
        await asyncio.sleep(seconds)
        files.update(source_files(source))
        now = _stamps(files)
        if now == stamps:
            continue
        stamps = now
        try:
            policy = await asyncio.wait_for(_elsewhere(source, files), load_seconds)
        except TimeoutError:
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


async def _elsewhere(source: str, files: set[Path]) -> Policy:
    """Load the policy on a thread that does not hold up the end: its file may run anything."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Policy] = loop.create_future()

    def load_it() -> None:
        policy, problem = None, None
        try:
            policy = _load_again(source, files)
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            problem = error
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(finish, policy, problem)

    def finish(policy: Policy | None, problem: BaseException | None) -> None:
        if done.done():
            return
        if policy is not None:
            done.set_result(policy)
        else:
            done.set_exception(problem if isinstance(problem, Exception) else InputError(
                f"{source} tried to end the process: {foreign.text_of(problem, repr)}"
            ))  # fmt: skip

    threading.Thread(target=load_it, name="load", daemon=True).start()
    return await done


def _stamps(files: set[Path]) -> dict[Path, int]:
    found = {}
    for path in files:
        with contextlib.suppress(OSError):
            found[path] = path.stat().st_mtime_ns
    return found


def _load_again(source: str, files: set[Path]) -> Policy:
    for file in files:
        # Bytecode is told from old by whole seconds; a file may be written twice in one.
        with contextlib.suppress(OSError):
            Path(importlib.util.cache_from_source(str(file))).unlink()
    changed = set(map(str, files))
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) in changed:
            del sys.modules[name]
    return load(source)
