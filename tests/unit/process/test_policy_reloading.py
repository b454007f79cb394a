"""Loading a policy again while something else runs."""

import asyncio
import logging
import os
import threading
from pathlib import Path

import pytest

from mooring.framework.policy import Policy
from mooring.process.policy_reloading import reload, settled
from tests.unit.extender.asgi import eventually

#: For policy files that wait.
GATES: dict[str, threading.Event] = {}
POLICY = """
import mooring as mr
policy = mr.Policy("{}")
@policy.filter
def fine(pod, node):
    return True
"""


async def new_one_taken(file: Path, taken: list[Policy], caplog: pytest.LogCaptureFixture) -> None:
    """Wait for the new policy; if a busy machine loads it too slowly, write it again."""

    def late() -> int:
        return caplog.text.count("is still loading after")

    before = late()
    while not taken:
        await eventually(lambda: bool(taken) or late() > before)  # noqa: B023
        if late() > before:
            before = late()
            file.write_text(POLICY.format("new"))  # noqa: ASYNC240


def test_a_file_is_not_loaded_while_it_is_being_written() -> None:
    seen = iter(["half", "more", "nearly", "whole", "whole", "other"])
    assert asyncio.run(settled(lambda: next(seen), 0)) == "whole"
    assert next(seen) == "other"


def test_a_file_that_is_no_file_for_a_while(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "policy.py"
    file.write_text(POLICY.format("old"))
    taken: list[Policy] = []

    async def main() -> None:
        work = asyncio.create_task(reload(str(file), taken.append, 0.01))
        await asyncio.sleep(0)
        file.unlink()
        await eventually(lambda: f"kept the old policy: {file} does not exist" in caplog.text)
        os.mkfifo(file)
        await eventually(lambda: f"kept the old policy: {file} is not a file" in caplog.text)
        file.unlink()
        file.mkdir()
        await eventually(lambda: f"kept the old policy: {file} is a directory" in caplog.text)
        file.rmdir()
        file.write_bytes(POLICY.format("new").encode("utf-16"))
        await eventually(lambda: "cannot contain null bytes" in caplog.text)
        # Another file with the time of the old one.
        (tmp_path / "new.py").write_text(POLICY.format("new"))
        os.utime(tmp_path / "new.py", ns=(0, file.stat().st_mtime_ns))
        (tmp_path / "new.py").rename(file)
        await eventually(lambda: bool(taken))
        work.cancel()

    asyncio.run(main())
    assert [one.name for one in taken] == ["new"]


def test_a_file_that_never_loads_is_left_behind(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "policy.py"
    file.write_text(POLICY.format("old"))
    taken: list[Policy] = []

    async def main() -> None:
        work = asyncio.create_task(reload(str(file), taken.append, 0.01, 0.1))
        await asyncio.sleep(0)
        file.write_text("import threading; threading.Event().wait()")
        await eventually(lambda: "kept the old policy" in caplog.text)
        file.write_text(POLICY.format("new"))
        await new_one_taken(file, taken, caplog)
        work.cancel()

    with caplog.at_level(logging.INFO):
        asyncio.run(main())
    assert [one.name for one in taken] == ["new"]
    said = f"kept the old policy: {file} is still loading after 0.1 seconds; fix it to load it "
    assert said + "again" in caplog.messages


LOOPS = """
import threading
threading.current_thread().name = "{name}"
while True:
    try:
        while True: pass
    finally:
        threading.current_thread().name = "interrupted {name}"
"""


@pytest.mark.parametrize("neighbour", [False, True])
def test_a_file_that_computes_for_ever_is_interrupted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, neighbour: bool
) -> None:
    file = tmp_path / "policy.py"
    file.write_text(POLICY.format("old"))
    name = f"loops-{neighbour}"
    if neighbour:
        (tmp_path / "looping_neighbour.py").write_text(LOOPS.format(name=name))

    def threads() -> list[str]:
        return [one.name for one in threading.enumerate() if name in one.name]

    taken: list[Policy] = []

    async def main() -> None:
        work = asyncio.create_task(reload(str(file), taken.append, 0.01, 0.1))
        await asyncio.sleep(0)
        file.write_text("import looping_neighbour" if neighbour else LOOPS.format(name=name))
        await eventually(lambda: bool(threads()))
        await eventually(lambda: not threads())
        work.cancel()

    asyncio.run(main())
    assert "is still loading after 0.1 seconds" in caplog.text


def test_no_more_than_a_few_threads_are_left_behind(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "policy.py"
    file.write_text(POLICY.format("old"))
    gate = threading.Event()
    taken: list[Policy] = []

    def said(text: str) -> int:
        return sum(text in one for one in caplog.messages)

    async def main() -> None:
        work = asyncio.create_task(reload(str(file), taken.append, 0.01, 0.1))
        await asyncio.sleep(0)
        for number in (1, 2, 3):
            file.write_text(
                f"# {number}\nfrom {__name__} import GATES\nGATES[{str(tmp_path)!r}].wait()\n"
            )
            await eventually(lambda: said("is still loading after") == number)  # noqa: B023
        file.write_text(POLICY.format("new"))
        await eventually(lambda: bool(said("3 earlier versions of")))
        assert taken == []
        gate.set()
        await new_one_taken(file, taken, caplog)
        work.cancel()

    GATES[str(tmp_path)] = gate
    asyncio.run(main())
    assert [one.name for one in taken] == ["new"]
    assert said("restart the process to load this one") == 1
