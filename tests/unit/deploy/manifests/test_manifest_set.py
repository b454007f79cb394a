"""The objects that run a policy: what is in them, and what is not."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import mooring as mr
from mooring import hook, kinds
from mooring.config.configuration import read_configuration
from mooring.deploy.kubernetes_version import KubernetesVersion
from mooring.deploy.manifests.choices import ManifestFormat, Mode, TlsSource
from mooring.deploy.manifests.helm_writer import chart
from mooring.deploy.manifests.installation import (
    DeployedPolicy,
    Installation,
    default_scheduler_name,
)
from mooring.deploy.manifests.manifest_set import manifest_set
from mooring.deploy.manifests.plain_objects import plain
from mooring.deploy.manifests.static_pod_files import static_pod_files
from mooring.deploy.manifests.yaml_writer import yaml_stream
from tests.unit.deploy.manifests.chart_rendering import ChartRenderer

Objects = list[dict[str, Any]]
NAME = "gpu-pack"
TEXT = "import mooring as mr\n\npolicy = mr.Policy('gpu-pack')  # {{ not a template }}\n"


def a_policy(**options: Any) -> mr.Policy:
    policy = mr.Policy(NAME, **options)

    @policy.filter
    def fits(pod: mr.Pod, node: mr.Node) -> bool:
        return True

    @policy.score
    def pack(pod: mr.Pod, node: mr.Node) -> float:
        return 50

    return policy


def installation(mode: Mode = Mode.SIDECAR, **options: Any) -> Installation:
    policy = options.pop("policy", None) or DeployedPolicy(a_policy(), text=TEXT)
    names = {"name": NAME, "namespace": "placing"}
    names["scheduler_name"] = default_scheduler_name(mode, NAME)
    return Installation(mode=mode, policy=policy, **names | options)


def objects(one: Installation) -> Objects:
    return [plain(each.object) for each in manifest_set(one)]


def only(made: Objects, kind: str, name: str = "") -> Any:
    (found,) = (
        each for each in made if each["kind"] == kind and name in ("", each["metadata"]["name"])
    )
    return found


def config_of(made: Objects) -> Any:
    data = only(made, "ConfigMap", f"{NAME}-config")["data"]
    return yaml.safe_load(data["config.yaml"])


def rules_of(made: Objects) -> set[tuple[str, str]]:
    """Verb and resource, with its group."""
    return {
        (verb, f"{resource}.{group}".strip("."))
        for rule in only(made, "ClusterRole")["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def checksums(mode: Mode, **options: Any) -> dict[str, str]:
    """The annotations of a pod."""
    one = installation(mode, **options)
    if mode is Mode.STATIC_POD:
        head = yaml.safe_load(static_pod_files(one)["kube-scheduler.yaml"])["metadata"]
    else:
        head = only(objects(one), "Deployment")["spec"]["template"]["metadata"]
    return dict(head.get("annotations", {}))


MODES = [Mode.EXTENDER, Mode.SIDECAR, Mode.SCHEDULER]


@pytest.mark.parametrize("mode", MODES)
def test_the_text_has_the_objects(mode: Mode) -> None:
    one = installation(mode)
    text = yaml_stream(manifest_set(one), "A heading.")
    assert list(yaml.safe_load_all(text)) == objects(one)
    assert text.startswith("# A heading.\n")
    assert max(map(len, text.splitlines())) <= 110


@pytest.mark.parametrize("mode", MODES)
def test_a_chart_makes_the_same_objects(mode: Mode) -> None:
    tls = TlsSource.CERT_MANAGER if mode is Mode.EXTENDER else TlsSource.NONE
    for more in ({}, {"service_monitor": True, "pull_secrets": ("registry",)}):
        plainly = installation(mode, tls=tls, test_pod=True, **more)
        charted = installation(mode, tls=tls, test_pod=True, format=ManifestFormat.HELM, **more)
        expected = [each for each in objects(plainly) if each["kind"] != "Namespace"]
        files = chart(charted, manifest_set(charted))
        rendered = ChartRenderer(files, "placing").objects()
        # helm test makes the pod, and no installation or upgrade does.
        hook = only(rendered, "Pod")["metadata"].pop("annotations")
        assert hook["helm.sh/hook"] == "test"

        def key(one: dict[str, Any]) -> tuple[str, str]:
            return one["kind"], one["metadata"]["name"]

        assert sorted(rendered, key=key) == sorted(expected, key=key)


def test_helm_leaves_a_configuration_as_it_is() -> None:
    args = {"a": "{{ .Values.x }}", "{{b": ["{{{", "x\n{{ fail }}\n"]}
    config = {"profiles": [{"pluginConfig": [{"name": "mine", "args": args}]}]}
    one = installation(Mode.SIDECAR, format=ManifestFormat.HELM, configuration=config)
    made = ChartRenderer(chart(one, manifest_set(one)), "placing").objects()
    assert config_of(made)["profiles"][0]["pluginConfig"][0]["args"] == args


@pytest.mark.parametrize(
    "first", ["  # indented", "# a page\f", "# next line: \x85 ", "\n \n      "]
)
def test_a_chart_takes_a_policy_that_no_literal_block_can_have(first: str) -> None:
    policy = DeployedPolicy(mr.Policy(NAME), text=f"{first}\n{TEXT}")
    one = installation(Mode.SCHEDULER, format=ManifestFormat.HELM, policy=policy)
    files = chart(one, manifest_set(one))
    assert files["policy.py"] == policy.text
    made = only(ChartRenderer(files, "placing").objects(), "ConfigMap", f"{NAME}-policy")
    assert made["data"] == {"policy.py": policy.text}


def test_a_charts_values_change_what_they_say() -> None:
    one = installation(Mode.SCHEDULER, format=ManifestFormat.HELM)
    files = chart(one, manifest_set(one))
    values = {
        "replicaCount": 3,
        "image.tag": "2",
        "nodeSelector": {"tier": "control"},
        "tolerations": [{"operator": "Exists"}],
        "networkPolicy.enabled": False,
        "priorityClass.create": False,
        "priorityClass.name": "mine",
        "podLabels": {"team": "a"},
        "podAnnotations": {"scrape": "yes"},
        "env": [{"name": "LOG_LEVEL", "value": "DEBUG"}],
        "serviceMonitor.enabled": True,
        "serviceMonitor.additionalLabels": {"release": "prometheus"},
    }
    made = ChartRenderer(files, "elsewhere", values).objects()
    spec = only(made, "Deployment")["spec"]
    pod = spec["template"]["spec"]
    assert (spec["replicas"], pod["nodeSelector"]) == (3, {"tier": "control"})
    assert pod["containers"][0]["image"] == "mooring:2"
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert pod["priorityClassName"] == "mine"
    assert pod["containers"][0]["env"] == [{"name": "LOG_LEVEL", "value": "DEBUG"}]
    head = spec["template"]["metadata"]
    assert head["labels"].items() >= {"team": "a", "app.kubernetes.io/part-of": "mooring"}.items()
    assert head["annotations"].keys() == {"checksum/policy", "checksum/config", "scrape"}
    monitor = only(made, "ServiceMonitor")["metadata"]["labels"]
    assert monitor == only(made, "PodDisruptionBudget")["metadata"]["labels"] | {
        "release": "prometheus"
    }
    assert {each["metadata"].get("namespace", "elsewhere") for each in made} == {"elsewhere"}
    assert config_of(made)["leaderElection"]["resourceNamespace"] == "elsewhere"
    assert not {"NetworkPolicy", "PriorityClass"} & {each["kind"] for each in made}


@pytest.mark.parametrize("override", ["nameOverride", "fullnameOverride"])
@pytest.mark.parametrize("mode", MODES)
def test_a_chart_takes_another_name_for_all_its_objects(mode: Mode, override: str) -> None:
    tls = TlsSource.CERT_MANAGER if mode is Mode.EXTENDER else TlsSource.NONE
    charted = installation(mode, format=ManifestFormat.HELM, tls=tls, test_pod=True)
    files = chart(charted, manifest_set(charted))
    made = ChartRenderer(files, "placing", {override: "other"}).objects()
    renamed = installation(mode, format=ManifestFormat.HELM, tls=tls, test_pod=True, name="other")
    expected = ChartRenderer(chart(renamed, manifest_set(renamed)), "placing").objects()

    def names(there: list[dict[str, Any]]) -> set[tuple[str, str]]:
        return {(each["kind"], each["metadata"]["name"]) for each in there}

    assert names(made) == names(expected)
    for kind in {each["kind"] for each in made} - {"ConfigMap", "Certificate", "Issuer"}:
        for ours, theirs in zip(of_kind(made, kind), of_kind(expected, kind), strict=True):
            assert without_checksums(ours) == without_checksums(theirs)
    ours, theirs = (
        yaml.safe_load(only(there, "ConfigMap", "other-config")["data"]["config.yaml"])
        for there in (made, expected)
    )
    for config in (ours, theirs):
        for extender in config.get("extenders", []):
            extender.pop("tlsConfig", None)  # files on nodes
    assert ours == theirs


def of_kind(made: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in made if each["kind"] == kind]


def without_checksums(one: dict[str, Any]) -> dict[str, Any]:
    if one["kind"] == "Deployment":
        del one["spec"]["template"]["metadata"]["annotations"]
    return one


@pytest.mark.parametrize(
    ("values", "made", "used"),
    [
        ({}, [NAME], NAME),
        ({"serviceAccount.name": "mine"}, ["mine"], "mine"),
        ({"serviceAccount.create": False, "serviceAccount.name": "mine"}, [], "mine"),
        ({"serviceAccount.create": False}, [], "default"),
    ],
)
def test_a_chart_takes_a_service_account_that_exists(
    values: dict[str, Any], made: list[str], used: str
) -> None:
    one = installation(Mode.SCHEDULER, format=ManifestFormat.HELM)
    there = ChartRenderer(chart(one, manifest_set(one)), "placing", values).objects()
    assert [each["metadata"]["name"] for each in of_kind(there, "ServiceAccount")] == made
    pod = only(there, "Deployment")["spec"]["template"]["spec"]
    subjects = [
        subject["name"]
        for each in there
        if each["kind"].endswith("Binding")
        for subject in each["subjects"]
    ]
    assert {pod["serviceAccountName"], *subjects} == {used}


@pytest.mark.parametrize("mode", MODES)
def test_a_chart_takes_more_arguments_and_other_security_contexts(mode: Mode) -> None:
    one = installation(mode, format=ManifestFormat.HELM)
    files = chart(one, manifest_set(one))
    values: dict[str, Any] = {
        "extraArgs": ["--log-format=json"],
        "podSecurityContext": {"runAsNonRoot": True},
        "securityContext": {"readOnlyRootFilesystem": True},
    }
    if mode is Mode.SIDECAR:
        values["kubeScheduler.extraArgs"] = ["--v=4"]
    made = ChartRenderer(files, "placing", values).objects()
    pod = only(made, "Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"] == {"runAsNonRoot": True}
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        last = "--v=4" if container["name"] == "kube-scheduler" else "--log-format=json"
        assert container["args"][-1] == last
        assert container["securityContext"] == {"readOnlyRootFilesystem": True}


@pytest.mark.parametrize("text", [TEXT, ""], ids=["policy in a file", "policy in the image"])
@pytest.mark.parametrize("mode", MODES)
def test_a_chart_takes_more_volumes_for_the_policy(mode: Mode, text: str) -> None:
    policy = DeployedPolicy(mr.Policy(NAME), text=text, module="" if text else "packed:policy")
    one = installation(mode, format=ManifestFormat.HELM, policy=policy, tls=TlsSource.NONE)
    files = chart(one, manifest_set(one))
    data = {"name": "prices", "configMap": {"name": "prices"}}
    mount = {"name": "prices", "mountPath": "/data", "readOnly": True}
    values = {"extraVolumes": [data], "extraVolumeMounts": [mount]}
    plainly, made = (
        only(ChartRenderer(files, "placing", each).objects(), "Deployment")["spec"]["template"]
        for each in ({}, values)
    )
    assert made["spec"]["volumes"] == [*plainly["spec"].get("volumes", []), data]
    for container in [*made["spec"].get("initContainers", []), *made["spec"]["containers"]]:
        has_it = mount in container.get("volumeMounts", [])
        assert has_it is (container["name"] != "kube-scheduler")
    unchanged = only(objects(installation(mode, policy=policy)), "Deployment")["spec"]["template"]
    assert plainly["spec"] == unchanged["spec"]


def test_a_chart_has_a_schema_for_all_its_values() -> None:
    one = installation(Mode.EXTENDER, format=ManifestFormat.HELM, tls=TlsSource.CERT_MANAGER)
    files = chart(one, manifest_set(one))
    schema = yaml.safe_load(files["values.schema.json"])
    values = yaml.safe_load(files["values.yaml"])
    assert schema["properties"].keys() == values.keys()
    used = {
        path
        for name, text in files.items()
        if name.startswith("templates/")
        for path in re.findall(r"\.Values\.([A-Za-z.]+)", text)
    }
    known = {
        f"{key}.{inner}" if isinstance(value, dict) and f"{key}.{inner}" in used else key
        for key, value in values.items()
        for inner in (value if isinstance(value, dict) and value else [""])
    }
    assert used <= known


class TestSafety:
    @pytest.mark.parametrize("mode", [*MODES, Mode.STATIC_POD])
    def test_containers_have_no_privileges_and_probes_start_no_process(self, mode: Mode) -> None:
        if mode is Mode.STATIC_POD:
            pod = yaml.safe_load(static_pod_files(installation(mode))["kube-scheduler.yaml"])
            spec = pod["spec"]
        else:
            spec = only(objects(installation(mode)), "Deployment")["spec"]["template"]["spec"]
            assert spec["securityContext"]["runAsNonRoot"] is True
        for container in [*spec.get("initContainers", []), *spec["containers"]]:
            security = container["securityContext"]
            assert security["readOnlyRootFilesystem"] is True
            assert security["allowPrivilegeEscalation"] is False
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}
            assert {"livenessProbe", "readinessProbe"} <= container.keys()
            for probe in (name for name in container if name.endswith("Probe")):
                assert "httpGet" in container[probe]

    def test_two_replicas_a_budget_and_leader_election(self) -> None:
        made = objects(installation(Mode.SIDECAR))
        assert only(made, "Deployment")["spec"]["replicas"] == 2
        assert only(made, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
        assert config_of(made)["leaderElection"]["leaderElect"] is True

    def test_kube_scheduler_beside_the_policy_asks_over_loopback(self) -> None:
        made = objects(installation(Mode.SIDECAR))
        (entry,) = config_of(made)["extenders"]
        assert entry["urlPrefix"] == "http://127.0.0.1:8888"
        (extender,) = only(made, "Deployment")["spec"]["template"]["spec"]["initContainers"]
        assert "--host=127.0.0.1" in extender["args"]
        assert [port["containerPort"] for port in extender["ports"]] == [8889]

    def test_a_changed_policy_makes_new_pods_unless_they_reload_it(self) -> None:
        other = DeployedPolicy(a_policy(), text=TEXT + "# changed\n")
        for mode in (*MODES, Mode.STATIC_POD):
            assert checksums(mode) != checksums(mode, policy=other)
            assert "checksum/policy" not in checksums(mode, reload=True)

    @pytest.mark.parametrize("mode", [Mode.SIDECAR, Mode.SCHEDULER, Mode.STATIC_POD])
    def test_a_changed_configuration_makes_new_pods(self, mode: Mode) -> None:
        before = checksums(mode)
        assert checksums(mode, configuration={"parallelism": 3}) != before
        assert checksums(mode, replicas=3) == before
        if mode is not Mode.SCHEDULER:
            assert checksums(mode, timeout=7.0) != before

    @pytest.mark.parametrize("mode", [Mode.SIDECAR, Mode.SCHEDULER])
    def test_a_charts_changed_files_make_new_pods(self, mode: Mode) -> None:
        one = installation(mode, format=ManifestFormat.HELM)
        files = chart(one, manifest_set(one))

        def annotations(changed: str = "") -> Any:
            edited = files | {changed: files.get(changed, "") + "# edited\n"}
            made = ChartRenderer(edited, "placing").objects()
            return only(made, "Deployment")["spec"]["template"]["metadata"]["annotations"]

        before = annotations()
        for file, name in (("policy.py", "checksum/policy"), ("config.yaml", "checksum/config")):
            after = annotations(file)
            assert {key for key in after if after[key] != before[key]} == {name}

    def test_only_the_pods_user_reads_the_extenders_key(self) -> None:
        made = objects(installation(Mode.EXTENDER, tls=TlsSource.SECRET))
        spec = only(made, "Deployment")["spec"]["template"]["spec"]
        (secret,) = (each["secret"] for each in spec["volumes"] if each["name"] == "tls")
        assert secret == {"secretName": f"{NAME}-tls", "defaultMode": 0o440}
        assert spec["securityContext"]["fsGroup"] == spec["securityContext"]["runAsGroup"]

    def test_copies_of_cert_managers_files_stay_valid(self) -> None:
        made = objects(installation(Mode.EXTENDER, tls=TlsSource.CERT_MANAGER))
        authority, server, client = (
            only(made, "Certificate", f"{NAME}-{name}")["spec"] for name in ("ca", "tls", "client")
        )
        assert authority["privateKey"]["rotationPolicy"] == "Never"
        assert authority["duration"] == client["duration"] == "87600h"
        assert "duration" not in server

    def test_one_replica_answers_a_kube_scheduler_if_it_counts_what_it_binds(self) -> None:
        def affinity(**options: Any) -> Any:
            made = objects(installation(Mode.EXTENDER, **options))
            return only(made, "Service")["spec"].get("sessionAffinity")

        assert affinity() == "ClientIP"
        assert affinity(node_cache=False) is None
        assert affinity(policy=DeployedPolicy(a_policy(usage=False), text=TEXT)) is None


class TestOneBesideAnother:
    @pytest.mark.parametrize("mode", MODES)
    def test_installations_of_one_name_in_two_namespaces_share_nothing(self, mode: Mode) -> None:
        def places(namespace: str) -> set[tuple[str, str, str]]:
            tls = TlsSource.CERT_MANAGER if mode is Mode.EXTENDER else TlsSource.NONE
            return {
                (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"])
                for each in objects(installation(mode, namespace=namespace, tls=tls))
            }

        assert places("a") & places("b") == set()
        assert max(len(name) for _, _, name in places("n" * 63)) < 253

    def test_roles_are_bound_under_their_names(self) -> None:
        for one in (installation(Mode.SCHEDULER), installation(Mode.EXTENDER)):
            made = objects(one)
            binding = only(made, "ClusterRoleBinding")
            assert binding["roleRef"]["name"] == only(made, "ClusterRole")["metadata"]["name"]
        for name in ("default-scheduler", NAME):
            made = objects(installation(Mode.SCHEDULER, scheduler_name=name))
            role = only(made, "Role")["metadata"]
            binding = only(made, "RoleBinding")
            assert binding["roleRef"]["name"] == role["name"]
            assert binding["metadata"]["namespace"] == role["namespace"]

    @pytest.mark.parametrize(
        ("values", "made", "used"),
        [
            ({}, [f"{NAME}.placing"], f"{NAME}.placing"),
            ({"priorityClass.name": "mine"}, ["mine"], "mine"),
            ({"priorityClass.create": False, "priorityClass.name": "mine"}, [], "mine"),
            ({"priorityClass.create": False}, [], ""),
        ],
    )
    def test_no_pod_names_a_priority_class_that_does_not_exist(
        self, values: dict[str, Any], made: list[str], used: str
    ) -> None:
        one = installation(Mode.SCHEDULER, format=ManifestFormat.HELM)
        there = ChartRenderer(chart(one, manifest_set(one)), "placing", values).objects()
        classes = [each["metadata"]["name"] for each in there if each["kind"] == "PriorityClass"]
        pod = only(there, "Deployment")["spec"]["template"]["spec"]
        assert (classes, pod["priorityClassName"]) == (made, used)


class TestInPlaceOfKubeScheduler:
    @pytest.mark.parametrize("mode", [Mode.SCHEDULER, Mode.SIDECAR])
    def test_its_pods_come_first_and_run_on_the_control_plane(self, mode: Mode) -> None:
        made = objects(installation(mode, scheduler_name="default-scheduler"))
        pod = only(made, "Deployment")["spec"]["template"]["spec"]
        assert pod["priorityClassName"] == "system-cluster-critical"
        (toleration,) = pod["tolerations"]
        assert toleration["key"] == "node-role.kubernetes.io/control-plane"
        assert "PriorityClass" not in {each["kind"] for each in made}

    def test_others_do_not(self) -> None:
        for one in (installation(Mode.SCHEDULER), installation(Mode.EXTENDER)):
            pod = only(objects(one), "Deployment")["spec"]["template"]["spec"]
            assert "tolerations" not in pod
            assert pod["priorityClassName"] == f"{NAME}.placing"


class TestPodToTry:
    def test_it_is_there_on_request(self) -> None:
        assert "Pod" not in {each["kind"] for each in objects(installation())}

    def test_it_ends_and_has_no_token(self) -> None:
        one = installation(test_pod=True, managed_resources=("example.com/gpu",))
        spec = only(objects(one), "Pod")["spec"]
        assert (spec["restartPolicy"], spec["automountServiceAccountToken"]) == ("Never", False)
        (container,) = spec["containers"]
        assert container["image"] == one.image
        assert container["resources"] == {"limits": {"example.com/gpu": 1}}


class TestPermissions:
    def test_of_an_extender_are_what_its_policy_needs(self) -> None:
        binds = {("create", "pods/binding"), ("get", "pods")}
        watches = {("list", "nodes"), ("watch", "nodes"), ("list", "pods"), ("watch", "pods")}
        assert rules_of(objects(installation(Mode.EXTENDER))) == binds | watches
        stateless = DeployedPolicy(a_policy(usage=False), text=TEXT)
        made = objects(installation(Mode.EXTENDER, policy=stateless))
        assert rules_of(made) == {("list", "nodes"), ("watch", "nodes")}

    def test_of_an_extender_that_reads_devices(self) -> None:
        policy = a_policy(usage=False)
        policy.filter(name="free")(lambda pod, node: bool(node.devices.free))  # noqa: ARG005
        made = objects(installation(Mode.EXTENDER, policy=DeployedPolicy(policy, text=TEXT)))
        assert rules_of(made) == {
            (verb, what)
            for verb in ("list", "watch")
            for what in (
                "nodes", "resourceslices.resource.k8s.io", "resourceclaims.resource.k8s.io"
            )
        }  # fmt: skip

    def test_who_asks_nothing_gets_no_role_and_no_token(self) -> None:
        stateless = DeployedPolicy(a_policy(usage=False), text=TEXT)
        made = objects(installation(Mode.EXTENDER, policy=stateless, node_cache=False))
        assert not {"ClusterRole", "ClusterRoleBinding"} & {each["kind"] for each in made}
        spec = only(made, "Deployment")["spec"]["template"]["spec"]
        assert spec["automountServiceAccountToken"] is False

    def test_of_a_scheduler_follow_its_plugins(self) -> None:
        everything = rules_of(objects(installation(Mode.SCHEDULER)))
        assert ("delete", "pods") in everything
        assert ("patch", "persistentvolumeclaims") in everything
        few = {
            "profiles": [
                {
                    "plugins": {
                        "multiPoint": {
                            "enabled": [
                                {"name": "PrioritySort"},
                                {"name": "NodeResourcesFit"},
                                {"name": "DefaultBinder"},
                            ],
                            "disabled": [{"name": "*"}],
                        }
                    }
                }
            ]
        }
        made = objects(installation(Mode.SCHEDULER, configuration=few))
        assert rules_of(made) == {
            ("list", "nodes"), ("watch", "nodes"), ("list", "pods"), ("watch", "pods"),
            ("get", "pods"), ("create", "pods/binding"), ("patch", "pods/status"),
            ("create", "events.events.k8s.io"), ("patch", "events.events.k8s.io"),
        }  # fmt: skip
        assert config_of(made)["profiles"][0]["schedulerName"] == NAME

    def test_of_somebodys_plugin_are_what_it_declares(self) -> None:
        class Disks(hook.Reserve):
            name = "Disks"
            reads = (kinds.PriorityClass,)
            patches = (kinds.StorageClass,)
            creates = (kinds.PersistentVolume,)

            def reserve(self, cycle: hook.Cycle, node: mr.Node) -> None:
                return None

            def unreserve(self, cycle: hook.Cycle, node: mr.Node) -> None:
                return None

        policy = a_policy()
        policy.add(Disks())
        more = rules_of(
            objects(installation(Mode.SCHEDULER, policy=DeployedPolicy(policy, text=TEXT)))
        )
        assert more - rules_of(objects(installation(Mode.SCHEDULER))) == {
            ("list", "priorityclasses.scheduling.k8s.io"),
            ("watch", "priorityclasses.scheduling.k8s.io"),
            ("patch", "storageclasses.storage.k8s.io"),
            ("create", "persistentvolumes"),
        }

    def test_in_place_of_kube_scheduler_its_own_lease_is_held(self) -> None:
        made = objects(installation(Mode.SCHEDULER, scheduler_name="default-scheduler"))
        role = only(made, "Role")
        assert role["metadata"]["namespace"] == "kube-system"
        assert role["rules"][1]["resourceNames"] == ["kube-scheduler"]


class TestVersions:
    def test_configurations_are_those_of_the_version(self) -> None:
        made = objects(installation(kubernetes=KubernetesVersion(24, 0)))
        assert config_of(made)["apiVersion"] == "kubescheduler.config.k8s.io/v1beta3"
        read_configuration(config_of(objects(installation())))

    def test_old_ones_get_a_policy(self) -> None:
        made = objects(installation(kubernetes=KubernetesVersion(22, 0)))
        policy = yaml.safe_load(only(made, "ConfigMap", f"{NAME}-config")["data"]["policy.cfg"])
        assert (policy["kind"], policy["apiVersion"]) == ("Policy", "v1")
        (entry,) = policy["extenders"]
        assert entry["httpTimeout"] == 5_000_000_000
        assert entry["enableHttps"] is False
        spec = only(made, "Deployment")["spec"]["template"]["spec"]
        assert "initContainers" not in spec
        arguments = spec["containers"][1]["args"]
        assert f"--scheduler-name={NAME}" in arguments
        assert any(each.startswith("--policy-config-file=") for each in arguments)


class ControlPlaneNode:
    """A node's folder, and the files of a static pod that are copied there."""

    def __init__(self, folder: Path) -> None:
        self.etc = folder / "node"
        self.manifest = self.etc / "manifests" / "kube-scheduler.yaml"
        self.manifest.parent.mkdir(parents=True)
        self.manifest.write_text("old\n")
        self._files = folder / "files"
        self._files.mkdir()
        for name, text in static_pod_files(installation(Mode.STATIC_POD)).items():
            (self._files / name).write_text(text.replace("/etc/kubernetes", str(self.etc)))

    def edit(self, file: str, more: str) -> None:
        with (self._files / file).open("a") as text:
            text.write(more)

    def empty(self, file: str) -> None:
        (self._files / file).write_text("")

    def remove(self, file: str) -> None:
        (self._files / file).unlink()

    def run(self, script: str) -> str:
        done = subprocess.run(["sh", self._files / script], check=True, capture_output=True)
        return done.stdout.decode()

    def refused(self, script: str) -> str:
        done = subprocess.run(["sh", self._files / script], check=False, capture_output=True)
        assert (done.returncode, done.stdout) == (2, b"")
        return done.stderr.decode()


@pytest.fixture
def node(tmp_path: Path) -> ControlPlaneNode:
    return ControlPlaneNode(tmp_path)


def test_a_static_pod_is_installed_with_a_backup_and_removed(node: ControlPlaneNode) -> None:
    for _ in range(2):  # the second time keeps the first backup
        node.run("install.sh")
    assert [file.name for file in node.manifest.parent.iterdir()] == ["kube-scheduler.yaml"]
    installed = yaml.safe_load(node.manifest.read_text())
    mounted = [each["hostPath"] for each in installed["spec"]["volumes"]]
    there = [each["path"] for each in mounted if each["type"] == "Directory"]
    assert [sorted(file.name for file in Path(path).iterdir()) for path in there] == [
        ["config.yaml"],
        ["policy.py"],
    ]
    node.run("uninstall.sh")
    assert node.manifest.read_text() == "old\n"


@pytest.mark.parametrize("file", ["config.yaml", "policy.py"])
def test_an_edited_file_starts_the_static_pod_anew(node: ControlPlaneNode, file: str) -> None:
    node.run("install.sh")
    before = node.manifest.read_text()
    node.run("install.sh")
    assert node.manifest.read_text() == before
    node.edit(file, "# edited\n")
    node.run("install.sh")
    after = node.manifest.read_text()
    changed = [
        line.split(":")[0].strip()
        for line, old in zip(after.splitlines(), before.splitlines(), strict=True)
        if line != old
    ]
    assert changed == [f"checksum/{file.split('.', maxsplit=1)[0]}"]


def test_the_manifest_of_an_upgrade_comes_back(node: ControlPlaneNode) -> None:
    node.run("install.sh")
    node.manifest.write_text("upgraded\n")  # as kubeadm upgrade does
    node.run("install.sh")
    node.run("uninstall.sh")
    assert node.manifest.read_text() == "upgraded\n"


def test_the_manifest_of_an_upgrade_stays_when_nothing_is_installed(node: ControlPlaneNode) -> None:
    node.run("install.sh")
    node.manifest.write_text("upgraded\n")
    assert "stays as it is" in node.run("uninstall.sh")
    assert node.manifest.read_text() == "upgraded\n"


def test_a_node_without_kube_scheduler_is_refused_and_stays_as_it_is(
    node: ControlPlaneNode,
) -> None:
    node.manifest.unlink()
    said = node.refused("install.sh")
    assert said.startswith(f"{node.manifest} does not exist; run this on a control-plane node")
    assert said.count("\n") == 1
    assert [one.name for one in node.etc.iterdir()] == ["manifests"]
    said = node.refused("uninstall.sh")
    assert said.endswith(" does not exist, so there is no manifest to bring back\n")


def test_a_manifest_that_was_taken_away_does_not_cost_the_backup(node: ControlPlaneNode) -> None:
    node.run("install.sh")
    node.manifest.unlink()
    node.run("install.sh")
    node.run("uninstall.sh")
    assert node.manifest.read_text() == "old\n"


@pytest.mark.parametrize("file", ["config.yaml", "policy.py", "kube-scheduler.yaml"])
@pytest.mark.parametrize("lose", [ControlPlaneNode.remove, ControlPlaneNode.empty])
def test_half_a_folder_is_refused_and_the_node_stays_as_it_is(
    node: ControlPlaneNode, file: str, lose: Callable[[ControlPlaneNode, str], None]
) -> None:
    lose(node, file)
    said = node.refused("install.sh")
    assert said == f"{file} is missing or empty here; copy the whole folder to the node\n"
    assert node.manifest.read_text() == "old\n"
    assert [one.name for one in node.etc.iterdir()] == ["manifests"]
