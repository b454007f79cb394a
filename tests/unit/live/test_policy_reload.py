"""Another policy in the middle of scheduling: taken between two decisions, or not at all."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import mooring as mr
from mooring import hook
from mooring.framework.cycle import Cycle
from mooring.framework.loading import load
from mooring.live.assembly import SchedulerComponents
from mooring.live.configz import shown_configuration
from mooring.live.run import scheduling
from mooring.model.storage import VolumeAttachment
from mooring.testing import make_node, make_pod
from tests.unit.live.fake_cluster import FakeCluster, fake_cluster
from tests.unit.live.running_scheduler import eventually, make_settings

POLICY = """
import mooring as mr

policy = mr.Policy("night-shift", description={said!r})

@policy.filter
def {function}(pod: mr.Pod, node: mr.Node) -> bool:
    return {answer}
"""


@pytest.fixture(autouse=True)
def logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")


def closed(name: str = "shift", answer: Any = "closed at night") -> mr.Policy:
    made = mr.Policy(name)
    made.filter(name="hours")(lambda *_: answer)
    return made


@asynccontextmanager
async def scheduler(
    policy: mr.Policy, config: dict[str, Any] | None = None, **more: Any
) -> AsyncIterator[tuple[FakeCluster, SchedulerComponents]]:
    """A scheduler with a policy, and a pod that it has looked at."""
    async with fake_cluster() as cluster:
        cluster.put_node(make_node("a"))
        cluster.put_pod(make_pod("p"))
        settings = make_settings(cluster, config or {}, policies=(policy,), **more)
        async with scheduling(settings) as components:
            await cluster.until(lambda: cluster.patches or cluster.bindings)
            yield cluster, components


def replace(components: SchedulerComponents, policy: mr.Policy) -> None:
    reloads = components.policy_reload
    components.live.between_decisions(lambda: reloads.replace(policy))


def test_pending_pods_are_tried_again_with_the_new_policy(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with scheduler(closed()) as (cluster, components):
            assert cluster.bindings == []
            replace(components, closed(answer=True))
            await cluster.until(lambda: cluster.bindings)
            assert cluster.bindings == [("p", "a")]

    asyncio.run(run())
    assert "reloaded policy shift: filter hours" in caplog.messages
    # The weights are the same, and so they are not said again.
    assert sum(one.startswith("profile default-scheduler scores") for one in caplog.messages) == 1


def test_other_weights_and_the_configuration_in_force_are_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    new = closed(answer=True)
    new.score(name="pack")(lambda *_: 7)

    async def run() -> dict[str, Any]:
        async with scheduler(closed()) as (cluster, components):
            replace(components, new)
            await cluster.until(lambda: cluster.bindings)
            return shown_configuration(components.policy_reload.settings)

    shown = asyncio.run(run())
    scores = shown["profiles"][0]["plugins"]["score"]["enabled"]
    weight = next(one["weight"] for one in scores if one["name"] == "shift")
    said = [one for one in caplog.messages if one.startswith("profile default-scheduler scores")]
    assert [f"shift {weight}" in one for one in said] == [False, True]
    assert sum("policy shift can decide" in one for one in caplog.messages) == 1


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (closed("NodeAffinity"), "has the same name as a plugin"),
        (closed("renamed"), "profiles[0].plugins.score.enabled[0]"),
    ],
)
def test_a_policy_that_does_not_fit_is_not_taken(
    policy: mr.Policy, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    old = closed()
    old.score(name="pack")(lambda *_: 7)
    config = {"profiles": [{"plugins": {"score": {"enabled": [{"name": "shift", "weight": 3}]}}}]}

    async def run() -> None:
        async with scheduler(old, config, raw=config) as (_, components):
            replace(components, policy)
            await eventually(lambda: "kept the old policy" in caplog.text)
            assert components.policy_reload.settings.policies == (old,)
            assert "shift" in components.live.core.runtimes["default-scheduler"].plugins

    asyncio.run(run())
    kept = [one for one in caplog.records if "kept the old policy: " in one.getMessage()]
    assert [one.levelname for one in kept] == ["ERROR"]
    assert sentence in kept[0].getMessage()


def test_a_policy_that_reads_what_is_not_watched_is_not_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Attached(hook.PreFilter):
        name = "Attached"
        reads = (VolumeAttachment,)

        def pre_filter(self, cycle: Cycle) -> Any:
            return None

    new = mr.Policy("shift")
    new.add(Attached())
    config = {
        "profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "NodeVolumeLimits"}]}}}]
    }

    async def run() -> None:
        async with scheduler(closed(), config, raw=config) as (_, components):
            replace(components, new)
            await eventually(lambda: "kept the old policy" in caplog.text)

    asyncio.run(run())
    told = "policy shift reads volumeattachments, which this process does not watch; restart it"
    assert f"kept the old policy: {told}" in caplog.messages


def test_a_plugin_that_fails_when_it_is_looked_at_is_not_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Shy(hook.Permit):
        name = "Shy"

        def attach(self, handle: hook.Handle) -> None:
            raise RuntimeError("do not touch me")

        def permit(self, cycle: Cycle, node: mr.Node) -> bool:
            return True

    new = mr.Policy("shift")
    new.add(Shy())

    async def run() -> None:
        async with scheduler(closed()) as (cluster, components):
            replace(components, new)
            await eventually(lambda: "kept the old policy" in caplog.text)
            replace(components, closed(answer=True))  # and the next one is taken
            await cluster.until(lambda: cluster.bindings)

    asyncio.run(run())
    told = "plugin Shy cannot be used: its attach raised RuntimeError: do not touch me"
    assert f"kept the old policy: {told}" in caplog.messages


def test_only_the_latest_of_several_is_taken(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with scheduler(closed()) as (cluster, components):
            for answer in ("not yet", "nor now", True):
                replace(components, closed(answer=answer))
            await cluster.until(lambda: cluster.bindings)

    asyncio.run(run())
    assert sum("reloaded policy" in one for one in caplog.messages) == 1


class TestFiles:
    """From the file to the binding."""

    @pytest.fixture
    def write(self, tmp_path: Path) -> Callable[..., Path]:
        moments: list[int] = []
        file = tmp_path / "shift_policy.py"

        def write(answer: str, function: str = "hours") -> Path:
            moments.append(1)
            fresh = file.with_suffix(".fresh")
            fresh.write_text(POLICY.format(answer=answer, function=function, said="x"))
            stamp = 10**18 + len(moments)
            os.utime(fresh, ns=(stamp, stamp))
            fresh.rename(file)
            return file

        return write

    def test_a_broken_file_is_not_taken_and_a_mended_one_is(
        self, write: Callable[..., Path], caplog: pytest.LogCaptureFixture
    ) -> None:
        async def run() -> None:
            file = write("'closed at night'")
            source = str(file)
            policy = load(source)
            started = scheduler(policy, policy_source=source, reload=True)
            async with started as (cluster, components):
                write("(")
                await eventually(lambda: "kept the old policy: " in caplog.text)
                assert cluster.bindings == []
                cluster.put_pod(make_pod("q"))
                await cluster.until(lambda: len(cluster.patches) > 1)
                write("True", "mended")
                await cluster.until(lambda: len(cluster.bindings) == 2)
                assert components.policy_reload.settings.policies[0].name == "night-shift"

        asyncio.run(run())
        told = [one for one in caplog.messages if "policy" in one and "pod" not in one]
        assert told[0].startswith("policy night-shift from ")
        assert told[0].endswith("shift_policy.py: filter hours")
        assert "line 8" in told[1]
        assert told[2] == "reloaded policy night-shift: filter mended"
