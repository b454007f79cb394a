"""What the doctor says of one file, without a cluster and without the files that belong to it."""

import json
from typing import Any

import pytest

import mooring as mr
from mooring.deploy.doctor.evidence import Evidence
from mooring.deploy.doctor.findings import CheckResult, DoctorSeverity
from mooring.deploy.doctor.fixes import apply_edits
from mooring.deploy.doctor.gathering import evidence_of, policy_evidence
from tests.unit.deploy.doctor.cases import CONFIG, POD, SCHEDULER, STATIC_POD, config_map
from tests.unit.deploy.doctor.following import result

MOOR_RUN = SCHEDULER.replace(
    "command:\n        - kube-scheduler\n        - --config=/etc/packer/config.yaml",
    "command: [moor, run, /policy.py, --config=/etc/packer/config.yaml]",
)
IMAGE = "registry.k8s.io/kube-scheduler:v1.36.4"


def alone(text: str, file: str = "file.yaml") -> Evidence:
    return evidence_of([(file, text)])


def judged(check: str, text: str) -> CheckResult:
    return result(check, alone(text))


class TestOldConfigurations:
    """An old configuration has the plugins that moor migrate finds in it."""

    @staticmethod
    def policy(weight: int, priorities: dict[str, int] | None) -> str:
        data: dict[str, Any] = {
            "kind": "Policy",
            "apiVersion": "v1",
            "extenders": [
                {"urlPrefix": "http://a:1", "prioritizeVerb": "prioritize", "weight": weight}
            ],
        }
        if priorities is not None:
            data["priorities"] = [
                {"name": name, "weight": each} for name, each in priorities.items()
            ]
        return json.dumps(data)

    def test_an_extender_beside_two_priorities_has_a_say(self) -> None:
        few = {"LeastRequestedPriority": 1, "BalancedResourceAllocation": 1}
        text = self.policy(1, few)
        assert judged("policy-say", text).severity is DoctorSeverity.OK
        in_config_map = config_map(text + "\n", key="policy.cfg")
        assert judged("policy-say", in_config_map).severity is DoctorSeverity.OK

    def test_an_extender_beside_heavy_priorities_has_none(self) -> None:
        [found] = judged("policy-say", self.policy(1, {"LeastRequestedPriority": 30})).findings
        # DynamicResources, with a weight of 2, scores beside what a Policy names.
        assert "can decide 3% of a node's total score (weight 1 of 33)" in found.what
        assert found.advice == "Write weight: 32, which gives it half the say."

    def test_a_policy_stands_beside_the_old_priorities(self) -> None:
        policy = mr.Policy("mine", weight=1)
        policy.score(name="one")(lambda pod, node: 1)  # noqa: ARG005
        evidence = alone(self.policy(1, {"LeastRequestedPriority": 3}))
        [profile] = policy_evidence(evidence, policy, "policy.py").profiles.values()
        assert profile.score_weight == 3 + 2 + 1

    def test_one_that_cannot_be_migrated_is_judged_by_the_default_plugins(self) -> None:
        [found] = judged("policy-say", self.policy(1, {"NoSuchPriority": 1})).findings
        assert "(weight 1 of 15)" in found.what


class TestImages:
    def test_an_old_image_is_right_beside_its_old_configuration(self) -> None:
        old = STATIC_POD.replace("v1.36.4", "v1.22.17")
        policy = config_map('{"kind": "Policy", "apiVersion": "v1"}\n', key="policy.cfg")
        for text in (old, f"{old}---\n{policy}"):
            [found] = judged("image-version", text).findings
            assert found.severity is DoctorSeverity.WARNING
            assert found.what == (
                "kube-scheduler v1.22 reads no configuration v1, which came with v1.25, and may be "
                "older than your API server."
            )

    @pytest.mark.parametrize(
        ("image", "version", "severity", "safe"),
        [
            ("v1.24.0", "v1beta3", DoctorSeverity.WARNING, False),
            ("v1.21.0", "v1beta3", DoctorSeverity.ERROR, False),  # which came with v1.23
            ("v1.24.0", "v1beta1", DoctorSeverity.ERROR, False),
            ("v1.26.0", "v1beta3", DoctorSeverity.WARNING, True),
            ("v1.36.4", "v1beta3", DoctorSeverity.ERROR, True),
            ("latest", "v1beta3", DoctorSeverity.ERROR, True),
        ],
    )
    def test_a_configuration_that_the_image_reads_is_a_warning(
        self, image: str, version: str, severity: DoctorSeverity, safe: bool
    ) -> None:
        group = "kubescheduler.config.k8s.io"
        config = config_map().replace(f"{group}/v1\n", f"{group}/{version}\n")
        text = f"{SCHEDULER.replace('v1.36.4', image)}---\n{config}"
        [found] = judged("config-version", text).findings
        assert (found.severity, found.safe) == (severity, safe)
        first = "Take an image of kube-scheduler v1.25 or later, and run"
        assert found.advice.startswith("Run" if safe else first)

    def test_a_configuration_without_its_policy_cannot_be_migrated_alone(self) -> None:
        config = (
            "apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration\n"
            "algorithmSource: {policy: {configMap: {name: p, namespace: default}}}\n"
        )
        policy = "---\nkind: Policy\napiVersion: v1\npredicates: []\n"
        [alone] = judged("config-version", config).findings
        assert (alone.safe, alone.migrates) == (False, "")
        assert " POLICY, with the file of the Policy that algorithmSource names, " in alone.advice
        first, _ = judged("config-version", config + policy).findings
        assert first.safe
        assert "POLICY" not in first.advice

    def test_an_argument_that_the_image_has_is_a_warning(self) -> None:
        flag = "    - kube-scheduler\n    - --port=0\n    - --logtostderr=true\n"
        text = STATIC_POD.replace("    - kube-scheduler\n", flag)
        wanted = {"v1.22.0": (0, 0), "v1.24.0": (1, 0), "v1.26.0": (1, 1)}
        for image, errors in wanted.items():
            port, logging = judged("removed-flag", text.replace("v1.36.4", image)).findings
            found = [one.severity is DoctorSeverity.ERROR for one in (port, logging)]
            assert tuple(found) == errors
            assert [port.safe, logging.safe] == found
            newer = "Take an image of kube-scheduler v1.25 or later, and take it out."
            assert port.advice == ("Take it out." if errors[0] else newer)

    def test_the_version_to_write_is_the_cluster_s(self) -> None:
        text = f"{SCHEDULER.replace('v1.36.4', 'v1.22.17')}---\n{config_map()}"
        [found] = judged("image-version", text).findings
        assert found.severity is DoctorSeverity.ERROR
        assert found.advice == (
            f"Write image: {IMAGE}, with the version of your API server if that is older."
        )
        assert judged("image-version", apply_edits(text, found.edits)).findings == ()

    @pytest.mark.parametrize(
        ("image", "own"),
        [
            ("registry.example.com/own-kube-scheduler:v1.22.0", True),
            ("registry.example.com/kube-scheduler:v1.22.0", False),
            ("k8s.gcr.io/kube-scheduler-amd64:v1.15.0", False),
        ],
    )
    def test_an_image_that_you_build_is_built_anew(self, image: str, own: bool) -> None:
        text = f"{SCHEDULER.replace(IMAGE, image)}---\n{config_map()}"
        [found] = judged("image-version", text).findings
        assert bool(found.edits) is not own
        assert found.advice == (
            "Build the image again with kube-scheduler v1.36.4, or the version of your API server "
            "if that is older, and write its new tag."
            if own
            else f"Write image: {IMAGE}, with the version of your API server if that is older."
        )

    def test_the_title_promises_only_what_is_known(self) -> None:
        title = judged("image-version", STATIC_POD).check.title
        assert (
            title == "kube-scheduler's image fits the configuration and, if known, the API server"
        )


class TestSchedulerNames:
    def test_a_pod_alone_names_a_scheduler_that_nobody_knows(self) -> None:
        [found] = judged("scheduler-name", POD).findings
        assert found.severity is DoctorSeverity.WARNING
        assert found.advice == (
            "Give the files of the scheduler packer, too, or write schedulerName: "
            "default-scheduler."
        )

    def test_a_scheduler_of_the_manifests_serves_its_name(self) -> None:
        text = MOOR_RUN.replace("--config=/etc/packer/config.yaml", "--scheduler-name=packer")
        assert judged("scheduler-name", f"{text}---\n{POD}").severity is DoctorSeverity.OK
        [found] = judged("scheduler-name", f"{text}---\n{POD.replace('packer', 'paker')}").findings
        assert found.severity is DoctorSeverity.ERROR
        assert found.advice == "Write schedulerName: packer."

    def test_nobody_knows_the_names_of_a_scheduler_without_its_configuration(self) -> None:
        found = judged("scheduler-name", f"{SCHEDULER}---\n{POD}")
        assert found.reason == (
            "the configuration of Deployment sched/packer was not given, so nobody knows its names"
        )

    def test_the_default_scheduler_is_always_there(self) -> None:
        text = POD.replace("  schedulerName: packer\n", "")
        assert judged("scheduler-name", text).severity is DoctorSeverity.OK


class TestLeases:
    ELECTING = CONFIG.replace("leaderElection:\n  leaderElect: false\n", "")

    def test_a_configuration_alone_may_wait_for_kube_scheduler_s_lease(self) -> None:
        [found] = judged("lease-shared", self.ELECTING).findings
        assert found.severity is DoctorSeverity.WARNING
        assert found.what == (
            "The scheduler packer waits for the Lease kube-system/kube-scheduler, which "
            "the cluster's own kube-scheduler holds: it never starts to work, unless an argument "
            "names another Lease or it is moor run."
        )
        assert found.advice == (
            "Write leaderElection.resourceName: packer in the configuration, and allow the "
            "scheduler to create, get and update its Lease."
        )
        after = apply_edits(self.ELECTING, found.edits)
        assert judged("lease-shared", after).severity is DoctorSeverity.OK

    @pytest.mark.parametrize(
        "text",
        [
            CONFIG,
            ELECTING.replace("schedulerName: packer", "schedulerName: default-scheduler"),
            "leaderElection: {resourceName: packer}\n" + ELECTING,
        ],
    )
    def test_one_without_election_or_with_the_default_name_does_not(self, text: str) -> None:
        assert judged("lease-shared", text).severity is DoctorSeverity.OK

    def test_of_a_pod_and_its_configuration_one_thing_is_said(self) -> None:
        [found] = judged("lease-shared", f"{SCHEDULER}---\n{config_map(self.ELECTING)}").findings
        assert found.severity is DoctorSeverity.ERROR

    def test_moor_run_has_a_lease_of_its_own(self) -> None:
        named = "leaderElection: {resourceName: kube-scheduler}\n"
        for config, severity in (
            (self.ELECTING, DoctorSeverity.OK),
            (named + self.ELECTING, DoctorSeverity.ERROR),
        ):
            text = f"{MOOR_RUN}---\n{config_map(config)}"
            assert judged("lease-shared", text).severity is severity

    def test_neither_a_scheduler_nor_a_configuration(self) -> None:
        assert judged("lease-shared", POD).reason == (
            "neither a scheduler's configuration nor a container that runs one was given"
        )
