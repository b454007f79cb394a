"""The objects that run a policy: what is in them, and what is not."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import mooring as mr
from mooring import hook, kinds
from mooring.config.configuration import read_configuration
from mooring.deploy.manifests.choices import ManifestFormat, Mode, TlsSource
from mooring.deploy.manifests.helm_writer import chart
from mooring.deploy.manifests.installation import (
    DeployedPolicy,
    Installation,
    default_scheduler_name,
)
from mooring.deploy.manifests.kubernetes_version import KubernetesVersion
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
        plainly = installation(mode, tls=tls, **more)
        charted = installation(mode, tls=tls, format=ManifestFormat.HELM, **more)
        expected = [each for each in objects(plainly) if each["kind"] != "Namespace"]
        files = chart(charted, manifest_set(charted))
        rendered = ChartRenderer(files, "placing").objects()

        def key(one: dict[str, Any]) -> tuple[str, str]:
            return one["kind"], one["metadata"]["name"]

        assert sorted(rendered, key=key) == sorted(expected, key=key)


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
    }
    made = ChartRenderer(files, "elsewhere", values).objects()
    spec = only(made, "Deployment")["spec"]
    pod = spec["template"]["spec"]
    assert (spec["replicas"], pod["nodeSelector"]) == (3, {"tier": "control"})
    assert pod["containers"][0]["image"] == "mooring:2"
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert pod["priorityClassName"] == "mine"
    assert {each["metadata"].get("namespace", "elsewhere") for each in made} == {"elsewhere"}
    assert config_of(made)["leaderElection"]["resourceNamespace"] == "elsewhere"
    assert not {"NetworkPolicy", "PriorityClass"} & {each["kind"] for each in made}


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
        def annotations(**options: Any) -> Any:
            made = objects(installation(**options))
            return only(made, "Deployment")["spec"]["template"]["metadata"].get("annotations")

        other = DeployedPolicy(a_policy(), text=TEXT + "# changed\n")
        assert annotations() != annotations(policy=other)
        assert annotations(reload=True) is None


class TestPermissions:
    def test_of_an_extender_are_what_its_policy_needs(self) -> None:
        binds = {("create", "pods/binding"), ("get", "pods")}
        watches = {("list", "nodes"), ("watch", "nodes"), ("list", "pods"), ("watch", "pods")}
        assert rules_of(objects(installation(Mode.EXTENDER))) == binds | watches
        stateless = DeployedPolicy(a_policy(usage=False), text=TEXT)
        made = objects(installation(Mode.EXTENDER, policy=stateless))
        assert rules_of(made) == {("list", "nodes"), ("watch", "nodes")}

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


def test_a_static_pod_is_installed_with_a_backup_and_removed(tmp_path: Path) -> None:
    node = tmp_path / "node"
    (node / "manifests").mkdir(parents=True)
    (node / "manifests" / "kube-scheduler.yaml").write_text("old\n")
    folder = tmp_path / "files"
    folder.mkdir()
    for name, text in static_pod_files(installation(Mode.STATIC_POD)).items():
        (folder / name).write_text(text.replace("/etc/kubernetes", str(node)))
    for _ in range(2):  # the second time keeps the first backup
        subprocess.run(["sh", folder / "install.sh"], check=True, capture_output=True)
    installed = (node / "manifests" / "kube-scheduler.yaml").read_text()
    assert [file.name for file in (node / "manifests").iterdir()] == ["kube-scheduler.yaml"]
    mounted = [each["hostPath"] for each in yaml.safe_load(installed)["spec"]["volumes"]]
    there = [each["path"] for each in mounted if each["type"] == "Directory"]
    assert [sorted(file.name for file in Path(path).iterdir()) for path in there] == [
        ["config.yaml"],
        ["policy.py"],
    ]
    subprocess.run(["sh", folder / "uninstall.sh"], check=True, capture_output=True)
    assert (node / "manifests" / "kube-scheduler.yaml").read_text() == "old\n"
