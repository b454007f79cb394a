"""A Policy becomes a profile that checks and prefers the same."""

from typing import Any

import msgspec
import pytest
import yaml

from mooring.deploy.migration import migrate
from mooring.errors import InputError
from tests.unit.deploy.migration.migrated_configuration import (
    configuration,
    migrated_profile,
    names,
    notes,
    profile_of,
    weights,
)

#: Plugins that a Policy knows nothing about.
LATER_FILTERS = {"DynamicResources", "NodeDeclaredFeatures"}
LATER_SCORES = {"DynamicResources"}
MANDATORY = {"NodeUnschedulable", "TaintToleration"}


def policy(**fields: Any) -> str:
    return msgspec.json.encode({"kind": "Policy", "apiVersion": "v1", **fields}).decode()


@pytest.mark.parametrize(
    ("predicate", "plugins"),
    [
        ("GeneralPredicates", {"NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"}),
        ("PodFitsResources", {"NodeResourcesFit"}),
        ("HostName", {"NodeName"}),
        ("PodFitsHostPorts", {"NodePorts"}),
        ("PodFitsPorts", {"NodePorts"}),
        ("MatchNodeSelector", {"NodeAffinity"}),
        ("NoDiskConflict", {"VolumeRestrictions"}),
        ("NoVolumeZoneConflict", {"VolumeZone"}),
        ("CheckVolumeBinding", {"VolumeBinding"}),
        ("MaxCSIVolumeCountPred", {"NodeVolumeLimits"}),
        ("MaxEBSVolumeCount", {"NodeVolumeLimits"}),
        ("MaxCinderVolumeCount", {"NodeVolumeLimits"}),
        ("MatchInterPodAffinity", {"InterPodAffinity"}),
        ("EvenPodsSpread", {"PodTopologySpread"}),
        ("CheckNodeUnschedulable", set()),
        ("PodToleratesNodeTaints", set()),
        ("CheckNodeMemoryPressure", set()),
    ],
)
def test_a_predicate_is_a_filter(predicate: str, plugins: set[str]) -> None:
    profile = migrated_profile(policy(predicates=[{"name": predicate}], priorities=[]))
    assert names(profile, "filter") == MANDATORY | plugins | LATER_FILTERS
    assert names(profile, "score") == LATER_SCORES | (plugins & {"VolumeBinding"})
    # What prepares a filter runs with it and not without.
    before = names(migrated_profile(policy()), "preFilter")
    assert names(profile, "preFilter") == before & (plugins | LATER_FILTERS)


def test_volumes_are_bound_only_if_they_are_checked() -> None:
    with_it = migrated_profile(policy(predicates=[{"name": "CheckVolumeBinding"}]))
    assert "VolumeBinding" in names(with_it, "reserve")
    result = migrate(policy(predicates=[{"name": "HostName"}]), source="p")
    without = profile_of(result.text)
    assert "VolumeBinding" not in without.plugins
    assert "without CheckVolumeBinding" in notes(result, action=True)


def test_no_predicates_and_an_empty_list_differ() -> None:
    everything = migrated_profile(policy(priorities=[]))
    assert {"NodeResourcesFit", "VolumeBinding"} < names(everything, "filter")
    result = migrate(policy(predicates=[], priorities=[]), source="p")
    assert names(profile_of(result.text), "filter") == MANDATORY | LATER_FILTERS
    assert "pods are placed on full nodes" in notes(result, action=True)
    assert names(migrated_profile(policy(predicates=None)), "filter") == names(everything, "filter")


@pytest.mark.parametrize(
    ("priority", "plugin"),
    [
        ("LeastRequestedPriority", "NodeResourcesFit"),
        ("MostRequestedPriority", "NodeResourcesFit"),
        ("BalancedResourceAllocation", "NodeResourcesBalancedAllocation"),
        ("SelectorSpreadPriority", "PodTopologySpread"),
        ("ServiceSpreadingPriority", "PodTopologySpread"),
        ("EvenPodsSpreadPriority", "PodTopologySpread"),
        ("InterPodAffinityPriority", "InterPodAffinity"),
        ("NodeAffinityPriority", "NodeAffinity"),
        ("TaintTolerationPriority", "TaintToleration"),
        ("ImageLocalityPriority", "ImageLocality"),
    ],
)
def test_a_priority_is_a_score(priority: str, plugin: str) -> None:
    given = policy(predicates=[], priorities=[{"name": priority, "weight": 7}])
    profile = migrated_profile(given)
    assert weights(profile) == {plugin: 7, "DynamicResources": 2}
    assert names(profile, "filter") == MANDATORY | LATER_FILTERS


def test_no_priorities_are_the_default_ones_with_their_weights() -> None:
    assert weights(migrated_profile(policy())) == {
        "NodeResourcesFit": 1,
        "NodeResourcesBalancedAllocation": 1,
        "InterPodAffinity": 1,
        "NodeAffinity": 1,
        "TaintToleration": 1,
        "ImageLocality": 1,
        "PodTopologySpread": 2,
        "DynamicResources": 2,
        "VolumeBinding": 1,  # new in Kubernetes
    }


def args_of(result: str, plugin: str) -> Any:
    config = configuration(result)["profiles"][0].get("pluginConfig", [])
    return next((one["args"] for one in config if one["name"] == plugin), None)


class TestArguments:
    def test_most_requested(self) -> None:
        given = policy(priorities=[{"name": "MostRequestedPriority", "weight": 2}])
        result = migrate(given, source="p")
        strategy = {"scoringStrategy": {"type": "MostAllocated"}}
        assert args_of(result.text, "NodeResourcesFit") == strategy

    def test_least_requested_is_the_default(self) -> None:
        given = policy(priorities=[{"name": "LeastRequestedPriority", "weight": 2}])
        assert args_of(migrate(given, source="p").text, "NodeResourcesFit") is None

    def test_capacity_ratio(self) -> None:
        shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
        arguments = {"shape": shape, "resources": [{"name": "nvidia.com/gpu"}]}
        priority = {
            "name": "my-own",
            "weight": 3,
            "argument": {"requestedToCapacityRatioArguments": arguments},
        }
        result = migrate(policy(priorities=[priority]), source="p")
        assert args_of(result.text, "NodeResourcesFit") == {
            "scoringStrategy": {
                "type": "RequestedToCapacityRatio",
                "resources": [{"name": "nvidia.com/gpu", "weight": 1}],
                "requestedToCapacityRatio": {"shape": shape},
            }
        }
        assert weights(profile_of(result.text))["NodeResourcesFit"] == 3

    def test_two_ways_to_score_resources_do_not_fit_into_a_profile(self) -> None:
        least = {"name": "LeastRequestedPriority", "weight": 1}
        most = {"name": "MostRequestedPriority", "weight": 4}
        result = migrate(policy(priorities=[least, most]), source="p")
        assert weights(profile_of(result.text))["NodeResourcesFit"] == 4
        assert "priorities[0] LeastRequestedPriority: left out, because" in notes(
            result, action=True
        )

    def test_even_spreading_alone_has_no_default_constraints(self) -> None:
        even = {"name": "EvenPodsSpreadPriority", "weight": 1}
        result = migrate(policy(priorities=[even]), source="p")
        assert args_of(result.text, "PodTopologySpread") == {"defaultingType": "List"}
        both = policy(priorities=[even, {"name": "SelectorSpreadPriority", "weight": 5}])
        result = migrate(both, source="p")
        assert args_of(result.text, "PodTopologySpread") is None
        # As Kubernetes did, whose comment says otherwise.
        assert weights(profile_of(result.text))["PodTopologySpread"] == 1
        assert "raise it" in notes(result, action=True)

    def test_hard_pod_affinity(self) -> None:
        used = policy(hardPodAffinitySymmetricWeight=40)
        result = migrate(used, source="p")
        assert args_of(result.text, "InterPodAffinity") == {"hardPodAffinityWeight": 40}
        unused = policy(hardPodAffinitySymmetricWeight=40, priorities=[])
        result = migrate(unused, source="p")
        assert args_of(result.text, "InterPodAffinity") is None
        assert "never had an effect" in notes(result)

    def test_labels_that_nodes_must_have(self) -> None:
        predicates = [
            {"name": "a", "argument": {"labelsPresence": {"labels": ["disk"], "presence": True}}},
            {"name": "b", "argument": {"labelsPresence": {"labels": ["retired"]}}},
        ]
        result = migrate(policy(predicates=predicates), source="p")
        assert args_of(result.text, "NodeAffinity")["addedAffinity"] == {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "disk", "operator": "Exists"},
                            {"key": "retired", "operator": "DoesNotExist"},
                        ]
                    }
                ]
            }
        }
        assert "NodeAffinity" in names(profile_of(result.text), "filter")

    def test_labels_that_nodes_should_have(self) -> None:
        priorities = [
            {
                "name": label,
                "weight": 2,
                "argument": {"labelPreference": {"label": label, "presence": label == "ssd"}},
            }
            for label in ("ssd", "old")
        ]
        result = migrate(policy(priorities=priorities), source="p")
        terms = args_of(result.text, "NodeAffinity")["addedAffinity"][
            "preferredDuringSchedulingIgnoredDuringExecution"
        ]
        assert [one["preference"]["matchExpressions"][0]["operator"] for one in terms] == [
            "Exists",
            "DoesNotExist",
        ]
        assert weights(profile_of(result.text))["NodeAffinity"] == 4
        assert "see whether its weight is still right" in notes(result, action=True)

    @pytest.mark.parametrize("weight", [1, 9])
    def test_the_order_of_priorities_decides_nothing(self, weight: int) -> None:
        preference = {"labelPreference": {"label": "ssd", "presence": True}}
        priorities = [
            {"name": "ssd", "weight": 5, "argument": preference},
            {"name": "NodeAffinityPriority", "weight": weight},
        ]
        for listed in (priorities, priorities[::-1]):
            result = migrate(policy(priorities=listed), source="p")
            assert weights(profile_of(result.text))["NodeAffinity"] == max(5, weight)

    @pytest.mark.parametrize("others", [[], ["PodFitsResources"], ["GeneralPredicates"]])
    def test_selectors_of_pods_that_nobody_checked_are_noted(self, others: list[str]) -> None:
        presence = {"labelsPresence": {"labels": ["ssd"], "presence": True}}
        predicates = [{"name": "ssd", "argument": presence}, *({"name": one} for one in others)]
        result = migrate(policy(predicates=predicates), source="p")
        asked = "NodeAffinity also checks nodeSelector" in notes(result, action=True)
        assert asked is ("GeneralPredicates" not in others)

    @pytest.mark.parametrize("source", ["a\nkind: X\n#.yaml", "a\x1b[2J.yaml", "a\u2028b: c.yaml"])
    def test_names_stay_in_comments(self, source: str) -> None:
        text = {"label": "a\x1b[31m\nb: c"}
        priorities = [{"name": "x\x1b", "weight": 1, "argument": {"serviceAntiAffinity": text}}]
        result = migrate(policy(priorities=priorities), source=source)
        assert yaml.safe_load(result.text)["kind"] == "KubeSchedulerConfiguration"
        assert "b" not in yaml.safe_load(result.text)
        manifest = {"kind": "ConfigMap", "data": {source: policy(priorities=priorities)}}
        result = migrate(yaml.safe_dump(manifest), source="p")
        (inner,) = yaml.safe_load(result.text)["data"].values()
        assert yaml.safe_load(inner)["kind"] == "KubeSchedulerConfiguration"


class TestNoEquivalent:
    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            (
                {"priorities": [{"name": "NodePreferAvoidPodsPriority", "weight": 10000}]},
                "PreferNoSchedule",
            ),
            ({"priorities": [{"name": "ResourceLimitsPriority", "weight": 1}]}, "score function"),
            (
                {
                    "priorities": [
                        {
                            "name": "zones",
                            "weight": 1,
                            "argument": {"serviceAntiAffinity": {"label": "zone"}},
                        }
                    ]
                },
                "to spread pods over zone",
            ),
            (
                {
                    "predicates": [
                        {"name": "r", "argument": {"serviceAffinity": {"labels": ["rack"]}}}
                    ]
                },
                "podAffinity",
            ),
            ({"alwaysCheckAllPredicates": True}, "moor explain POD"),
        ],
    )
    def test_is_a_comment_that_says_what_to_do(self, fields: dict[str, Any], said: str) -> None:
        result = migrate(policy(**fields), source="p")
        assert said in notes(result, action=True)
        comments = [line[2:] for line in result.text.splitlines() if line.startswith("# ")]
        assert said in " ".join(" ".join(comments).split())
        assert "To do:" in comments


class TestExtenders:
    def test_old_names_and_units(self) -> None:
        given = {
            "urlPrefix": "https://extender/x",
            "FilterVerb": "filter",
            "BindVerb": "bind",
            "enableHttps": True,
            "httpTimeout": 1_500_000_000,
            "tlsConfig": {"Insecure": True, "CAFile": "/ca.pem"},
            "managedResources": [{"name": "example.com/foo", "ignoredByScheduler": True}],
            "ignorable": True,
        }
        result = migrate(policy(extenders=[given]), source="p")
        assert configuration(result.text)["extenders"] == [
            {
                "urlPrefix": "https://extender/x",
                "filterVerb": "filter",
                "bindVerb": "bind",
                "enableHTTPS": True,
                "httpTimeout": "1.5s",
                "tlsConfig": {"insecure": True, "caFile": "/ca.pem"},
                "managedResources": [{"name": "example.com/foo", "ignoredByScheduler": True}],
                "ignorable": True,
            }
        ]

    def test_version_in_the_address(self) -> None:
        given = {"urlPrefix": "http://e", "apiVersion": "v1beta1", "filterVerb": "f"}
        result = migrate(policy(extenders=[given]), source="p")
        assert "append it to urlPrefix" in notes(result, action=True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "kind: Policy\napiVersion: v1\npredicates:\n- name: PodFits\n",
            (
                "old.yaml, line 4: predicates[0].name: 'PodFits' is not a predicate of Kubernetes; "
                "correct or remove it"
            ),
        ),
        (
            "kind: Policy\npriorities:\n- name: ImageLocalityPriority\n  weight: 0\n",
            "old.yaml, line 4: priorities[0].weight: 0 is out of range: must be at least 1",
        ),
        (
            "kind: Policy\npriorities: []\npredicate: []\n",
            "old.yaml, line 3: predicate: unknown field: did you mean predicates?",
        ),
        (
            "kind: Policy\nextenders:\n- urlPrefix: http://a\n  filterVerbs: x\n",
            ("old.yaml, line 4: extenders[0].filterVerbs: unknown field: did you mean filterVerb?"),
        ),
        (
            "kind: Policy\nextenders:\n- urlPrefix: http://a\n  prioritizeVerb: x\n",
            "old.yaml, line 3: extenders[0].weight: ",
        ),
        (
            '{"kind": "Policy",\n\t"hardPodAffinitySymmetricWeight": 101}',
            (
                "old.yaml, line 2: hardPodAffinitySymmetricWeight: 101 is out of range: must be at "
                "most 100"
            ),
        ),
        (
            "kind: Policy\npredicates:\n- name: A\n- name: B\n",
            (
                "old.yaml, line 3: predicates[0].name: 'A' is not a predicate of Kubernetes; "
                "correct or remove it; line 4: predicates[1].name: 'B' is not a predicate of "
                "Kubernetes; correct or remove it"
            ),
        ),
    ],
)
def test_mistakes_have_file_line_and_field(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        migrate(text, source="old.yaml")
    assert str(raised.value).startswith(sentence)
