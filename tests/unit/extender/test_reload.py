"""``moor serve --reload`` in this process: which policy answers after its files changed."""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from mooring.extender import server
from mooring.extender.service import ExtenderService
from mooring.framework.loading import load
from mooring.process import policy_reloading
from tests.unit.extender.asgi import eventually
from tests.unit.extender.sockets import POLICY, run

pytestmark = pytest.mark.usefixtures("same_modules")


class TestReload:
    @pytest.fixture(autouse=True)
    def looks(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """Grows with every look at the files; bytecode is written as usual."""
        made: list[int] = []
        plain = policy_reloading._stamps

        def look(files: set[Path]) -> policy_reloading.Stamps:
            made.append(len(files))
            return plain(files)

        monkeypatch.setattr(sys, "dont_write_bytecode", False)
        monkeypatch.setattr(policy_reloading, "_stamps", look)
        return made

    @asynccontextmanager
    async def reloading(self, source: str) -> AsyncIterator[ExtenderService]:
        service = ExtenderService(load(source))
        async with service:
            replace = partial(server._replace, service)
            task = asyncio.create_task(policy_reloading.reload(source, replace, 0.01))
            await asyncio.sleep(0)  # it looks at the files as they are now
            try:
                yield service
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def write(self, file: Path, text: str, moment: list[int]) -> None:
        """Write a file, always within the same second but never at the same moment."""
        moment[0] += 1
        fresh = file.with_suffix(".fresh")
        fresh.write_text(text)
        os.utime(fresh, ns=(10**18 + moment[0], 10**18 + moment[0]))
        fresh.rename(file)

    def test_takes_a_changed_policy(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        async def main() -> None:
            file, moment = tmp_path / "policy.py", [0]
            self.write(file, POLICY, moment)
            async with self.reloading(str(file)) as service:
                for name in ("Served", "sErved", "seRved"):  # the same size, the same second
                    self.write(file, POLICY.replace("served", name), moment)
                    await eventually(lambda name=name: service.policy.name == name)  # type: ignore[misc]

        with caplog.at_level(logging.INFO, "mooring.extender"):
            run(main)
        assert caplog.messages[-1] == "reloaded policy seRved: filter check"

    @pytest.mark.parametrize("broken", ["policy = (", "x = 1", "import no_such_module", "1 / 0"])
    def test_keeps_the_old_one_when_the_new_one_is_broken(
        self, broken: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def main() -> None:
            file, moment = tmp_path / "policy.py", [0]
            self.write(file, POLICY, moment)
            async with self.reloading(str(file)) as service:
                old = service.policy
                self.write(file, broken, moment)
                await eventually(lambda: "kept the old policy" in caplog.text)
                assert service.policy is old
                self.write(file, POLICY.replace("served", "mended"), moment)
                await eventually(lambda: service.policy.name == "mended")

        run(main)
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        assert str(tmp_path) in caplog.text

    def test_survives_a_file_that_is_gone_for_a_while(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def main() -> None:
            file, moment = tmp_path / "policy.py", [0]
            self.write(file, POLICY, moment)
            async with self.reloading(str(file)) as service:
                file.unlink()
                await eventually(lambda: "does not exist" in caplog.text)
                assert service.policy.name == "served"
                self.write(file, POLICY.replace("served", "back"), moment)
                await eventually(lambda: service.policy.name == "back")

        run(main)

    @pytest.mark.parametrize("as_module", [False, True])
    def test_notices_the_files_that_a_policy_imports(
        self,
        as_module: bool,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        looks: list[int],
    ) -> None:
        async def some_looks() -> None:
            before = len(looks)
            await eventually(lambda: len(looks) > before + 3)

        async def main() -> None:
            file, helper = tmp_path / "importing_policy.py", tmp_path / "policy_helper.py"
            moment = [0]
            self.write(helper, "NAME = 'first'", moment)
            text = POLICY.replace('"served"', "policy_helper.NAME")
            self.write(file, "import policy_helper\n" + text, moment)
            source = "importing_policy" if as_module else str(file)
            async with self.reloading(source) as service:
                assert service.policy.name == "first"
                self.write(helper, "NAME = 'other'", moment)
                await eventually(lambda: service.policy.name == "other")
                self.write(helper, "NAME = (", moment)
                await eventually(lambda: "kept the old policy" in caplog.text)
                await some_looks()
                self.write(helper, "NAME = 'again'", moment)
                await eventually(lambda: service.policy.name == "again")
                self.write(file, "import policy_helper\n(", moment)
                await eventually(lambda: caplog.text.count("kept the old policy") == 2)
                await some_looks()
                self.write(file, "import policy_helper\n" + text, moment)
                self.write(helper, "NAME = 'final'", moment)
                await eventually(lambda: service.policy.name == "final")

        monkeypatch.chdir(tmp_path)
        run(main)
