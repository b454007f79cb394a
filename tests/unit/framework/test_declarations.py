"""What plugins declare about themselves: the defaults, and what cannot be used."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import mooring as mr
from mooring import hook
from mooring.config.runtimes import build_profiles, build_runtime
from mooring.framework.declarations import (
    check_declarations,
    filter_scope,
    kinds_to_watch,
    score_scope,
)
from mooring.model.meta import KubeObject
from mooring.model.storage import StorageClass
from mooring.model.workloads import PriorityClass
from mooring.plugins.in_tree import IN_TREE, default_registry
from mooring.state.cluster import Cluster


class Silent(hook.Filter):
    """Says nothing about itself."""

    def filter(self, pod: mr.Pod, node: mr.Node) -> bool:
        return True


class Requeued(Silent, hook.Requeues):
    """Says only what helps its pods."""

    def requeue_on(self) -> Sequence[hook.RequeueHint]:
        return [hook.RequeueHint(PriorityClass, hook.Action.ADD)]


def declaring(**declarations: Any) -> hook.Hook:
    return type("Declaring", (Silent,), declarations)()  # type: ignore[no-any-return]


def test_a_plugin_that_says_nothing_may_depend_on_everything() -> None:
    plugin = Silent()
    check_declarations(plugin)
    assert filter_scope(plugin) is score_scope(plugin) is hook.Scope.CLUSTER
    assert kinds_to_watch(plugin) == set()


def test_it_reads_what_requeues_its_pods() -> None:
    assert kinds_to_watch(Requeued()) == {PriorityClass}


def test_what_it_reads_counts_alone() -> None:
    class Reads(Requeued):
        reads = (StorageClass,)

    class ReadsNothing(Requeued):
        reads = ()

    assert kinds_to_watch(Reads()) == {StorageClass}
    assert kinds_to_watch(ReadsNothing()) == set()


def test_what_it_reads_by_the_way_is_not_watched_for_it() -> None:
    assert kinds_to_watch(declaring(reads_if_watched=[StorageClass])) == set()


def test_a_declaration_may_depend_on_arguments() -> None:
    class Configured(Silent):
        def __init__(self) -> None:
            self.reads = [StorageClass]
            self.filter_scope = hook.Scope.ROW

    plugin = Configured()
    check_declarations(plugin)
    assert kinds_to_watch(plugin) == {StorageClass}
    assert filter_scope(plugin) is hook.Scope.ROW


class Own(KubeObject, frozen=True):
    """A kind that nobody watches."""


class Lying:
    """Says that it is a class."""

    __class__ = property(lambda _: type)


class Endless:
    """A list of kinds without an end."""

    def __iter__(self) -> Iterator[type[KubeObject]]:
        while True:
            yield StorageClass


def failing(plugin: hook.Hook) -> object:
    raise SystemExit(3)


SCOPES = (
    "use one of hook.Scope.NODES, hook.Scope.ROW, hook.Scope.DOMAIN, hook.Scope.CLUSTER"
)  # fmt: skip
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"filter_scope": "Row"}, f"filter_scope of plugin Declaring is 'Row': {SCOPES}"),
    ({"score_scope": None}, f"score_scope of plugin Declaring is None: {SCOPES}"),
    (
        {"reads": StorageClass},
        (
            "reads of plugin Declaring is <class 'mooring.model.storage.StorageClass'>: must be a "
            "tuple "
        ),
    ),
    ({"reads": [Own]}, "reads of plugin Declaring names Own: mooring watches PriorityClass, "),
    ({"reads": ["Pod"]}, "reads of plugin Declaring names 'Pod': mooring watches PriorityClass, "),
    ({"reads": [Lying()]}, "reads of plugin Declaring names <"),
    ({"reads": iter([StorageClass])}, "reads of plugin Declaring is <list_iterator object at "),
    (
        {"reads_if_watched": None},
        ("reads_if_watched of plugin Declaring is None: must be a tuple of "),
    ),
    ({"reads_if_watched": [KubeObject]}, "reads_if_watched of plugin Declaring names KubeObject: "),
    ({"patches": [KubeObject]}, "patches of plugin Declaring names KubeObject: "),
    ({"creates": 3}, "creates of plugin Declaring is 3: must be a tuple of "),
    (
        {"reads": property(failing)},
        "reads of plugin Declaring cannot be read: it tried to end the process",
    ),
]


@pytest.mark.parametrize(("declarations", "said"), WRONG)
def test_what_nobody_can_use_is_an_error_when_the_profile_is_built(
    declarations: dict[str, Any], said: str
) -> None:
    registry = default_registry()
    registry.add(declaring(**declarations))
    config = {"profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Declaring"}]}}}]}
    profile = build_profiles(config, registry)["default-scheduler"]
    with pytest.raises(mr.InputError) as caught:
        build_runtime(profile, registry, Cluster(), lambda: 0)
    assert str(caught.value).startswith(said)


def test_an_endless_list_of_kinds_ends() -> None:
    assert kinds_to_watch(declaring(reads=Endless())) == {StorageClass}


@pytest.mark.parametrize("plugin", IN_TREE, ids=lambda plugin: str(plugin.name))
def test_mooring_s_own_plugins_say_what_they_are(plugin: type[hook.Hook]) -> None:
    own = vars(plugin)
    assert own["reads"] is not None
    asked = False
    if issubclass(plugin, (hook.Filter, hook.FilterNodes)):
        assert "filter_scope" in own
        asked = True
    if issubclass(plugin, (hook.Score, hook.ScoreNodes)):
        assert "score_scope" in own
        asked = True
    assert issubclass(plugin, hook.Sign) == asked
