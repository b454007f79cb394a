"""Which plugins run where: the rules of kube-scheduler, one by one.

Expected values were computed by hand from its rules; `test_profiles` compares with kube-scheduler's
own answers.
"""

from typing import Any

import pytest

from mooring.config.configuration import read_configuration
from mooring.config.plugin_entry import EXTENSION_POINTS
from mooring.config.profiles import Profile, profiles_from
from mooring.config.registry import Registry
from mooring.errors import InputError
from mooring.framework import hook
from mooring.plugins.in_tree import DEFAULT_PLUGINS
from tests.unit.framework.in_tree import IN_TREE

DEFAULT_SCORES = [
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodeResourcesFit", 1),
    ("VolumeBinding", 1),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
]


def names(*plugins: str | tuple[str, int]) -> list[dict[str, Any]]:
    """A list of plugins as a configuration writes it."""
    return [
        {"name": one} if isinstance(one, str) else {"name": one[0], "weight": one[1]}
        for one in plugins
    ]


def unused() -> hook.Hook:
    raise AssertionError("no plugin is made here")


def expand(extra: tuple[str, ...] = (), **plugins: Any) -> Profile:
    registry = Registry(default_plugins=DEFAULT_PLUGINS)
    for name, points in IN_TREE.items():
        registry.add(unused, name, points=points)
    registry.add(unused, "Mine", points=["filter", "score"])
    registry.add(unused, "Yours", points=["score", "queueSort"])
    registry.add(unused, "Judge", points=[])
    config = read_configuration({"profiles": [{"plugins": plugins}]})
    return profiles_from(config, registry, dict.fromkeys(extra, lambda _: 1))["default-scheduler"]


def scores(profile: Profile) -> list[tuple[str, int]]:
    return [(one.name, one.weight) for one in profile.points["score"]]


def filters(profile: Profile) -> list[str]:
    return [one.name for one in profile.points["filter"]]


def rejected(extra: tuple[str, ...] = (), **plugins: Any) -> str:
    with pytest.raises(InputError) as caught:
        expand(extra, **plugins)
    return str(caught.value)


class TestDefaultSet:
    def test_every_point(self) -> None:
        profile = expand()
        assert {point: [one.name for one in at] for point, at in profile.points.items()} == {
            "preEnqueue": ["SchedulingGates", "DynamicResources", "DefaultPreemption"],
            "queueSort": ["PrioritySort"],
            "preFilter": [
                "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions",
                "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread",
                "InterPodAffinity", "DynamicResources", "NodeDeclaredFeatures",
            ],
            "filter": [
                "NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts",
                "NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding",
                "VolumeZone", "PodTopologySpread", "InterPodAffinity", "DynamicResources",
                "NodeDeclaredFeatures",
            ],
            "postFilter": ["DynamicResources", "DefaultPreemption"],
            "preScore": [
                "TaintToleration", "NodeAffinity", "NodeResourcesFit", "VolumeBinding",
                "PodTopologySpread", "InterPodAffinity", "NodeResourcesBalancedAllocation",
            ],
            "score": [name for name, _ in DEFAULT_SCORES],
            "reserve": ["VolumeBinding", "DynamicResources"],
            "permit": [],
            "preBind": ["VolumeBinding", "DynamicResources"],
            "bind": ["DefaultBinder"],
            "postBind": [],
        }  # fmt: skip
        assert list(profile.points) == list(EXTENSION_POINTS)
        assert scores(profile) == DEFAULT_SCORES
        assert len(profile.plugins) == 20

    def test_only_scores_have_weights(self) -> None:
        profile = expand()
        weights = {
            one.weight
            for point in EXTENSION_POINTS
            if point != "score"
            for one in profile.points[point]
        }
        assert weights == {0}


class TestMultiPoint:
    def test_a_new_weight_keeps_the_place(self) -> None:
        profile = expand(multiPoint={"enabled": names(("NodeAffinity", 9))})
        assert scores(profile)[:3] == [
            ("TaintToleration", 3),
            ("NodeAffinity", 9),
            ("NodeResourcesFit", 1),
        ]

    def test_a_plugin_named_again_without_weight_has_weight_one(self) -> None:
        profile = expand(multiPoint={"enabled": names("TaintToleration")})
        assert scores(profile)[0] == ("TaintToleration", 1)

    def test_own_plugins_come_last(self) -> None:
        profile = expand(multiPoint={"enabled": names(("Mine", 4))})
        assert filters(profile)[-2:] == ["NodeDeclaredFeatures", "Mine"]
        assert scores(profile) == [*DEFAULT_SCORES, ("Mine", 4)]

    def test_disabling(self) -> None:
        profile = expand(multiPoint={"disabled": names("NodeAffinity", "Unheard")})
        assert "NodeAffinity" not in filters(profile)
        assert "NodeAffinity" not in profile.plugins
        assert ("NodeAffinity", 2) not in scores(profile)

    def test_enabling_is_stronger_than_disabling_but_comes_last(self) -> None:
        profile = expand(
            multiPoint={
                "disabled": names("NodeName"),
                "enabled": names("Mine", "NodeName"),
            }
        )
        assert filters(profile)[-2:] == ["Mine", "NodeName"]

    def test_disabling_all(self) -> None:
        profile = expand(
            multiPoint={
                "disabled": names("*"),
                "enabled": names("DefaultBinder", ("NodeAffinity", 0), "PrioritySort", "NodeName"),
            }
        )
        assert filters(profile) == ["NodeAffinity", "NodeName"]
        assert scores(profile) == [("NodeAffinity", 1)]
        assert profile.plugins == ("DefaultBinder", "NodeAffinity", "PrioritySort", "NodeName")


class TestOnePoint:
    def test_those_of_multipoint_come_first_in_the_given_order(self) -> None:
        profile = expand(
            score={"enabled": names("Mine", ("ImageLocality", 7), ("NodeAffinity", 5))},
        )
        assert scores(profile) == [
            ("ImageLocality", 7),
            ("NodeAffinity", 5),
            ("TaintToleration", 3),
            ("NodeResourcesFit", 1),
            ("VolumeBinding", 1),
            ("PodTopologySpread", 2),
            ("InterPodAffinity", 2),
            ("DynamicResources", 2),
            ("NodeResourcesBalancedAllocation", 1),
            ("Mine", 1),
        ]
        assert "Mine" not in filters(profile)
        assert profile.plugins[-1] == "Mine"

    def test_disabling_one(self) -> None:
        profile = expand(score={"disabled": names("NodeAffinity")})
        assert ("NodeAffinity", 2) not in scores(profile)
        assert "NodeAffinity" in filters(profile)

    def test_disabling_all(self) -> None:
        profile = expand(score={"disabled": names("*"), "enabled": names(("NodeAffinity", 4))})
        assert scores(profile) == [("NodeAffinity", 4)]
        assert len(filters(profile)) == 14

    def test_a_plugin_both_enabled_and_disabled_loses_only_its_place(self) -> None:
        profile = expand(
            score={"disabled": names("NodeAffinity"), "enabled": names("NodeAffinity", "Mine")}
        )
        assert scores(profile)[-2:] == [("NodeAffinity", 1), ("Mine", 1)]

    def test_the_weight_at_score_is_stronger(self) -> None:
        profile = expand(
            multiPoint={"enabled": names(("Mine", 4))}, score={"enabled": names(("Mine", 6))}
        )
        assert scores(profile)[0] == ("Mine", 6)
        profile = expand(
            multiPoint={"enabled": names(("Mine", 4))}, score={"enabled": names("Mine")}
        )
        assert scores(profile)[0] == ("Mine", 1)


class TestRejections:
    @pytest.mark.parametrize(
        ("plugins", "sentence"),
        [
            (
                {"filter": {"enabled": names("NodeName", "NodeNam")}},
                (
                    "profiles[0].plugins.filter.enabled[1].name: there is no plugin 'NodeNam': "
                    "did you mean NodeName? `moor plugins` lists them"
                ),
            ),
            (
                {"multiPoint": {"enabled": names("Coscheduling")}},
                (
                    "profiles[0].plugins.multiPoint.enabled[0].name: there is no plugin "
                    "'Coscheduling': `moor plugins` lists them"
                ),
            ),
            (
                {"score": {"enabled": names("NodePorts")}},
                (
                    "profiles[0].plugins.score.enabled[0].name: NodePorts does not implement "
                    "score: it implements preFilter, filter"
                ),
            ),
            (
                {"score": {"enabled": names("Judge")}},
                (
                    "profiles[0].plugins.score.enabled[0].name: Judge does not implement "
                    "score: it implements no extension point"
                ),
            ),
            (
                {"score": {"enabled": names("Mine", "Mine")}},
                "profiles[0].plugins.score.enabled[1].name: Mine is enabled more than once",
            ),
            (
                {"multiPoint": {"enabled": names("Mine", "NodeName", "Mine")}},
                ("profiles[0].plugins.multiPoint.enabled[2].name: Mine is enabled more than once"),
            ),
            (
                {"multiPoint": {"enabled": names("NodeName", "NodeName")}},
                (
                    "profiles[0].plugins.multiPoint.enabled[0].name: NodeName is enabled more "
                    "than once"
                ),
            ),
            (
                {"multiPoint": {"disabled": names("PrioritySort")}},
                (
                    "profiles[0].plugins.queueSort: exactly one plugin must sort the queue, but "
                    "none does: enable only PrioritySort or another"
                ),
            ),
            (
                {"queueSort": {"enabled": names("Yours")}},
                (
                    "profiles[0].plugins.queueSort: exactly one plugin must sort the queue, "
                    "but 2 do (PrioritySort, Yours): enable only PrioritySort or another"
                ),
            ),
            (
                {"bind": {"disabled": names("*")}},
                "profiles[0].plugins.bind: no plugin binds pods: enable DefaultBinder",
            ),
            (
                {"placementScore": {"enabled": names("NodeResourcesFit")}},
                (
                    "profiles[0].plugins.placementScore.enabled[0]: mooring does not support "
                    "pod groups: remove it"
                ),
            ),
            (
                {"score": {"enabled": names(("Mine", -5), "NodeAffinity")}},
                (
                    "profiles[0].plugins.score.enabled[1].name: the sum of the preceding "
                    "weights is negative: weights must be at least 1"
                ),
            ),
        ],
    )
    def test_one_sentence(self, plugins: dict[str, Any], sentence: str) -> None:
        assert rejected(**plugins) == sentence

    def test_a_weight_below_zero_works_where_it_works_in_kube_scheduler(self) -> None:
        profile = expand(multiPoint={"enabled": names(("ImageLocality", -5))})
        assert scores(profile)[-1] == ("ImageLocality", -5)

    def test_a_sorter_in_place_of_another(self) -> None:
        profile = expand(
            queueSort={"enabled": names("Yours"), "disabled": names("PrioritySort")},
        )
        assert [one.name for one in profile.points["queueSort"]] == ["Yours"]

    def test_many_mistakes(self) -> None:
        sentence = rejected(
            score={"enabled": names("A", "B", "NodeName")}, bind={"disabled": names("*")}
        )
        assert [text.partition(":")[0] for text in sentence.split("; ")] == [
            "profiles[0].plugins.score.enabled[0].name",
            "profiles[0].plugins.score.enabled[1].name",
            "profiles[0].plugins.score.enabled[2].name",
            "profiles[0].plugins.bind",
        ]


class TestExtra:
    """A policy is enabled in every profile that does not say otherwise."""

    def test_it_comes_after_the_default_set(self) -> None:
        profile = expand(("Mine",))
        assert filters(profile)[-1] == "Mine"
        assert scores(profile) == [*DEFAULT_SCORES, ("Mine", 1)]
        assert "Mine" in profile.plugins

    def test_a_plugin_without_a_point_is_made_all_the_same(self) -> None:
        assert expand(("Judge",)).plugins[-1] == "Judge"

    def test_disabling_all_default_plugins_leaves_it(self) -> None:
        profile = expand(
            ("Mine",),
            multiPoint={"disabled": names("*"), "enabled": names("PrioritySort", "DefaultBinder")},
        )
        assert filters(profile) == ["Mine"]

    def test_it_can_be_weighed(self) -> None:
        profile = expand(("Mine",), multiPoint={"enabled": names(("Mine", 5))})
        assert scores(profile)[-1] == ("Mine", 5)
        assert filters(profile).count("Mine") == 1

    def test_a_weight_at_score_leaves_its_filter(self) -> None:
        profile = expand(("Mine",), score={"enabled": names(("Mine", 5))})
        assert scores(profile)[0] == ("Mine", 5)
        assert filters(profile)[-1] == "Mine"

    def test_it_can_be_disabled(self) -> None:
        profile = expand(("Mine",), multiPoint={"disabled": names("Mine")})
        assert "Mine" not in profile.plugins
        profile = expand(("Mine",), filter={"disabled": names("Mine")})
        assert "Mine" not in filters(profile)
        assert ("Mine", 1) in scores(profile)

    def test_it_must_exist(self) -> None:
        assert rejected(("Nobody",)).startswith(
            "profiles[0].plugins.multiPoint: there is no plugin 'Nobody': "
        )
