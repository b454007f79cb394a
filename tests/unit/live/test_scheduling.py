"""A scheduler that is a part of its process: no signals, no server, an end when the block ends."""

import asyncio
import signal

import pytest

from mooring.errors import ApiError, KubeError
from mooring.live.run import scheduling
from mooring.testing import make_node, make_pod
from tests.unit.live.fake_cluster import fake_cluster
from tests.unit.live.running_scheduler import make_settings


def test_it_schedules_for_the_length_of_a_block_and_leaves_signals_alone() -> None:
    async def run() -> list[tuple[str, str]]:
        async with fake_cluster() as cluster:
            cluster.put_node(make_node("a"))
            cluster.put_pod(make_pod("p"))
            before = signal.getsignal(signal.SIGTERM)
            async with scheduling(make_settings(cluster, {})) as components:
                await cluster.until(lambda: cluster.bindings)
                assert signal.getsignal(signal.SIGTERM) is before
                assert components.live.core.cluster.nodes.keys() == {"a"}
            cluster.put_pod(make_pod("late"))
            return cluster.bindings

    assert asyncio.run(run()) == [("p", "a")]


def test_it_runs_outside_the_main_thread() -> None:
    async def run() -> list[tuple[str, str]]:
        async with fake_cluster() as cluster:
            cluster.put_node(make_node("a"))
            cluster.put_pod(make_pod("p"))
            async with scheduling(make_settings(cluster, {})):
                await cluster.until(lambda: cluster.bindings)
            return cluster.bindings

    async def elsewhere() -> list[tuple[str, str]]:
        return await asyncio.to_thread(lambda: asyncio.run(run()))

    assert asyncio.run(elsewhere()) == [("p", "a")]


def test_what_the_block_raises_comes_out_as_it_is() -> None:
    async def run() -> None:
        async with fake_cluster() as cluster, scheduling(make_settings(cluster, {})):
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        asyncio.run(run())


def test_a_block_is_not_left_waiting_for_a_scheduler_that_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def reject(*_: object) -> None:
        raise ApiError("nobody may list nodes", status=403, reason="Forbidden")

    async def run() -> None:
        monkeypatch.setattr("mooring.live.lifecycle.wait_for_api_server", reject)
        async with fake_cluster() as cluster, scheduling(make_settings(cluster, {})):
            await asyncio.get_running_loop().create_future()

    with pytest.raises(KubeError, match="nobody may list nodes"):
        asyncio.run(run())


def test_a_block_that_is_cancelled_breaks_off_bindings_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        async with fake_cluster() as cluster:
            cluster.gate.clear()  # a binding that gets no answer
            cluster.put_node(make_node("a"))
            cluster.put_pod(make_pod("p"))
            before = asyncio.all_tasks()

            async def block() -> None:
                async with scheduling(make_settings(cluster, {})):
                    await asyncio.get_running_loop().create_future()

            task = asyncio.create_task(block())
            await cluster.until(lambda: cluster.binding)
            task.cancel()
            await asyncio.wait({task})
            assert task.cancelled()
            left = [one for one in asyncio.all_tasks() - before if "loop.py" in repr(one)]
            assert left == []

    asyncio.run(run())
    assert "an effect failed" not in caplog.text
