"""Reading KubeSchedulerConfiguration: fields, defaults, and files that are not one."""

from typing import Any

import pytest
import yaml

from mooring.config.configuration import (
    ClientConnectionConfiguration,
    Extender,
    ExtenderManagedResource,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    PluginConfig,
    PluginRef,
    Plugins,
    PluginSet,
    read_configuration,
)
from mooring.errors import InputError
from mooring.model.duration import Duration


def rejected(data: object) -> str:
    with pytest.raises(InputError) as caught:
        read_configuration(data)
    return str(caught.value)


# Values: kubernetes v1.36.4, pkg/scheduler/apis/config/v1/defaults_test.go.
DEFAULT = KubeSchedulerConfiguration(
    parallelism=16,
    leader_election=LeaderElectionConfiguration(
        leader_elect=True,
        lease_duration=Duration.parse("15s"),
        renew_deadline=Duration.parse("10s"),
        retry_period=Duration.parse("2s"),
        resource_lock="leases",
        resource_name="kube-scheduler",
        resource_namespace="kube-system",
    ),
    client_connection=ClientConnectionConfiguration(
        kubeconfig="",
        accept_content_types="",
        content_type="application/vnd.kubernetes.protobuf",
        qps=50,
        burst=100,
    ),
    enable_profiling=True,
    enable_contention_profiling=True,
    percentage_of_nodes_to_score=0,
    pod_initial_backoff_seconds=1,
    pod_max_backoff_seconds=10,
    profiles=(KubeSchedulerProfile(scheduler_name="default-scheduler"),),
    extenders=(),
    delay_cache_until_active=False,
)


class TestDefaults:
    @pytest.mark.parametrize(
        "data",
        [
            None,
            {},
            {"apiVersion": "kubescheduler.config.k8s.io/v1"},
            {"kind": "KubeSchedulerConfiguration"},
            {"profiles": []},
            {"profiles": [{}]},
            {"profiles": [{"schedulerName": None}]},
            {"parallelism": None, "leaderElection": None, "extenders": None},
        ],
    )
    def test_nothing_said(self, data: object) -> None:
        assert read_configuration(data) == DEFAULT

    def test_empty_means_default_where_go_cannot_tell(self) -> None:
        election = {
            "leaseDuration": "0s",
            "renewDeadline": "0",
            "retryPeriod": "0s",
            "resourceLock": "",
            "resourceName": "",
            "resourceNamespace": "",
        }
        connection = {"contentType": "", "qps": 0, "burst": 0}
        data = {"leaderElection": election, "clientConnection": connection}
        assert read_configuration(data) == DEFAULT

    @pytest.mark.parametrize(
        ("given", "contention"),
        [
            ({"enableProfiling": False}, False),
            ({"enableProfiling": False, "enableContentionProfiling": True}, True),
            ({"enableContentionProfiling": False}, False),
        ],
    )
    def test_contention_profiling(self, given: dict[str, bool], contention: bool) -> None:
        assert read_configuration(given).enable_contention_profiling is contention

    def test_an_extender_waits_five_seconds(self) -> None:
        found = read_configuration(
            {"extenders": [{"httpTimeout": "0s"}, {}, {"httpTimeout": "100ms"}]}
        )
        assert [str(one.http_timeout) for one in found.extenders] == ["5s", "5s", "100ms"]


WHOLE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 8
leaderElection:
  leaderElect: false
  leaseDuration: 1m
  renewDeadline: 40s
  retryPeriod: 5s
  resourceLock: leases
  resourceName: mine
  resourceNamespace: here
clientConnection:
  kubeconfig: /etc/scheduler.conf
  acceptContentTypes: application/json
  contentType: application/json
  qps: 12.5
  burst: 20
enableProfiling: false
enableContentionProfiling: false
percentageOfNodesToScore: 40
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
delayCacheUntilActive: true
profiles:
- schedulerName: packing
  percentageOfNodesToScore: 100
  plugins:
    preEnqueue: {disabled: [{name: SchedulingGates}]}
    multiPoint:
      enabled: [{name: Mine}, {name: ImageLocality, weight: 7}]
      disabled: [{name: "*"}]
    placementScore: {disabled: [{name: Other}]}
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
  - name: NodeAffinity
extenders:
- urlPrefix: https://127.0.0.1:8888
  filterVerb: filter
  preemptVerb: preempt
  prioritizeVerb: prioritize
  weight: 5
  bindVerb: bind
  enableHTTPS: true
  tlsConfig:
    insecure: true
    serverName: me
    certFile: c
    keyFile: k
    caFile: a
    certData: Y2VydA==
    keyData: a2V5
    caData: Y2E=
  httpTimeout: 1.5s
  nodeCacheCapable: true
  managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]
  ignorable: true
"""


def test_every_field() -> None:
    assert read_configuration(yaml.safe_load(WHOLE)) == KubeSchedulerConfiguration(
        parallelism=8,
        leader_election=LeaderElectionConfiguration(
            leader_elect=False,
            lease_duration=Duration.of_seconds(60),
            renew_deadline=Duration.of_seconds(40),
            retry_period=Duration.of_seconds(5),
            resource_lock="leases",
            resource_name="mine",
            resource_namespace="here",
        ),
        client_connection=ClientConnectionConfiguration(
            kubeconfig="/etc/scheduler.conf",
            accept_content_types="application/json",
            content_type="application/json",
            qps=12.5,
            burst=20,
        ),
        enable_profiling=False,
        enable_contention_profiling=False,
        percentage_of_nodes_to_score=40,
        pod_initial_backoff_seconds=2,
        pod_max_backoff_seconds=20,
        delay_cache_until_active=True,
        profiles=(
            KubeSchedulerProfile(
                scheduler_name="packing",
                percentage_of_nodes_to_score=100,
                plugins=Plugins(
                    pre_enqueue=PluginSet(disabled=(PluginRef("SchedulingGates"),)),
                    multi_point=PluginSet(
                        enabled=(PluginRef("Mine"), PluginRef("ImageLocality", 7)),
                        disabled=(PluginRef("*"),),
                    ),
                    placement_score=PluginSet(disabled=(PluginRef("Other"),)),
                ),
                plugin_config=(
                    PluginConfig(
                        "NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated"}}
                    ),
                    PluginConfig("NodeAffinity"),
                ),
            ),
        ),
        extenders=(
            Extender(
                url_prefix="https://127.0.0.1:8888",
                filter_verb="filter",
                preempt_verb="preempt",
                prioritize_verb="prioritize",
                weight=5,
                bind_verb="bind",
                enable_https=True,
                tls_config=ExtenderTLSConfig(
                    insecure=True,
                    server_name="me",
                    cert_file="c",
                    key_file="k",
                    ca_file="a",
                    cert_data=b"cert",
                    key_data=b"key",
                    ca_data=b"ca",
                ),
                http_timeout=Duration.parse("1.5s"),
                node_cache_capable=True,
                managed_resources=(
                    ExtenderManagedResource("example.com/gpu", ignored_by_scheduler=True),
                ),
                ignorable=True,
            ),
        ),
    )


def test_every_extension_point_has_its_name() -> None:
    assert [name for name, _ in Plugins().sets()] == [
        "preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score",
        "reserve", "permit", "preBind", "bind", "postBind", "multiPoint",
        "placementGenerate", "placementScore",
    ]  # fmt: skip


class TestRejections:
    @pytest.mark.parametrize(
        ("data", "sentence"),
        [
            ([], "a KubeSchedulerConfiguration must be an object, not a list"),
            ("x", "a KubeSchedulerConfiguration must be an object, not 'x'"),
            (
                {"apiVersion": "kubescheduler.config.k8s.io/v1beta3", "foo": 1},
                ("apiVersion: kubescheduler.config.k8s.io/v1beta3 is an old format; moor migrate "
                "FILE rewrites it to kubescheduler.config.k8s.io/v1"),
            ),
            (
                {"apiVersion": "componentconfig/v1alpha1", "kind": "KubeSchedulerConfiguration"},
                ("apiVersion: componentconfig/v1alpha1 is an old format; moor migrate FILE "
                "rewrites it to kubescheduler.config.k8s.io/v1"),
            ),
            (
                {"apiVersion": "v1", "kind": "Policy", "extenders": []},
                ("kind: Policy is an old format; moor migrate FILE rewrites it to "
                "kubescheduler.config.k8s.io/v1"),
            ),
            (
                {"predicates": []},
                ("predicates: Policy is an old format; moor migrate FILE rewrites it to "
                "kubescheduler.config.k8s.io/v1"),
            ),
            (
                {"apiVersion": "v1", "kind": "Pod"},
                ("apiVersion: 'v1' is not supported: must be kubescheduler.config.k8s.io/v1; "
                "kind: 'Pod' is not supported: must be KubeSchedulerConfiguration"),
            ),
            (
                {"profils": []},
                "profils: unknown field: did you mean profiles?",
            ),
            (
                {"profiles": [{"plugins": {"score": {"enabled": [{"name": "a"}] * 2 + [
                    {"name": "b", "weight": "5"}]}}}]},
                ("profiles[0].plugins.score.enabled[2].weight: '5' is invalid: must be an integer"),
            ),
            (
                {"profiles": [{"plugins": {"Filter": {}}}]},
                "profiles[0].plugins.Filter: unknown field: did you mean filter?",
            ),
            (
                {"profiles": [{"plugins": {"filter": {"enabled": [{"weight": 1}]}}}]},
                "profiles[0].plugins.filter.enabled[0].name: required value is missing",
            ),
            (
                {"profiles": [{"pluginConfig": [{"name": "A", "args": [1]}]}]},
                "profiles[0].pluginConfig[0].args: a list is invalid: must be an object",
            ),
            (
                {"extenders": [{"enableHttps": True}]},
                "extenders[0].enableHttps: unknown field: did you mean enableHTTPS?",
            ),
            (
                {"leaderElection": {"leaseDuration": 15}},
                ("leaderElection.leaseDuration: 15 is not a valid duration: use for example "
                 "15s, 1m30s or 100ms"),
            ),
            (
                {"percentageOfNodesToScore": 101},
                "percentageOfNodesToScore: 101 is out of range: must be at most 100",
            ),
            (
                {"profiles": [{"percentageOfNodesToScore": -1}]},
                "profiles[0].percentageOfNodesToScore: -1 is out of range: must be at least 0",
            ),
        ],
    )  # fmt: skip
    def test_one_sentence(self, data: Any, sentence: str) -> None:
        assert rejected(data) == sentence

    def test_many_mistakes(self) -> None:
        data = dict.fromkeys("abcdefg", 1) | {"parallelism": "x"}
        sentence = rejected(data)
        assert sentence.startswith("a: unknown field: remove it; b: ")
        assert sentence.endswith("; and 3 more problems")
