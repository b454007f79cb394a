"""KubeSchedulerConfiguration of every old version becomes v1 and does the same."""

from typing import Any

import pytest
import yaml

from mooring.config.configuration import read_configuration
from mooring.deploy.migration import Migrated, migrate, migrate_all
from mooring.errors import InputError
from tests.unit.deploy.migration.migrated_configuration import (
    configuration,
    names,
    notes,
    profile_of,
    weights,
)

COMPONENT_CONFIG = "componentconfig/v1alpha1"
GROUP = "kubescheduler.config.k8s.io"
V1ALPHA1, V1ALPHA2 = f"{GROUP}/v1alpha1", f"{GROUP}/v1alpha2"
V1BETA1, V1BETA2, V1BETA3 = (f"{GROUP}/v1beta{number}" for number in (1, 2, 3))
OF_ONE_PROFILE = [COMPONENT_CONFIG, V1ALPHA1]
OF_PROFILES = [V1ALPHA2, V1BETA1, V1BETA2, V1BETA3]
DEFAULTS_OF_V1 = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "VolumeBinding": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
OLD_DEFAULTS = DEFAULTS_OF_V1 | {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1}


def old(version: str, **fields: Any) -> str:
    data = {"apiVersion": version, "kind": "KubeSchedulerConfiguration", **fields}
    return yaml.safe_dump(data, sort_keys=False)


def migrated(version: str, **fields: Any) -> Migrated:
    result = migrate(old(version, **fields), source="old.yaml")
    assert result.found == (version,)
    read_configuration(configuration(result.text))
    return result


def with_profile(version: str, **fields: Any) -> Migrated:
    """A configuration whose only profile has these fields."""
    if version in OF_ONE_PROFILE:
        return migrated(version, **fields)
    return migrated(version, profiles=[fields])


def points(result: Migrated) -> Any:
    return configuration(result.text)["profiles"][0].get("plugins", {})


def args_of(result: Migrated, plugin: str) -> Any:
    config = configuration(result.text)["profiles"][0].get("pluginConfig", [])
    return next((one["args"] for one in config if one["name"] == plugin), None)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        *((one, OLD_DEFAULTS) for one in (*OF_ONE_PROFILE, V1ALPHA2, V1BETA1, V1BETA2)),
        (V1BETA3, DEFAULTS_OF_V1),
    ],
)
def test_default_weights_stay_those_of_the_version(version: str, expected: dict[str, int]) -> None:
    result = migrated(version)
    assert weights(profile_of(result.text)) == expected
    changed = expected != DEFAULTS_OF_V1
    assert ("delete them to take those of v1" in notes(result)) is changed
    assert points(result).keys() == ({"score"} if changed else set())


@pytest.mark.parametrize("version", [*OF_ONE_PROFILE, *OF_PROFILES])
def test_fields_that_v1_has_are_kept(version: str) -> None:
    fields = {
        "leaderElection": {
            "leaderElect": True,
            "leaseDuration": "30s",
            "renewDeadline": "20s",
            "retryPeriod": "2s",
            "resourceName": "mine",
            "resourceNamespace": "ops",
        },
        "clientConnection": {"kubeconfig": "/k", "qps": 100, "burst": 200},
        "enableProfiling": False,
        "enableContentionProfiling": False,
        "percentageOfNodesToScore": 30,
        "podInitialBackoffSeconds": 2,
        "podMaxBackoffSeconds": 20,
    }
    found = configuration(migrated(version, **fields).text)
    assert {name: found[name] for name in fields} == fields


class TestOneProfile:
    @pytest.mark.parametrize("version", OF_ONE_PROFILE)
    def test_names(self, version: str) -> None:
        result = migrated(
            version,
            schedulerName="mine",
            leaderElection={"lockObjectName": "lock", "lockObjectNamespace": "ops"},
        )
        found = configuration(result.text)
        assert found["profiles"][0]["schedulerName"] == "mine"
        election = {"resourceName": "lock", "resourceNamespace": "ops"}
        assert found["leaderElection"] == election

    def test_two_names_of_the_lock_that_differ(self) -> None:
        election = {"lockObjectName": "a", "resourceName": "b"}
        with pytest.raises(InputError, match=r"line 4: leaderElection.lockObjectName: 'a' and"):
            migrated(V1ALPHA1, leaderElection=election)
        same = {"lockObjectName": "a", "resourceName": "a"}
        assert configuration(migrated(V1ALPHA1, leaderElection=same).text)["leaderElection"] == {
            "resourceName": "a"
        }

    def test_what_became_arguments_of_plugins(self) -> None:
        result = migrated(V1ALPHA1, hardPodAffinitySymmetricWeight=50, bindTimeoutSeconds=60)
        assert args_of(result, "InterPodAffinity") == {"hardPodAffinityWeight": 50}
        assert args_of(result, "VolumeBinding") == {"bindTimeoutSeconds": 60}

    @pytest.mark.parametrize("version", [V1ALPHA1, V1ALPHA2])
    def test_no_preemption(self, version: str) -> None:
        profile = profile_of(migrated(version, disablePreemption=True).text)
        assert "DefaultPreemption" not in profile.plugins
        kept = profile_of(migrated(version, disablePreemption=False).text)
        assert "DefaultPreemption" in kept.plugins

    def test_no_equivalent(self) -> None:
        result = migrated(
            V1ALPHA1,
            healthzBindAddress="127.0.0.1:10251",
            metricsBindAddress="0.0.0.0:0",
            failureDomains="kubernetes.io/hostname",
            leaderElection={"resourceLock": "endpoints"},
        )
        said = notes(result, action=True)
        assert "healthzBindAddress: no equivalent (127.0.0.1:10251)" in said
        assert "--bind-address=127.0.0.1 --secure-port=10259" in said
        assert "metricsBindAddress" not in said  # it was off
        assert "topologyKey" in said
        assert "stop the old ones before you start the new ones" in said
        assert configuration(result.text)["leaderElection"]["resourceLock"] == "leases"

    def test_providers(self) -> None:
        result = migrated(V1ALPHA1, algorithmSource={"provider": "ClusterAutoscalerProvider"})
        strategy = {"scoringStrategy": {"type": "MostAllocated"}}
        assert args_of(result, "NodeResourcesFit") == strategy
        default = migrated(V1ALPHA1, algorithmSource={"provider": "DefaultProvider"})
        assert args_of(default, "NodeResourcesFit") is None
        with pytest.raises(InputError, match=r"line 4: algorithmSource.provider: 'Mine' is not a"):
            migrated(V1ALPHA1, algorithmSource={"provider": "Mine"})

    def test_a_policy_that_is_not_there(self) -> None:
        source = {"policy": {"file": {"path": "/etc/policy.json"}}}
        with pytest.raises(InputError) as raised:
            migrated(V1ALPHA1, algorithmSource=source)
        assert str(raised.value) == (
            "old.yaml, line 6: algorithmSource.policy.file.path: the Policy '/etc/policy.json' is "
            "not among the given files; give the file that has it, too"
        )

    def test_a_policy_in_a_file_for_a_config_map_that_is_not_given(self) -> None:
        source = {"policy": {"configMap": {"namespace": "default", "name": "mine"}}}
        config = ("old.yaml", old(COMPONENT_CONFIG, algorithmSource=source))
        policy = '{"kind": "Policy", "apiVersion": "v1", "predicates": []}'
        results = migrate_all([config, ("policy.json", policy)])
        assert [one.state for one in results] == ["migrated", "merged"]
        assert (
            "algorithmSource.policy.configMap: ConfigMap default/mine is not among the given "
            "files; the Policy in policy.json is taken for it"
        ) in notes(results[0])
        given = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: mine, namespace: default}\n"
        for others in (
            [("a.json", policy), ("b.json", policy)],  # which one is not clear
            [("policy.json", policy), ("given.yaml", given)],  # the ConfigMap itself has none
        ):
            with pytest.raises(InputError, match="mine with a Policy is not among the given files"):
                migrate_all([config, *others])

    def test_points_that_have_other_names(self) -> None:
        plugins = {
            "postFilter": {"enabled": [{"name": "Mine"}]},
            "reserve": {"enabled": [{"name": "Mine"}]},
            "unreserve": {"enabled": [{"name": "Mine"}, {"name": "Other"}]},
        }
        found = points(migrated(V1ALPHA1, plugins=plugins))
        assert found["preScore"] == {"enabled": [{"name": "Mine"}]}
        assert found["reserve"] == {"enabled": [{"name": "Mine"}, {"name": "Other"}]}
        assert found.keys() == {"preScore", "score", "reserve"}


class TestRemovedPlugins:
    @pytest.mark.parametrize("version", [V1ALPHA1, V1ALPHA2, V1BETA1])
    def test_most_allocated_in_place_of_least_allocated(self, version: str) -> None:
        score = {
            "disabled": [{"name": "NodeResourcesLeastAllocated"}],
            "enabled": [{"name": "NodeResourcesMostAllocated", "weight": 5}],
        }
        resources = [{"name": "cpu", "weight": 2}, {"name": "example.com/gpu"}]
        config = [{"name": "NodeResourcesMostAllocated", "args": {"resources": resources}}]
        result = with_profile(version, plugins={"score": score}, pluginConfig=config)
        assert weights(profile_of(result.text)) == OLD_DEFAULTS | {"NodeResourcesFit": 5}
        assert args_of(result, "NodeResourcesFit")["scoringStrategy"] == {
            "type": "MostAllocated",
            "resources": [
                {"name": "cpu", "weight": 2},
                {"name": "example.com/gpu", "weight": 1},
            ],
        }
        assert "NodeResourcesMostAllocated" not in str(points(result))

    def test_least_allocated_off(self) -> None:
        score = {"disabled": [{"name": "NodeResourcesLeastAllocated"}]}
        result = with_profile(V1BETA1, plugins={"score": score})
        profile = profile_of(result.text)
        assert "NodeResourcesFit" not in names(profile, "score")
        assert "NodeResourcesFit" in names(profile, "filter")

    def test_arguments_of_least_allocated(self) -> None:
        resources = [{"name": "memory", "weight": 3}]
        config = [{"name": "NodeResourcesLeastAllocated", "args": {"resources": resources}}]
        result = with_profile(V1BETA1, pluginConfig=config)
        strategy = {"type": "LeastAllocated", "resources": resources}
        assert args_of(result, "NodeResourcesFit") == {"scoringStrategy": strategy}

    def test_both_ways_of_scoring_resources(self) -> None:
        score = {"enabled": [{"name": "NodeResourcesMostAllocated"}]}
        result = with_profile(V1BETA1, plugins={"score": score})
        assert "it was on by default beside" in notes(result, action=True)
        assert weights(profile_of(result.text))["NodeResourcesFit"] == 1

    def test_capacity_ratio(self) -> None:
        shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
        score = {
            "disabled": [{"name": "*"}],
            "enabled": [{"name": "RequestedToCapacityRatio", "weight": 3}],
        }
        config = [{"name": "RequestedToCapacityRatio", "args": {"shape": shape}}]
        result = with_profile(V1ALPHA2, plugins={"score": score}, pluginConfig=config)
        assert weights(profile_of(result.text)) == {"NodeResourcesFit": 3}
        strategy = args_of(result, "NodeResourcesFit")["scoringStrategy"]
        assert strategy["requestedToCapacityRatio"] == {"shape": shape}

    @pytest.mark.parametrize(
        ("version", "plugin"),
        [(V1ALPHA2, "DefaultPodTopologySpread"), (V1BETA1, "SelectorSpread")],
    )
    def test_spreading(self, version: str, plugin: str) -> None:
        both = {"preScore": {"enabled": [{"name": plugin}]}}
        both["score"] = {"enabled": [{"name": plugin, "weight": 4}]}  # type: ignore[dict-item]
        result = with_profile(version, plugins=both)
        assert weights(profile_of(result.text)) == OLD_DEFAULTS
        both["score"]["disabled"] = both["preScore"]["disabled"] = [{"name": "*"}]
        result = with_profile(version, plugins=both)
        assert weights(profile_of(result.text)) == {"PodTopologySpread": 4}
        assert names(profile_of(result.text), "preScore") == {"PodTopologySpread"}

    @pytest.mark.parametrize(("weight", "asked"), [(2, False), (5, True)])
    def test_more_weight_for_spreading_is_noted(self, weight: int, asked: bool) -> None:
        score = {"enabled": [{"name": "SelectorSpread", "weight": weight}]}
        result = with_profile(V1BETA1, plugins={"score": score})
        assert ("raise it if spreading" in notes(result, action=True)) is asked

    def test_spreading_rejects_no_node_that_it_did_not_reject(self) -> None:
        plugins = [{"name": one} for one in ("PrioritySort", "DefaultBinder")]
        plugins.append({"name": "SelectorSpread", "weight": 4})  # type: ignore[dict-item]
        multi = {"multiPoint": {"disabled": [{"name": "*"}], "enabled": plugins}}
        result = with_profile(V1BETA3, plugins=multi)
        assert weights(profile_of(result.text)) == {"PodTopologySpread": 4}
        assert names(profile_of(result.text), "preScore") == {"PodTopologySpread"}
        assert names(profile_of(result.text), "filter") == set()

    @pytest.mark.parametrize("weight", [1, 9])
    def test_the_weight_of_preferred_labels(self, weight: int) -> None:
        score = {"enabled": [{"name": "NodeLabel", "weight": weight}]}
        config = [{"name": "NodeLabel", "args": {"presentLabelsPreference": ["c"]}}]
        result = with_profile(V1BETA1, plugins={"score": score}, pluginConfig=config)
        assert weights(profile_of(result.text)) == {**OLD_DEFAULTS, "NodeAffinity": weight}

    def test_arguments_of_a_removed_plugin_are_removed(self) -> None:
        args = {"apiVersion": V1BETA1, "kind": "ServiceAffinityArgs", "affinityLabels": ["a"]}
        enabled = {"score": {"enabled": [{"name": "ServiceAffinity", "weight": 2}]}}
        config = [{"name": "ServiceAffinity", "args": args}]
        for plugins in ({}, enabled):
            result = with_profile(V1BETA1, plugins=plugins, pluginConfig=config)
            assert "affinityLabels" not in result.text

    def test_no_spreading(self) -> None:
        plugins = {point: {"disabled": [{"name": "SelectorSpread"}]} for point in ("score",)}
        result = with_profile(V1BETA1, plugins=plugins)
        assert args_of(result, "PodTopologySpread") == {"defaultingType": "List"}
        assert "SelectorSpread" not in str(points(result))

    @pytest.mark.parametrize("version", OF_PROFILES)
    def test_limits_of_volumes(self, version: str) -> None:
        limits = ["EBSLimits", "GCEPDLimits", "AzureDiskLimits"]
        off = {"filter": {"disabled": [{"name": one} for one in limits]}}
        result = with_profile(version, plugins=off)
        assert "NodeVolumeLimits" in names(profile_of(result.text), "filter")
        assert "disable it as well" in notes(result, action=True)
        on = {"filter": {"disabled": [{"name": "*"}], "enabled": [{"name": one} for one in limits]}}
        result = with_profile(version, plugins=on)
        assert names(profile_of(result.text), "filter") == {"NodeVolumeLimits"}

    def test_node_labels(self) -> None:
        plugins = {
            "filter": {"enabled": [{"name": "NodeLabel"}]},
            "score": {"enabled": [{"name": "NodeLabel", "weight": 2}]},
        }
        args = {"presentLabels": ["a"], "absentLabels": ["b"], "presentLabelsPreference": ["c"]}
        config = [{"name": "NodeLabel", "args": args}]
        result = with_profile(V1BETA1, plugins=plugins, pluginConfig=config)
        affinity = args_of(result, "NodeAffinity")["addedAffinity"]
        terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert len(terms[0]["matchExpressions"]) == 2
        assert len(affinity["preferredDuringSchedulingIgnoredDuringExecution"]) == 1
        assert "NodeLabel at score" in notes(result, action=True)

    @pytest.mark.parametrize("plugin", ["NodePreferAvoidPods", "ServiceAffinity"])
    def test_no_equivalent(self, plugin: str) -> None:
        plugins = {"score": {"enabled": [{"name": plugin, "weight": 2}]}}
        result = with_profile(V1BETA1, plugins=plugins)
        assert f"{plugin}: removed" in notes(result, action=True)
        off = {"score": {"disabled": [{"name": plugin}]}}
        assert notes(with_profile(V1BETA1, plugins=off), action=True) == ""


class TestProfiles:
    @pytest.mark.parametrize("version", OF_PROFILES)
    def test_several(self, version: str) -> None:
        weight = {"enabled": [{"name": "NodeAffinity", "weight": 9}]}
        profiles = [
            {"schedulerName": "one"},
            {"schedulerName": "two", "plugins": {"score": weight}},
        ]
        found = configuration(migrated(version, profiles=profiles).text)["profiles"]
        assert [one["schedulerName"] for one in found] == ["one", "two"]
        assert {"name": "NodeAffinity", "weight": 9} in found[1]["plugins"]["score"]["enabled"]

    @pytest.mark.parametrize("version", OF_PROFILES)
    def test_kinds_of_arguments(self, version: str) -> None:
        args = {"apiVersion": version, "kind": "InterPodAffinityArgs", "hardPodAffinityWeight": 7}
        config = [
            {"name": "InterPodAffinity", "args": args},
            {"name": "Mine", "args": {"apiVersion": "example.com/v1beta1", "kind": "MineArgs"}},
        ]
        result = migrated(version, profiles=[{"pluginConfig": config}])
        assert args_of(result, "InterPodAffinity") == args | {"apiVersion": f"{GROUP}/v1"}
        assert args_of(result, "Mine")["apiVersion"] == "example.com/v1beta1"

    def test_default_constraints_are_a_list(self) -> None:
        constraint = {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "ScheduleAnyway",
        }
        config = [{"name": "PodTopologySpread", "args": {"defaultConstraints": [constraint]}}]
        result = migrated(V1BETA1, profiles=[{"pluginConfig": config}])
        assert args_of(result, "PodTopologySpread")["defaultingType"] == "List"

    def test_multi_point(self) -> None:
        plugins = {"multiPoint": {"enabled": [{"name": "Mine"}], "disabled": [{"name": "*"}]}}
        plugins |= {"queueSort": {"enabled": [{"name": "PrioritySort"}]}}
        found = migrated(V1BETA3, profiles=[{"plugins": plugins}])
        assert points(found) == plugins
        assert "Mine: not part of kube-scheduler" in notes(found)

    @pytest.mark.parametrize("version", OF_PROFILES)
    def test_extenders(self, version: str) -> None:
        extender = {"urlPrefix": "http://e", "filterVerb": "f", "nodeCacheCapable": True}
        timeout = 2_000_000_000 if version == V1ALPHA2 else "2s"
        result = migrated(version, extenders=[{**extender, "httpTimeout": timeout}])
        assert configuration(result.text)["extenders"] == [{**extender, "httpTimeout": "2s"}]

    def test_everything_off_needs_no_weights(self) -> None:
        score = {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality"}]}
        result = with_profile(V1BETA2, plugins={"score": score})
        assert weights(profile_of(result.text)) == {"ImageLocality": 1}
        assert list(result.notes) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            old(V1BETA2, schedulerName="x"),
            (
                "old.yaml, line 3: schedulerName: kubescheduler.config.k8s.io/v1beta2 has no such "
                "field, it is one of v1alpha1; correct apiVersion or remove it"
            ),
        ),
        (
            old(V1BETA1, profils=[]),
            "old.yaml, line 3: profils: unknown field: did you mean profiles?",
        ),
        (
            old(V1BETA3, profiles=[{"plugins": {"scores": {}}}]),
            "old.yaml, line 5: profiles[0].plugins.scores: unknown field: did you mean",
        ),
        (
            old(V1ALPHA2, percentageOfNodesToScore="many"),
            "old.yaml, line 3: percentageOfNodesToScore: 'many' is invalid: must be",
        ),
        (
            old(f"{GROUP}/v1beta9"),
            "old.yaml, line 1: apiVersion: 'kubescheduler.config.k8s.io/v1beta9' is not a version",
        ),
        (
            old(
                V1BETA2,
                profiles=[{"pluginConfig": [{"name": "InterPodAffinity", "args": {"hard": 1}}]}],
            ),
            "old.yaml, line 5: the args of InterPodAffinity.hard: unknown field",
        ),
        (
            old(V1BETA2, leaderElection={"leaseDuration": "soon"}),
            "old.yaml, line 4: leaderElection.leaseDuration: 'soon' is not a valid duration",
        ),
        ("apiVersion: [", "old.yaml is not YAML: "),
    ],
)
def test_mistakes_have_file_line_and_field(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        migrate(text, source="old.yaml")
    assert str(raised.value).startswith(sentence)


def test_v1_stays_as_it_is() -> None:
    text = f"# mine\napiVersion: {GROUP}/v1\nkind: KubeSchedulerConfiguration\n"
    result = migrate(text, source="new.yaml")
    assert (result.state, result.text, result.notes) == ("current", text, ())


@pytest.mark.parametrize("version", [*OF_ONE_PROFILE, *OF_PROFILES])
def test_the_result_is_current(version: str) -> None:
    result = migrated(version)
    again = migrate(result.text, source="old.yaml")
    assert (again.state, again.text) == ("current", result.text)
