"""Loading a policy again while something else runs."""

import asyncio
import logging
from pathlib import Path

import pytest

from mooring.framework.policy import Policy
from mooring.process.policy_reloading import reload
from tests.unit.extender.asgi import eventually

POLICY = """
import mooring as mr
policy = mr.Policy("{}")
@policy.filter
def fine(pod, node):
    return True
"""


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
        await eventually(lambda: bool(taken))
        work.cancel()

    with caplog.at_level(logging.INFO):
        asyncio.run(main())
    assert [one.name for one in taken] == ["new"]
    said = f"kept the old policy: {file} is still loading after 0.1 seconds; correct it, and it is "
    assert said + "loaded again" in caplog.messages
