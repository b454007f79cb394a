"""Hooks after the choice of a node: what a plugin raises is told with its name."""

import logging
from typing import Any

import pytest

from mooring import Node, hook
from mooring.errors import PluginError
from mooring.framework.binding_hooks import BindingHooks, blame, blamed
from mooring.framework.cycle import Cycle
from mooring.framework.extension_points import PluginAtPoint
from mooring.plugins.volumes.volume_binding import VolumeBinding, VolumeBindingArgs
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod


class Told(Exception):  # noqa: N818
    """An exception with a text of its own, which nobody may ask for outside the border."""

    asked = 0

    def __str__(self) -> str:
        Told.asked += 1
        return "mine"


class Reserving(hook.Reserve):
    """Raises in `unreserve`."""

    name = "reserving"

    def __init__(self, cause: Exception | None) -> None:
        self._cause = cause

    def reserve(self, cycle: Cycle, node: Node) -> None:
        pass

    def unreserve(self, cycle: Cycle, node: Node) -> None:
        raise PluginError("no", plugin="other", hook="x", pod="y") from self._cause


@pytest.mark.parametrize("cause", [None, Told()])
def test_an_unreserve_that_fails_is_logged_with_its_traceback(
    cause: Exception | None, caplog: pytest.LogCaptureFixture
) -> None:
    placing = BindingHooks({"reserve": [PluginAtPoint("reserving", Reserving(cause))]})
    cycle = Cycle(make_pod("p"), Cluster())
    with caplog.at_level(logging.ERROR):
        placing.unreserve(cycle, make_node("n"))
    asked = Told.asked
    (record,) = caplog.records
    text = logging.Formatter().format(record)
    assert "in unreserve" in text
    assert "raise PluginError" in text
    assert Told.asked == asked


def test_what_an_error_was_raised_in_stays_with_it() -> None:
    def fail() -> None:
        try:
            raise KeyError("first")
        except KeyError:
            raise PluginError("no", plugin="p", hook="h", pod="")  # noqa: B904 - as plugins do

    def ask() -> None:
        try:
            fail()
        except PluginError as error:
            blame(error, "p", "h", None)

    with pytest.raises(PluginError) as found:
        ask()
    assert isinstance(found.value.__context__, KeyError)
    assert not found.value.__suppress_context__


class MineError(PluginError):
    """A plugin's own kind of mooring's error."""

    def __str__(self) -> str:
        raise KeyError("code")


FOREIGN: Any = Told()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (MineError("no", plugin="p", hook="h", pod=""), "a MineError"),
        (PluginError(FOREIGN, plugin="p", hook="h", pod=""), "mine"),
        (PluginError("no", plugin=FOREIGN, hook="h", pod=""), "no"),
    ],
)
def test_an_error_of_our_kind_that_is_foreign_code_is_told_by_one_of_ours(
    error: PluginError, text: str
) -> None:
    found = blamed(error, "mine", "permit", make_pod("web"))
    assert type(found) is PluginError
    assert str(found) == f"plugin mine failed in permit for pod default/web: {text}"
    assert (found.plugin, found.hook, found.pod) == ("mine", "permit", "default/web")


class Mine(VolumeBinding):
    """What it does for pods that it skips is its own business."""


class TestIdle:
    def hooks(self, *more: hook.Hook) -> BindingHooks:
        plugins = [VolumeBinding(VolumeBindingArgs()), *more]
        return BindingHooks({"reserve": [PluginAtPoint(one.name, one) for one in plugins]})

    def cycle(self, *skipped: str) -> Cycle:
        cycle = Cycle(make_pod("p"), Cluster())
        cycle.skipped.update(skipped)
        return cycle

    def test_nobody_is_asked_about_a_pod_that_all_have_skipped(self) -> None:
        assert self.hooks().are_idle(self.cycle("VolumeBinding"))
        assert not self.hooks().are_idle(self.cycle())
        assert BindingHooks({}).are_idle(self.cycle())

    @pytest.mark.parametrize("plugin", [Reserving(None), Mine(VolumeBindingArgs())])
    def test_a_plugin_of_somebody_else_is_always_asked(self, plugin: hook.Hook) -> None:
        skipped = self.cycle("VolumeBinding", plugin.name)
        assert not self.hooks(plugin).are_idle(skipped)
