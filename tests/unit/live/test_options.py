"""Options and configuration together: who goes first, and what is rejected."""

from pathlib import Path
from typing import Any

import pytest

from mooring.errors import InputError
from mooring.framework.loading import load
from mooring.live.configz import shown_configuration
from mooring.live.options import (
    RateLimit,
    RunOptions,
    SchedulerSettings,
    read_settings,
    with_policy,
)
from mooring.testing.certificates import Authority

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://SERVER:6443"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""
POLICY = """
import mooring as mr

policy = mr.Policy("NAME")


@policy.filter
def check(pod, node):
    return True
"""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cluster from outside."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    return write(tmp_path / "kubeconfig", KUBECONFIG.replace("SERVER", "h"))


def write(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def read(
    kubeconfig: Path, config: dict[str, Any] | None = None, **options: Any
) -> SchedulerSettings:
    return read_settings(RunOptions(kubeconfig=kubeconfig, config=config, **options))


class TestProfiles:
    def test_the_default(self, kubeconfig: Path) -> None:
        settings = read(kubeconfig)
        assert list(settings.profiles) == ["default-scheduler"]
        assert not settings.whole_objects

    def test_as_written(self, kubeconfig: Path) -> None:
        config = {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}]}
        assert list(read(kubeconfig, config).profiles) == ["a", "b"]

    @pytest.mark.parametrize("config", [None, {}, {"profiles": [{"schedulerName": "old"}]}])
    def test_a_name_by_option(self, kubeconfig: Path, config: dict[str, Any] | None) -> None:
        settings = read(kubeconfig, config, scheduler_name="mine")
        assert list(settings.profiles) == ["mine"]
        assert [one.scheduler_name for one in settings.configuration.profiles] == ["mine"]

    def test_the_rest_of_the_profile_stays(self, kubeconfig: Path) -> None:
        disabled = {"multiPoint": {"disabled": [{"name": "ImageLocality"}]}}
        config = {"profiles": [{"schedulerName": "old", "plugins": disabled}]}
        settings = read(kubeconfig, config, scheduler_name="mine")
        assert "ImageLocality" not in settings.profiles["mine"].plugins

    def test_one_name_for_several_profiles(self, kubeconfig: Path) -> None:
        config = {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}]}
        with pytest.raises(InputError) as rejected:
            read(kubeconfig, config, scheduler_name="mine", config_name="c.yaml")
        assert str(rejected.value) == (
            "c.yaml: --scheduler-name mine is for a single profile, and there are 2; set their "
            "schedulerName instead"
        )

    def test_mistakes_are_told_with_the_files_name(self, kubeconfig: Path) -> None:
        with pytest.raises(InputError) as rejected:
            read(kubeconfig, {"podMaxBackofSeconds": 3}, config_name="c.yaml")
        assert str(rejected.value) == (
            "c.yaml: podMaxBackofSeconds: unknown field: did you mean podMaxBackoffSeconds?"
        )

    @pytest.mark.parametrize("profiles", [7, "x", [7], {"schedulerName": "a"}])
    def test_what_has_the_wrong_form_is_rejected_before_it_is_changed(
        self, kubeconfig: Path, profiles: object
    ) -> None:
        with pytest.raises(InputError, match="profiles"):
            read(kubeconfig, {"profiles": profiles}, scheduler_name="mine")


class TestPolicies:
    def test_a_policy_takes_part(self, kubeconfig: Path, tmp_path: Path) -> None:
        file = write(tmp_path / "one.py", POLICY.replace("NAME", "zones"))
        settings = read(kubeconfig, policy=str(file))
        assert settings.profiles["default-scheduler"].plugins[-1] == "zones"
        assert settings.whole_objects
        assert not settings.whole_victims

    def test_a_policy_says_how_much_it_can_decide(self, kubeconfig: Path, tmp_path: Path) -> None:
        text = POLICY.replace("NAME", "zones")
        filtering = write(tmp_path / "filtering.py", text)
        assert read(kubeconfig, policy=str(filtering)).says() == []
        scoring = write(
            tmp_path / "scoring.py", text.replace("@policy.filter", "@policy.score(max_score=1)")
        )
        assert read(kubeconfig, policy=str(scoring)).says() == [
            "policy zones can decide 50% of a node's total score (weight 14 of 28)"
        ]
        weighed = {"score": {"enabled": [{"name": "zones", "weight": 6}]}}
        off = {"score": {"disabled": [{"name": "*"}]}}
        profiles = [
            {"schedulerName": "one"},
            {"schedulerName": "two", "plugins": weighed},
            {"schedulerName": "three", "plugins": off},
        ]
        assert read(kubeconfig, {"profiles": profiles}, policy=str(scoring)).says() == [
            "policy zones can decide 50% of a node's total score (weight 14 of 28) in profile one",
            "policy zones can decide 30% of a node's total score (weight 6 of 20) in profile two",
        ]

    def test_a_policy_with_the_name_of_a_plugin(self, kubeconfig: Path, tmp_path: Path) -> None:
        file = write(tmp_path / "two.py", POLICY.replace("NAME", "NodeName"))
        with pytest.raises(InputError, match="'NodeName'"):
            read(kubeconfig, policy=str(file))

    def test_a_policy_that_is_reloaded(self, kubeconfig: Path, tmp_path: Path) -> None:
        file = write(tmp_path / "three.py", POLICY.replace("NAME", "zones"))
        config = {"profiles": [{"schedulerName": "mine"}]}
        settings = read(kubeconfig, config, policy=str(file), reload=True)
        assert (settings.policy_source, settings.reload) == (str(file), True)
        other = load(write(tmp_path / "four.py", POLICY.replace("NAME", "racks")))
        new = with_policy(settings, other)
        assert new.profiles["mine"].plugins[-1] == "racks"
        assert new.policies == (other,)
        assert settings.profiles["mine"].plugins[-1] == "zones"

    def test_only_a_policy_can_be_reloaded(self, kubeconfig: Path) -> None:
        with pytest.raises(InputError, match="specify the policy"):
            read(kubeconfig, reload=True)

    def test_a_policy_that_does_not_exist(self, kubeconfig: Path) -> None:
        with pytest.raises(InputError, match=r"none\.py does not exist"):
            read(kubeconfig, policy="none.py")


class TestClusters:
    def test_the_option_goes_first(self, tmp_path: Path, kubeconfig: Path) -> None:
        other = write(tmp_path / "other", KUBECONFIG.replace("SERVER", "other"))
        config = {"clientConnection": {"kubeconfig": str(other)}}
        assert read(kubeconfig, config).cluster.server == "https://h:6443"
        settings = read_settings(RunOptions(config=config))
        assert settings.cluster.server == "https://other:6443"

    def test_the_environment(self, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        assert read_settings(RunOptions()).cluster.server == "https://h:6443"

    def test_none(self, tmp_path: Path) -> None:
        # The one in the home folder may be any cluster: it is used only when asked for.
        (tmp_path / ".kube").mkdir()
        write(tmp_path / ".kube" / "config", KUBECONFIG)
        with pytest.raises(InputError) as rejected:
            read_settings(RunOptions())
        assert str(rejected.value) == (
            f"a scheduler needs a cluster, and none is configured: use --kubeconfig FILE, "
            f"set KUBECONFIG, or run inside the cluster; {tmp_path}/.kube/config is not used "
            "by default: --context x uses its current context"
        )
        assert read_settings(RunOptions(context="x")).cluster.server == "https://SERVER:6443"

    def test_one_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="none"):
            read(tmp_path / "none")


class TestLeases:
    def test_kube_schedulers_own_in_its_place(self, kubeconfig: Path) -> None:
        lease = read(kubeconfig).lease
        assert lease is not None
        assert (lease.namespace, lease.name) == ("kube-system", "kube-scheduler")
        assert (lease.lease_seconds, lease.renew_seconds, lease.retry_seconds) == (15, 10, 2)

    @pytest.mark.parametrize(
        ("name", "lease_name"),
        [("mine", "mine"), ("My_Scheduler", "my-scheduler"), ("_", "kube-scheduler")],
    )
    def test_another_beside_it(self, kubeconfig: Path, name: str, lease_name: str) -> None:
        lease = read(kubeconfig, scheduler_name=name).lease
        assert lease is not None
        assert lease.name == lease_name

    def test_as_written(self, kubeconfig: Path) -> None:
        election = {
            "resourceName": "kube-scheduler",
            "resourceNamespace": "ns",
            "retryPeriod": "1s",
        }
        lease = read(kubeconfig, {"leaderElection": election}, scheduler_name="mine").lease
        assert lease is not None
        assert (lease.namespace, lease.name, lease.retry_seconds) == ("ns", "kube-scheduler", 1)

    @pytest.mark.parametrize(
        ("written", "option", "elected"),
        [
            (None, None, True),
            (False, None, False),
            (None, False, False),
            (True, False, False),
            (False, True, True),
        ],
    )
    def test_on_or_off(
        self, kubeconfig: Path, written: bool | None, option: bool | None, elected: bool
    ) -> None:
        config = {} if written is None else {"leaderElection": {"leaderElect": written}}
        settings = read(kubeconfig, config, leader_elect=option)
        assert (settings.lease is not None) is elected

    def test_what_is_turned_on_is_checked(self, kubeconfig: Path) -> None:
        config = {"leaderElection": {"leaderElect": False, "leaseDuration": "1s"}}
        assert read(kubeconfig, config).lease is None
        with pytest.raises(InputError, match=r"leaderElection\.leaseDuration"):
            read(kubeconfig, config, leader_elect=True)


class TestRates:
    @pytest.mark.parametrize(
        ("connection", "rate"),
        [
            (None, None),
            ({}, None),
            ({"kubeconfig": ""}, None),
            ({"qps": 5}, RateLimit(5, 100)),
            ({"burst": 7}, RateLimit(50, 7)),
            ({"qps": 5, "burst": 7}, RateLimit(5, 7)),
            ({"qps": -1}, None),
            ({"qps": 0}, None),
        ],
    )
    def test_only_what_is_written(
        self, kubeconfig: Path, connection: dict[str, Any] | None, rate: RateLimit | None
    ) -> None:
        config = {} if connection is None else {"clientConnection": connection}
        assert read(kubeconfig, config).rate == rate


class TestWholeObjects:
    @pytest.mark.parametrize(
        ("extender", "victims"),
        [
            ({"filterVerb": "filter"}, False),
            ({"preemptVerb": "preempt"}, True),
            ({"preemptVerb": "preempt", "nodeCacheCapable": True}, False),
        ],
    )
    def test_extenders_want_them(
        self, kubeconfig: Path, extender: dict[str, Any], victims: bool
    ) -> None:
        settings = read(kubeconfig, {"extenders": [{"urlPrefix": "http://x", **extender}]})
        assert settings.whole_objects
        assert settings.whole_victims is victims


class TestCertificates:
    def test_none(self) -> None:
        assert RunOptions().certificates() is None

    def test_both_or_none(self, tmp_path: Path) -> None:
        pair = Authority(tmp_path).server("s")
        assert RunOptions(tls_cert=pair.certificate, tls_key=pair.key).certificates() is not None
        for half in (RunOptions(tls_cert=pair.certificate), RunOptions(tls_key=pair.key)):
            with pytest.raises(InputError, match="both --tls-cert and --tls-key"):
                half.certificates()


class TestConfigz:
    def test_what_really_runs(self, kubeconfig: Path) -> None:
        weights = {"score": {"enabled": [{"name": "ImageLocality", "weight": 7}]}}
        args = [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/x"]}}]
        config = {"profiles": [{"plugins": weights, "pluginConfig": args}]}
        shown = shown_configuration(read(kubeconfig, config, scheduler_name="mine"))
        assert shown["apiVersion"] == "kubescheduler.config.k8s.io/v1"
        assert shown["leaderElection"]["resourceName"] == "mine"
        assert shown["leaderElection"]["leaseDuration"] == "15s"
        (profile,) = shown["profiles"]
        assert profile["schedulerName"] == "mine"
        assert {"name": "ImageLocality", "weight": 7} in profile["plugins"]["score"]["enabled"]
        assert profile["plugins"]["queueSort"]["enabled"] == [{"name": "PrioritySort"}]
        assert profile["pluginConfig"] == args

    def test_it_can_be_given_back(self, kubeconfig: Path) -> None:
        settings = read(kubeconfig, {"podMaxBackoffSeconds": 20})
        again = read(kubeconfig, shown_configuration(settings))
        assert again.profiles["default-scheduler"].points == dict(
            settings.profiles["default-scheduler"].points
        )
        assert again.configuration.pod_max_backoff_seconds == 20

    def test_secrets_are_hidden(self, kubeconfig: Path) -> None:
        tls = {"keyData": "c2VjcmV0", "certData": "eA=="}
        extenders = [
            {"urlPrefix": "https://me:secret@x/y", "filterVerb": "f", "tlsConfig": tls},
            {"urlPrefix": "http://[broken", "filterVerb": "f"},
        ]
        shown = shown_configuration(read(kubeconfig, {"extenders": extenders}))
        assert "secret" not in str(shown)
        assert "c2VjcmV0" not in str(shown)
        assert shown["extenders"][0]["urlPrefix"] == "https://<hidden>@x/y"
