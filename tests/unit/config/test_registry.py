"""Naming and making plugins: mooring's own, added ones, those of installed packages."""

import functools
from collections.abc import Iterable, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np
import pytest

from mooring.config.registry import EXTENSION_POINTS, PluginEntry, Registry, extension_points_of
from mooring.config.strict_decoding import FieldProblem
from mooring.errors import InputError
from mooring.framework import hook
from mooring.framework.arrays import Amounts, Scores
from mooring.framework.cycle import Cycle
from mooring.framework.handle import Handle
from mooring.framework.nodes import Nodes
from mooring.model.duration import Duration
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins import in_tree
from mooring.plugins.in_tree import DEFAULT_PLUGINS, default_registry
from tests.unit.framework.in_tree import IN_TREE

HERE = "tests.unit.config.test_registry"


class BestArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    top_weight: int = 3
    wait: Duration = Duration.of_seconds(1)

    def check(self) -> Iterable[tuple[str, str]]:
        if self.top_weight > 10:
            yield "topWeight", f"{self.top_weight} is too much, give at most 10"


class Best(hook.ScoreNodes, hook.Normalize):
    """Prefers the best node.

    And more about it.
    """

    name = "Best"
    Args: ClassVar[type[msgspec.Struct] | None] = BestArgs

    def __init__(self, args: BestArgs, handle: Handle | None) -> None:
        self.args = args
        self.handle = handle

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Scores:
        return np.zeros(len(nodes))

    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:
        return scores


class Plain(hook.Filter):
    def filter(self, pod: Pod, node: Node) -> bool:
        return True


class Careful(hook.Preempt):
    """Has a say in preemption only."""

    def preempt(self, pod: Pod, node: Node, victims: Sequence[Pod]) -> None:
        return None


class Demanding(Plain):
    def __init__(self, disk: str) -> None:
        raise AssertionError("never called")


class Fussy(Plain):
    def __init__(self) -> None:
        raise InputError("the licence server is not configured, set LICENCES")


class Idle(hook.Hook):
    pass


def make_plain() -> Plain:
    """Makes a plain plugin."""
    return Plain()


def make_something():  # type: ignore[no-untyped-def]
    return Plain()


def make_unknown() -> "Nobody":  # type: ignore[name-defined]  # noqa: F821
    return Plain()


NO_PLUGIN = 5


@pytest.fixture
def registry() -> Registry:
    return Registry()


def sentence(caught: pytest.ExceptionInfo[InputError]) -> str:
    return str(caught.value)


class TestPoints:
    def test_a_class_has_the_points_of_its_hooks(self) -> None:
        assert extension_points_of(Best) == ("score",)
        assert extension_points_of(Plain) == ("filter",)
        assert extension_points_of(hook.WhatIf) == ("preFilter",)
        assert extension_points_of(Idle) == ()

    def test_every_point_once(self) -> None:
        assert list(EXTENSION_POINTS) == [
            "preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score",
            "reserve", "permit", "preBind", "bind", "postBind",
        ]  # fmt: skip


class TestAdding:
    def test_a_class(self, registry: Registry) -> None:
        registry.add(Best)
        assert registry.entry("Best") == PluginEntry(
            name="Best",
            factory=Best,
            points=("score",),
            args=BestArgs,
            summary="Prefers the best node.",
            origin="tests",
        )
        assert "Best" in registry
        assert "Worst" not in registry

    def test_a_class_without_a_name_of_its_own(self, registry: Registry) -> None:
        registry.add(Plain)
        registry.add(Plain, "Other")
        assert registry.names() == ["Plain", "Other"]
        assert registry.make("Other").name == "Other"
        assert registry.make("Plain").name == "Plain"

    def test_a_function(self, registry: Registry) -> None:
        registry.add(make_plain, "Made")
        assert registry.points("Made") == ("filter",)
        assert registry.entry("Made").summary == "Makes a plain plugin."
        assert isinstance(registry.make("Made"), Plain)

    def test_a_function_that_does_not_say_what_it_makes(self, registry: Registry) -> None:
        with pytest.raises(InputError) as caught:
            registry.add(make_something, "Made")
        assert sentence(caught) == "the extension points of Made are unknown: set points="
        registry.add(make_something, "Made", points=["score", "filter"])
        assert registry.points("Made") == ("filter", "score")

    def test_a_ready_plugin(self, registry: Registry) -> None:
        plugin = Plain()
        registry.add(plugin, "mine")
        assert registry.points("mine") == ("filter",)
        assert registry.make("mine") is plugin
        assert plugin.name == "mine"

    def test_a_plugin_for_preemption_has_no_point(self, registry: Registry) -> None:
        registry.add(Careful)
        assert registry.points("Careful") == ()

    @pytest.mark.parametrize(
        ("plugin", "name", "given", "text"),
        [
            (Idle, None, None, "Idle implements no extension point: inherit from hook.Filter or"),
            (int, None, None, "int is not a plugin: inherit from hook.Filter or another hook"),
            (functools.partial(make_plain), None, None, "a plugin needs a name: set na"),
            (make_unknown, "A", None, "the extension points of A are unknown: set points="),
            (make_something, "A", ["filters"], "no extension point 'filters': did you mean filter"),
            (make_something, "A", ["xyz"], "no extension point 'xyz': use preEnqueue, queueSort"),
            (
                Best,
                None,
                None,
                ("plugin 'Best' of tests has the same name as a plugin of tests: choose"),
            ),
        ],
    )
    def test_rejected(
        self, registry: Registry, plugin: type[hook.Hook], name: str, given: list[str], text: str
    ) -> None:
        registry.add(Best)
        with pytest.raises(InputError) as caught:
            registry.add(plugin, name, points=given)
        assert text in sentence(caught)


class TestMaking:
    def test_arguments_and_handle_go_to_who_names_them(self, registry: Registry) -> None:
        registry.add(Best)
        raw = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "BestArgs",
            "topWeight": 5,
            "wait": None,
        }
        plugin = registry.make("Best", raw)
        assert isinstance(plugin, Best)
        assert plugin.args == BestArgs(top_weight=5)
        assert plugin.handle is None

    @pytest.mark.parametrize("raw", [None, {}, {"kind": None}])
    def test_no_arguments_are_the_defaults(self, registry: Registry, raw: dict[str, None]) -> None:
        registry.add(Best)
        plugin = registry.make("Best", raw)
        assert isinstance(plugin, Best)
        assert plugin.args == BestArgs(top_weight=3, wait=Duration.of_seconds(1))

    @pytest.mark.parametrize(
        ("raw", "text"),
        [
            ({"topweight": 1}, "p.args.topweight: unknown field: did you mean topWeight?"),
            ({"topWeight": 11}, "p.args.topWeight: 11 is too much, give at most 10"),
            ({"kind": "WorstArgs"}, "p.args.kind: 'WorstArgs' is not supported: must be BestArgs"),
            (
                {"apiVersion": "v1"},
                "p.args.apiVersion: 'v1' is not supported: must be kubescheduler.config.k8s.io/v1",
            ),
            (
                {"wait": "x"},
                ("p.args.wait: 'x' is not a valid duration: use for example 15s, 1m30s or"),
            ),
        ],
    )
    def test_wrong_arguments(self, registry: Registry, raw: dict[str, object], text: str) -> None:
        registry.add(Best)
        with pytest.raises(InputError) as caught:
            registry.make("Best", raw, None, "p.args")
        assert sentence(caught).startswith(text)

    def test_all_wrong_arguments_at_once(self, registry: Registry) -> None:
        registry.add(Best)
        problems: list[FieldProblem] = []
        raw = {"kind": "X", "topWeight": "y", "z": 1}
        assert registry.entry("Best").read_args(raw, "a", problems) is None
        assert [problem.path for problem in problems] == ["a.kind", "a.topWeight", "a.z"]

    def test_arguments_for_a_plugin_that_takes_none(self, registry: Registry) -> None:
        registry.add(Plain)
        assert isinstance(registry.make("Plain", {"kind": "PlainArgs"}), Plain)
        with pytest.raises(InputError) as caught:
            registry.make("Plain", {"size": 1})
        assert sentence(caught) == "args of Plain.size: Plain takes no arguments: remove them"

    def test_a_constructor_whose_error_says_nothing(self, registry: Registry) -> None:
        class MuteError(InputError):
            def __str__(self) -> str:
                raise KeyError("code")

        class Silent(Plain):
            name = "Silent"

            def __init__(self) -> None:
                raise MuteError

        registry.add(Silent)
        with pytest.raises(InputError) as caught:
            registry.make("Silent", None, None, "p.args")
        assert sentence(caught) == "p.args: a MuteError"

    def test_a_constructor_that_fails(self, registry: Registry) -> None:
        registry.add(Demanding)
        with pytest.raises(InputError) as caught:
            registry.make("Demanding")
        assert sentence(caught).startswith(
            "plugin Demanding cannot be created: its constructor raised TypeError: "
        )
        registry.add(Fussy)
        with pytest.raises(InputError) as caught:
            registry.make("Fussy", path="profiles[0].pluginConfig[1].args")
        assert sentence(caught) == (
            "profiles[0].pluginConfig[1].args: the licence server is not configured, set LICENCES"
        )

    def test_an_unknown_name(self, registry: Registry) -> None:
        registry.add(Best)
        with pytest.raises(InputError) as caught:
            registry.make("best1")
        assert sentence(caught) == (
            "there is no plugin 'best1': did you mean Best? `moor plugins` lists them"
        )
        with pytest.raises(InputError) as caught:
            registry.entry("Coscheduling")
        assert sentence(caught) == "there is no plugin 'Coscheduling': `moor plugins` lists them"


def offering(*offers: tuple[str, str]) -> Registry:
    """A registry on a machine where packages offer plugins."""
    return Registry(lambda: [EntryPoint(name, value, "mooring.plugins") for name, value in offers])


class TestInstalledPackages:
    def test_a_plugin_is_loaded_when_it_is_named(self) -> None:
        registry = offering(("Best", f"{HERE}:Best"), ("Gone", "no.such.module:Gone"))
        assert registry.names() == ["Best", "Gone"]
        assert "Gone" in registry
        assert registry.points("Best") == ("score",)
        assert registry.names() == ["Best", "Gone"]
        assert type(registry.make("Best")).__name__ == "Best"

    def test_a_name_that_the_class_does_not_have(self) -> None:
        registry = offering(("Fine", f"{HERE}:Plain"))
        assert registry.make("Fine").name == "Fine"

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("no.such.module:Gone", "cannot be loaded: ModuleNotFoundError: No module named 'no'"),
            (f"{HERE}:Gone", "cannot be loaded: AttributeError: "),
            (f"{HERE}:NO_PLUGIN", "is 5: it must be a plugin class"),
            (
                f"{HERE}:Best",
                ("names itself 'Best': the plugin and its entry point must have the same name"),
            ),
            (f"{HERE}:Idle", "cannot be used: Gone implements no extension point: inherit"),
            (f"{HERE}:sentence", "cannot be used: the extension points of Gone are unknown"),
        ],
    )
    def test_a_broken_one_is_named(self, value: str, text: str) -> None:
        registry = offering(("Gone", value), ("Fine", f"{HERE}:Plain"))
        with pytest.raises(InputError) as caught:
            registry.entry("Gone")
        assert sentence(caught).startswith(f"plugin 'Gone' of an installed package ({value}) ")
        assert text in sentence(caught)
        problem, fine = registry.entries()
        assert isinstance(problem, FieldProblem)
        assert problem.path == "Gone"
        assert isinstance(fine, PluginEntry)

    def test_two_packages_with_the_same_name(self) -> None:
        registry = offering(("A", f"{HERE}:Plain"), ("A", f"{HERE}:Best"))
        with pytest.raises(
            InputError, match=("'A' is provided by an installed package and by an in")
        ):
            registry.names()
        registry = offering(("A", f"{HERE}:Plain"), ("A", f"{HERE}:Plain"))
        assert registry.names() == ["A"]

    def test_the_name_of_one_of_moorings_own(self) -> None:
        registry = offering(("Plain", f"{HERE}:Plain"))
        registry.add(Plain)
        with pytest.raises(
            InputError, match=("'Plain' of an installed package has the same name as a")
        ):
            registry.entry("Other")
        problem, own = registry.entries()
        assert isinstance(problem, FieldProblem)
        assert problem.path == "mooring.plugins"
        assert isinstance(own, PluginEntry)

    def test_found_through_the_package_itself(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        info = tmp_path / "acme_scheduling-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-scheduling\n")
        (info / "entry_points.txt").write_text("[mooring.plugins]\nAcme = acme_plugins:Acme\n")
        (tmp_path / "acme_plugins.py").write_text(
            "import mooring\n"
            "class Acme(mooring.hook.Filter):\n"
            "    '''Keeps pods on our own nodes.'''\n"
            "    def filter(self, pod, node):\n"
            "        return True\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        registry = default_registry()
        assert registry.names()[-1] == "Acme"
        assert registry.entry("Acme").origin == "package acme-scheduling"
        assert registry.entry("Acme").summary == "Keeps pods on our own nodes."


OWN = ["NodeResourcesAllocatable", "SchedulerTimestamp"]
#: What a plugin of mooring does not do yet.
MISSING = {"VolumeBinding": ["preBind"]}


class TestInTree:
    def test_the_default_set_comes_first(self) -> None:
        names = [plugin.name for plugin in in_tree.IN_TREE]
        assert names == [*IN_TREE, *OWN]
        assert names[: len(DEFAULT_PLUGINS)] == [plugin.name for plugin in DEFAULT_PLUGINS]
        assert default_registry().names()[: len(names)] == names

    @pytest.mark.parametrize(("name", "wanted"), IN_TREE.items())
    def test_points(self, name: str, wanted: list[str]) -> None:
        found = default_registry().points(name)
        assert [*found, *MISSING.get(name, [])] == wanted

    @pytest.mark.parametrize("name", [*IN_TREE, *OWN])
    def test_every_plugin_says_what_it_does_in_one_line(self, name: str) -> None:
        entry = default_registry().entry(name)
        assert entry.summary.endswith(".")
        assert len(entry.summary) <= 100
        assert entry.origin == "mooring"
