"""A policy's bind function that fails is told in full: to the pod's owner, and in the log."""

import asyncio
import logging
import time

import pytest

import mooring as mr
from mooring.config.configuration import read_configuration
from mooring.config.runtimes import build_profiles
from mooring.framework.binding_hooks import BindingHooks
from mooring.framework.extension_points import PluginAtPoint
from mooring.live.async_hooks import AsyncHooks
from mooring.live.options import HookLimits, SchedulerSettings
from mooring.live.run import scheduling
from mooring.live.waiting_bindings import WaitingBindings
from mooring.plugins.binding.default_binder import DefaultBinder
from mooring.plugins.in_tree import default_registry
from mooring.process.deadline import Deadline
from mooring.testing import make_node, make_pod
from tests.unit.live.fake_cluster import fake_cluster

LIMITS = HookLimits(decision_seconds=0.1, binding_seconds=0.2)
BIND = "plugin troubled failed in bind for pod default/web: bind 'bound' "
FAILED = f"{BIND}failed on node a: "
LATE = "was interrupted on node a: a step without an await took longer than 0.1 seconds"


async def tried(policy: mr.Policy) -> str:
    """What the pod's condition says after the first attempt."""
    async with fake_cluster() as cluster:
        cluster.put_node(make_node("a"))
        cluster.put_pod(make_pod("web"))
        registry = default_registry()
        settings = SchedulerSettings(
            configuration=read_configuration({}),
            profiles=build_profiles({}, registry, [policy]),
            registry=registry,
            policies=(policy,),
            cluster=cluster.config,
            hook_limits=LIMITS,
        )
        async with scheduling(settings):
            await cluster.until(lambda: cluster.patches)
            return str(cluster.patches[0][1]["status"]["conditions"][0]["message"])


def the_line(caplog: pytest.LogCaptureFixture) -> tuple[str, str]:
    """The one line about the plugin, and its traceback."""
    record = next(one for one in caplog.records if "troubled" in one.getMessage())
    assert record.exc_info
    assert record.levelno == logging.ERROR
    return record.getMessage(), logging.Formatter().formatException(record.exc_info)


def test_it_raises(caplog: pytest.LogCaptureFixture) -> None:
    policy = mr.Policy("troubled")

    @policy.bind
    def bound(binding: mr.Binding) -> None:
        raise KeyError("licence")

    sentence = FAILED + "KeyError: 'licence'"
    assert asyncio.run(tried(policy)) == sentence
    said, traceback = the_line(caplog)
    assert said == sentence
    assert 'raise KeyError("licence")' in traceback


def test_it_blocks(caplog: pytest.LogCaptureFixture) -> None:
    policy = mr.Policy("troubled")

    @policy.bind
    def bound(binding: mr.Binding) -> None:
        time.sleep(3600)

    sentence = BIND + LATE
    assert asyncio.run(tried(policy)) == sentence
    said, traceback = the_line(caplog)
    assert said == sentence
    assert "time.sleep(3600)" in traceback


def test_it_waits(caplog: pytest.LogCaptureFixture) -> None:
    policy = mr.Policy("troubled")

    @policy.bind
    async def bound(binding: mr.Binding) -> None:
        await asyncio.get_running_loop().create_future()

    sentence = FAILED + "it did not finish within 0.2 seconds"
    assert asyncio.run(tried(policy)) == sentence
    said, traceback = the_line(caplog)
    assert said == sentence
    assert "create_future()" in traceback


def test_a_plain_hook_of_our_own_needs_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    binding = mr.Binding(namespace="default", name="web", uid="u", node_name="a")
    points = {"bind": [PluginAtPoint("DefaultBinder", DefaultBinder())]}

    async def run() -> object:
        with monkeypatch.context() as patched:
            patched.setattr(asyncio, "create_task", None)
            hooks = AsyncHooks(Deadline(1.0), 1.0, WaitingBindings())
            return await hooks.bind(BindingHooks(points), binding)

    assert asyncio.run(run()) is binding
