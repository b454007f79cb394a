"""Configuration inside manifests: ConfigMaps, and arguments of schedulers."""

import json
from typing import Any

import pytest
import yaml

from mooring.deploy.migration import Migrated, migrate, migrate_all
from mooring.errors import InputError
from tests.unit.deploy.migration.migrated_configuration import configuration, notes, profile_of

POLICY = '{"kind": "Policy", "apiVersion": "v1", "priorities": []}'
CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1alpha1
kind: KubeSchedulerConfiguration
schedulerName: mine
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: sched, namespace: kube-system}
spec:
  containers:
  - name: scheduler
    image: registry.example/kube-scheduler:v1.30.0  # ours
    command:
    - kube-scheduler
%s
    - --leader-elect=false
"""


def config_map(name: str, **data: str) -> str:
    meta = {"name": name, "namespace": "kube-system"}
    values = {key.replace("_", "."): text for key, text in data.items()}
    found = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": values}
    return yaml.safe_dump(found, sort_keys=False)


def pod(*flags: str) -> str:
    return POD % "\n".join(f"    - {flag}" for flag in flags)


def words(text: str) -> list[str]:
    found = [one for one in yaml.safe_load_all(text) if one["kind"] == "Pod"]
    command: list[str] = found[0]["spec"]["containers"][0]["command"]
    return command


def one_result(*texts: str) -> Migrated:
    """The result of the first of several texts."""
    return migrate_all([(f"{number}.yaml", text) for number, text in enumerate(texts)])[0]


class TestConfigMaps:
    @pytest.mark.parametrize("key", ["policy_cfg", "policy_json", "anything"])
    def test_a_policy_under_any_key(self, key: str) -> None:
        text = config_map("p", **{key: POLICY, "other": "a: 1\n"})
        result = migrate(text, source="m.yaml")
        found = yaml.safe_load(result.text)
        assert found["data"]["other"] == "a: 1\n"
        assert (
            profile_of(found["data"][key.replace("_", ".")]).scheduler_name == "default-scheduler"
        )
        assert f"--config=FOLDER/{key.replace('_', '.')}" in notes(result, action=True)

    def test_the_rest_stays_as_it_is(self) -> None:
        text = (
            "# head\nkind: ConfigMap\napiVersion: v1\nmetadata:   {name: a}   # odd\ndata:\n"
            "  before: x\n  c.yaml: |\n    # mine\n"
            + "".join(f"    {line}\n" for line in CONFIG.splitlines())
            + "\n  after: 'y'  # last\n---\n# the end\nkind: Service\napiVersion: v1\n"
        )
        result = migrate(text, source="m.yaml")
        head, _, rest = result.text.partition("  c.yaml: |\n")
        assert head == text.partition("  c.yaml: |\n")[0]
        assert rest.endswith(text.partition("schedulerName: mine\n\n")[2])
        assert "comments of the old configuration are not kept" in notes(result)
        assert configuration(yaml.safe_load(head + "  c.yaml: |\n" + rest.partition("---")[0])[
            "data"]["c.yaml"])["profiles"][0]["schedulerName"] == "mine"  # fmt: skip

    @pytest.mark.parametrize("style", ["|", "|-", ">-", '"'])
    def test_every_style_of_text(self, style: str) -> None:
        value = json.dumps(POLICY) if style == '"' else f"{style}\n    {POLICY}"
        text = f"kind: ConfigMap\nmetadata: {{name: ü}}\ndata:\n  p: {value}\n  z: last\n"
        found = yaml.safe_load(migrate(text, source="m.yaml").text)
        assert found["data"]["z"] == "last"
        assert profile_of(found["data"]["p"]).scheduler_name == "default-scheduler"

    def test_json(self) -> None:
        found = {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"p": POLICY, "q": "x"}}
        text = json.dumps({"kind": "List", "items": [found]}, indent="\t")
        result = migrate(text, source="m.json")
        items = json.loads(result.text)["items"]
        assert items[0]["data"]["q"] == "x"
        assert profile_of(items[0]["data"]["p"]).scheduler_name == "default-scheduler"

    def test_a_broken_policy_has_its_line(self) -> None:
        text = 'kind: ConfigMap\ndata:\n  p: |\n    {"kind": "Policy",\n     "predicates": 1}\n'
        with pytest.raises(InputError, match=r"m.yaml, line 5: predicates: 1 is invalid"):
            migrate(text, source="m.yaml")

    def test_other_values_are_left_alone(self) -> None:
        text = config_map("x", a="{{ template }}", b="kind: Deployment\n", c="[1, 2")
        result = migrate(text, source="m.yaml")
        assert (result.state, result.text) == ("other", text)


class TestReferences:
    @pytest.mark.parametrize(
        "source",
        [
            {"configMap": {"name": "p", "namespace": "kube-system"}},
            {"configMap": {"name": "p"}},
            {"file": {"path": "/somewhere/policy.cfg"}},
        ],
    )
    def test_a_policy_becomes_part_of_the_configuration(self, source: dict[str, Any]) -> None:
        text = CONFIG + yaml.safe_dump({"algorithmSource": {"policy": source}})
        given = config_map("p", policy_cfg=POLICY)
        results = migrate_all([("a.yaml", config_map("c", config_yaml=text)), ("b.yaml", given)])
        assert [one.state for one in results] == ["migrated", "migrated"]
        profile = profile_of(results[0].text)
        assert profile.scheduler_name == "mine"
        assert [one.name for one in profile.points["score"]] == [
            "VolumeBinding",
            "DynamicResources",
        ]
        assert yaml.safe_load(results[1].text)["data"] == {}
        assert "delete the ConfigMap" in notes(results[1], action=True)
        again = migrate_all([(one.source, one.text) for one in results])
        assert [one.text for one in again] == [one.text for one in results]

    def test_a_policy_of_two_configurations(self) -> None:
        source = {"policy": {"configMap": {"name": "p"}}}
        text = CONFIG + yaml.safe_dump({"algorithmSource": source})
        given = [config_map("c", a=text), config_map("d", a=text), config_map("p", k=POLICY)]
        result = migrate("---\n".join(given), source="m.yaml")
        first, second, policy = yaml.safe_load_all(result.text)
        assert configuration(first["data"]["a"]) == configuration(second["data"]["a"])
        assert policy["data"] == {}

    def test_a_policy_beside_its_configuration(self) -> None:
        source = {"policy": {"file": {"path": "/x/policy.json"}}}
        text = CONFIG + yaml.safe_dump({"algorithmSource": source})
        given = config_map("c", config_yaml=text, policy_json=POLICY)
        result = migrate(given, source="m.yaml")
        assert list(yaml.safe_load(result.text)["data"]) == ["config.yaml"]
        assert notes(result, action=True) == ""

    def test_through_the_volumes_of_a_pod(self) -> None:
        source = {"policy": {"file": {"path": "/pol/renamed"}}}
        text = CONFIG + yaml.safe_dump({"algorithmSource": source})
        mounts = (
            "    volumeMounts:\n    - {name: a, mountPath: /cfg}\n"
            "    - {name: b, mountPath: /pol}\n"
            "  volumes:\n  - {name: a, configMap: {name: c}}\n"
            "  - {name: b, configMap: {name: p, items: [{key: k, path: renamed}]}}\n"
        )
        result = one_result(
            config_map("c", config_yaml=text),
            config_map("p", k=POLICY),
            pod("--config=/cfg/config.yaml") + mounts,
        )
        assert profile_of(result.text).scheduler_name == "mine"

    def test_the_innermost_mount_has_the_file(self) -> None:
        mounts = (
            "    volumeMounts:\n    - {name: a, mountPath: /etc/kubernetes}\n"
            "    - {name: b, mountPath: /etc/kubernetes/policy}\n"
            "  volumes:\n  - {name: a, configMap: {name: other}}\n"
            "  - {name: b, configMap: {name: p}}\n"
        )
        result = one_result(
            pod("--policy-config-file=/etc/kubernetes/policy/policy.cfg") + mounts,
            config_map("p", policy_cfg=POLICY),
            config_map("other", policy_cfg="{}"),
        )
        assert "--config=/etc/kubernetes/policy/policy.cfg" in words(result.text)


class TestArguments:
    def test_a_policy_file_becomes_the_configuration(self) -> None:
        mounts = (
            "    volumeMounts: [{name: a, mountPath: /pol}]\n"
            "  volumes: [{name: a, configMap: {name: p}}]\n"
        )
        manifest = (
            pod(
                "--policy-config-file=/pol/policy.cfg",
                "--use-legacy-policy-config=true",
                "--scheduler-name=mine",
                "--lock-object-name=lock",
                "--kubeconfig=/k",
                "--hard-pod-affinity-symmetric-weight=5",
                "--port=0",
            )
            + mounts
        )
        results = migrate_all(
            [("pod.yaml", manifest), ("map.yaml", config_map("p", policy_cfg=POLICY))]
        )
        assert words(results[0].text) == [
            "kube-scheduler",
            "--config=/pol/policy.cfg",
            "--leader-elect=false",
        ]
        assert "# ours" in results[0].text
        found = configuration(results[1].text)
        assert found["profiles"][0]["schedulerName"] == "mine"
        assert found["leaderElection"] == {"resourceName": "lock"}
        assert found["clientConnection"] == {"kubeconfig": "/k"}
        again = migrate_all([(one.source, one.text) for one in results])
        assert [one.text for one in again] == [one.text for one in results]

    def test_a_policy_in_a_config_map_is_mounted(self) -> None:
        manifest = pod("--policy-configmap", "p", "--policy-configmap-namespace=kube-system")
        results = migrate_all(
            [("pod.yaml", manifest), ("map.yaml", config_map("p", policy_cfg=POLICY))]
        )
        assert words(results[0].text)[1] == "--config=/etc/kubernetes/scheduler-config/policy.cfg"
        spec = yaml.safe_load(results[0].text)["spec"]
        volume = spec["volumes"][0]
        assert volume["configMap"] == {"name": "p"}
        mount = spec["containers"][0]["volumeMounts"][0]
        assert mount["name"] == volume["name"]
        assert mount["mountPath"] == "/etc/kubernetes/scheduler-config"
        assert profile_of(results[1].text).scheduler_name == "default-scheduler"

    @pytest.mark.parametrize("flow", [False, True])
    def test_arguments_alone_become_a_config_map(self, flow: bool) -> None:
        manifest = pod(
            "--algorithm-provider=ClusterAutoscalerProvider",
            "--address=0.0.0.0",
            "--logtostderr",
            "--v=2",
        )
        manifest += "  volumes:\n  - name: old\n    emptyDir: {}\n"
        if flow:
            manifest = json.dumps(yaml.safe_load(manifest))
        result = migrate(manifest, source="pod.yaml")
        documents = list(yaml.safe_load_all(result.text))
        assert documents[1]["metadata"] == {"name": "sched-config", "namespace": "kube-system"}
        args = configuration(documents[1]["data"]["config.yaml"])["profiles"][0]["pluginConfig"]
        assert args[0]["args"]["scoringStrategy"]["type"] == "MostAllocated"
        assert words(result.text) == [
            "kube-scheduler",
            "--config=/etc/kubernetes/scheduler-config/config.yaml",
            "--v=2",
            "--leader-elect=false",
        ]
        assert [one["name"] for one in documents[0]["spec"]["volumes"]] == [
            "old",
            "scheduler-config",
        ]
        assert "--bind-address and --secure-port" in notes(result, action=True)

    @pytest.mark.parametrize("volumes", ["  volumes: []\n", "  volumes:\n", "  volumes: null\n"])
    def test_a_pod_without_volumes(self, volumes: str) -> None:
        result = migrate(pod("--scheduler-name=x") + volumes, source="pod.yaml")
        spec = next(yaml.safe_load_all(result.text))["spec"]
        assert [one["name"] for one in spec["volumes"]] == ["scheduler-config"]

    def test_schedulers_with_one_configuration(self) -> None:
        flags = ("--policy-configmap=p", "--scheduler-name=x")
        given = config_map("p", policy_cfg=POLICY)
        same = migrate("---\n".join([given, pod(*flags), pod(*flags)]), source="m.yaml")
        assert profile_of(same.text).scheduler_name == "x"
        other = pod("--policy-configmap=p", "--scheduler-name=y")
        with pytest.raises(InputError, match="one configuration for several schedulers"):
            migrate("---\n".join([given, pod(*flags), other]), source="m.yaml")

    def test_flags_beside_a_configuration_were_ignored(self) -> None:
        mounts = (
            "    volumeMounts: [{name: a, mountPath: /cfg}]\n"
            "  volumes: [{name: a, configMap: {name: c}}]\n"
        )
        manifest = pod("--config=/cfg/config.yaml", "--scheduler-name=other") + mounts
        results = migrate_all(
            [("pod.yaml", manifest), ("map.yaml", config_map("c", config_yaml=CONFIG))]
        )
        assert words(results[0].text)[1:] == ["--config=/cfg/config.yaml", "--leader-elect=false"]
        assert "is ignored beside --config" in notes(results[0])
        assert profile_of(results[1].text).scheduler_name == "mine"

    MOUNTED = (
        "    volumeMounts: [{name: a, mountPath: /cfg}]\n"
        "  volumes: [{name: a, configMap: {name: c}}]\n"
    )
    EXTENDING = (
        '{"kind": "Policy", "apiVersion": "v1", "priorities": [], '
        '"extenders": [{"urlPrefix": "http://e:1/", "filterVerb": "f"}]}'
    )

    @pytest.mark.parametrize("version", ["v1alpha2", "v1beta1", "v1beta2"])
    @pytest.mark.parametrize(
        "flags",
        [
            ["--policy-config-file=/cfg/policy.json"],
            ["--policy-configmap=c"],
            ["--policy-config-file=/cfg/policy.json", "--policy-configmap=x",
             "--use-legacy-policy-config"],
        ],
    )  # fmt: skip
    def test_a_policy_beside_a_configuration_counted(self, version: str, flags: list[str]) -> None:
        config = CONFIG.replace("v1alpha1", version).replace(
            "schedulerName: mine", "profiles: [{schedulerName: mine}]"
        )
        manifest = pod("--config=/cfg/config.yaml", *flags) + self.MOUNTED
        maps = config_map("c", config_yaml=config, policy_json=self.EXTENDING)
        results = migrate_all([("pod.yaml", manifest), ("map.yaml", maps)])
        assert words(results[0].text)[1:] == ["--config=/cfg/config.yaml", "--leader-elect=false"]
        assert "ignored" not in notes(results[0])
        assert list(yaml.safe_load(results[1].text)["data"]) == ["config.yaml"]
        found = configuration(results[1].text)
        assert [one["urlPrefix"] for one in found["extenders"]] == ["http://e:1/"]
        assert profile_of(results[1].text).scheduler_name == "mine"
        assert "NodeResourcesFit" not in [
            one.name for one in profile_of(results[1].text).points["score"]
        ]

    def test_a_policy_whose_configuration_is_not_given(self) -> None:
        manifest = pod("--config=/cfg/config.yaml", "--policy-configmap=p")
        given = [("pod.yaml", manifest), ("map.yaml", config_map("p", k=POLICY))]
        with pytest.raises(InputError, match=r"--config=/cfg/config\.yaml, which is not among"):
            migrate_all(given)

    def test_a_policy_beside_v1alpha1_did_not_count_and_is_mentioned(self) -> None:
        manifest = pod("--config=/cfg/config.yaml", "--policy-configmap=p") + self.MOUNTED
        maps = [config_map("c", config_yaml=CONFIG), config_map("p", k=self.EXTENDING)]
        result = one_result(manifest, *maps)
        assert "--policy-configmap: left out with what it says" in notes(result, action=True)

    @pytest.mark.parametrize("lock", ["=endpoints", "=configmapsleases"])
    def test_a_lock_that_is_removed_becomes_a_lease(self, lock: str) -> None:
        flag = "--leader-elect-resource-lock"
        result = migrate(pod(f"{flag}{lock}"), source="pod.yaml")
        assert words(result.text)[1:] == [f"{flag}=leases", "--leader-elect=false"]
        assert "stop the old ones" in notes(result, action=True)
        assert migrate(result.text, source="pod.yaml").text == result.text
        apart = migrate(pod(flag, lock[1:]), source="pod.yaml")
        assert words(apart.text) == words(result.text)

    def test_a_word_below_its_dash(self) -> None:
        manifest = pod("--scheduler-name=x", "", "--port=0").replace("-  \n", "-\n")
        manifest = manifest.replace("    - \n    - --port=0", "    -\n      # off\n      --port=0")
        result = migrate(manifest, source="pod.yaml")
        assert words(result.text)[2:] == ["--leader-elect=false"]

    @pytest.mark.parametrize("end", ["", "\n", "\n# the end", "\r\n"])
    def test_a_last_line_without_an_end(self, end: str) -> None:
        volumes = f"  volumes:\n  - name: old\n    emptyDir: {{}}{end}"
        result = migrate(pod("--scheduler-name=x") + volumes, source="pod.yaml")
        spec = next(yaml.safe_load_all(result.text))["spec"]
        assert [one["name"] for one in spec["volumes"]] == ["old", "scheduler-config"]

    def test_feature_gates_are_mentioned(self) -> None:
        flags = ("--scheduler-name=x", "--feature-gates=PodPriority=true")
        asked = notes(migrate(pod(*flags), source="pod.yaml"), action=True)
        assert "--feature-gates=PodPriority=true: kube-scheduler ends if it does not know" in asked

    @pytest.mark.parametrize(
        ("flag", "sentence"),
        [
            (
                "--policy-config-file=/x/y.json",
                "pod.yaml, line 10: --policy-config-file=/x/y.json: the Policy is not among",
            ),
            (
                "--policy-configmap=p",
                "pod.yaml, line 10: --policy-configmap=p: ConfigMap kube-system/p with a Policy is",
            ),
            (
                "--algorithm-provider=Mine",
                "pod.yaml, line 1: Pod sched, container scheduler: algorithmSource.provider:",
            ),
            (
                "--hard-pod-affinity-symmetric-weight=much",
                "pod.yaml, line 1: Pod sched, container scheduler: hardPodAffinitySymmetricWeight:",
            ),
        ],
    )
    def test_mistakes(self, flag: str, sentence: str) -> None:
        with pytest.raises(InputError) as raised:
            migrate(pod(flag), source="pod.yaml")
        assert str(raised.value).startswith(sentence)

    def test_a_file_of_which_kubectl_makes_the_config_map(self) -> None:
        mounts = (
            "    volumeMounts: [{name: a, mountPath: /cfg}]\n"
            "  volumes: [{name: a, configMap: {name: c}}]\n"
        )
        manifest = pod("--policy-config-file=/cfg/policy.json") + mounts
        results = migrate_all([("pod.yaml", manifest), ("made/policy.json", POLICY)])
        assert words(results[0].text)[1:] == ["--config=/cfg/policy.json", "--leader-elect=false"]
        said = notes(results[0], action=True)
        assert "kubectl create configmap c -n kube-system --from-file=made/policy.json" in said
        assert configuration(results[1].text)["apiVersion"] == "kubescheduler.config.k8s.io/v1"
        given = ("map.yaml", config_map("c", other_yaml="a: 1\n"))
        with pytest.raises(InputError, match="the Policy is not among the given files"):
            migrate_all([("pod.yaml", manifest), ("made/policy.json", POLICY), given])
        two = [("a/policy.json", POLICY), ("b/policy.json", POLICY)]
        with pytest.raises(InputError, match="the Policy is not among the given files"):
            migrate_all([("pod.yaml", manifest), *two])

    def test_a_configuration_that_is_not_given(self) -> None:
        result = migrate(pod("--config=/x/config.yaml"), source="pod.yaml")
        assert result.state == "other"
        assert "give it, too" in notes(result, action=True)

    def test_volumes_of_odd_forms(self) -> None:
        odd = "    volumeMounts: [{name: [], mountPath: /x}]\n  volumes: [{name: {}}, 3]\n"
        result = migrate(pod("--config=/x/config.yaml") + odd, source="pod.yaml")
        assert "a file on its node" in notes(result, action=True)

    def test_versions_and_probes(self) -> None:
        manifest = pod("--config=/c").replace(":v1.30.0", ":v1.22.1")
        manifest += "    readinessProbe: {httpGet: {path: /healthz, port: 10251}}\n"
        said = notes(migrate(manifest, source="pod.yaml"), action=True)
        assert "v1.22.1 is too old" in said
        assert "readinessProbe: port 10251 is not served any more" in said

    def test_another_program(self) -> None:
        manifest = pod("--config=/c").replace("kube-scheduler", "controller")
        assert migrate(manifest, source="pod.yaml").notes == ()


class TestHostile:
    def test_too_large(self) -> None:
        with pytest.raises(InputError, match="more than 4 MiB"):
            migrate("#" * (4 * 2**20 + 1), source="x")

    def test_aliases(self) -> None:
        lines = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
        lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 9)]
        with pytest.raises(InputError, match="holds more than"):
            migrate("\n".join(lines), source="x")
        with pytest.raises(InputError, match="refers to itself"):
            migrate("kind: Policy\npredicates: &a [*a]\n", source="x")

    def test_deep(self) -> None:
        with pytest.raises(InputError, match="levels deep"):
            migrate("[" * 5000, source="x")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "null",
            "3",
            "[1]",
            "kind: ConfigMap\ndata: 3",
            "kind: ConfigMap\nmetadata: 3\ndata: {a: b}",
            "kind: Pod\nspec: 3",
            "kind: Pod\nspec: {containers: [3]}",
            "kind: Deployment\nspec: {template: [1]}",
            "kind: Pod\nspec: {containers: [{command: [kube-scheduler]}], volumes: [{name: {}}]}",
            "kind: List\nitems: {a: 1}",
            "kind: List\nitems: [1, {kind: Pod}]",
            "kind: Policy\napiVersion: audit.k8s.io/v1\nrules: []",
        ],
    )
    def test_what_is_nothing_of_ours_stays(self, text: str) -> None:
        result = migrate(text, source="x")
        assert (result.text, result.state) == (text, "other")

    @pytest.mark.parametrize(
        "text",
        [
            "kind: Policy\nextenders: 3",
            "kind: Policy\nextenders: [3]",
            "kind: Policy\nextenders: [{tlsConfig: 3}]",
            "kind: Policy\npriorities: [{weight: 1}]",
            "kind: KubeSchedulerConfiguration",
            "kind: KubeSchedulerConfiguration\napiVersion: 3",
            f"{CONFIG}leaderElection: 3",
            f"{CONFIG}plugins: {{score: {{enabled: [3]}}}}",
            f"{CONFIG}pluginConfig: [{{name: a, args: 3}}]",
            f"{CONFIG}algorithmSource: {{policy: {{}}}}",
        ],
    )
    def test_wrong_forms_are_sentences(self, text: str) -> None:
        with pytest.raises(InputError, match=r"^x, line \d+: "):
            migrate(text, source="x")


class TestNewObjects:
    TWO = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: s, namespace: n}
spec:
  template:
    spec:
      containers:
      - {name: a, image: kube-scheduler, command: [kube-scheduler, --scheduler-name=a]}
      - name: b
        image: kube-scheduler
        command: [kube-scheduler, --scheduler-name=b]
%s"""

    def files(self, text: str) -> dict[str, str]:
        """The scheduler's name that the file of each container has."""
        objects = list(yaml.safe_load_all(text))
        maps = [one for one in objects if one["kind"] == "ConfigMap"]
        by_name = {one["metadata"]["name"]: one["data"] for one in maps}
        assert len(by_name) == len(maps)
        pod = objects[0]["spec"]["template"]["spec"]
        volumes = {one["name"]: one["configMap"]["name"] for one in pod["volumes"]}
        assert len(volumes) == len(pod["volumes"])
        found = {}
        for one in pod["containers"]:
            (mount,) = one["volumeMounts"]
            data = by_name[volumes[mount["name"]]]
            found[one["name"]] = str(profile_of(data["config.yaml"]).scheduler_name)
        return found

    @pytest.mark.parametrize(
        "volumes",
        [
            "",
            "      volumes: [{name: scheduler-config, configMap: {name: other}}]\n",
            "      volumes:\n      - name: scheduler-config\n        configMap: {name: other}\n",
        ],
    )
    def test_two_schedulers_in_a_pod_have_their_own(self, volumes: str) -> None:
        text = migrate(self.TWO % volumes, source="m.yaml").text
        assert text.count("volumes:") == 1
        assert self.files(text) == {"a": "a", "b": "b"}

    def test_a_config_map_that_is_there_is_not_replaced(self) -> None:
        there = yaml.safe_load(config_map("s-config", a="b"))
        there["metadata"]["namespace"] = "n"
        text = self.TWO % f"---\n{yaml.safe_dump(there)}"
        result = migrate(text, source="m.yaml").text
        assert self.files(result) == {"a": "a", "b": "b"}
        assert {"a": "b"} in [one.get("data") for one in yaml.safe_load_all(result)]

    @pytest.mark.parametrize(
        ("source", "old", "new"),
        [
            ("/etc/kubernetes/manifests/m.yaml", "", ""),
            ("m.yaml", "spec:\n", "spec:\n  hostNetwork: true\n"),
            ("m.yaml", "{name: sched,", "{name: sched, labels: {tier: control-plane},"),
        ],
    )
    def test_a_static_pod_gets_a_file_of_its_node(self, source: str, old: str, new: str) -> None:
        text = pod("--scheduler-name=mine", "--port=0").replace(old, new, 1)
        result = migrate(text, source=source)
        (made,) = yaml.safe_load_all(result.text)  # a file of a static pod has one object
        (volume,) = made["spec"]["volumes"]
        folder = "/etc/kubernetes/scheduler-config"
        assert volume["hostPath"] == {"path": folder, "type": "Directory"}
        assert f"--config={folder}/config.yaml" in words(result.text)
        (note,) = (str(one) for one in result.notes if folder in str(one))
        config = json.loads(note.partition("replaced: ")[2])
        assert config["profiles"][0]["schedulerName"] == "mine"

    def test_a_static_pod_with_a_policy_in_a_config_map(self) -> None:
        text = pod("--policy-configmap=p").replace("spec:\n", "spec:\n  hostNetwork: true\n", 1)
        result = one_result(text, config_map("p", policy_cfg=POLICY))
        assert "configMap" not in result.text
        assert "policy.cfg of ConfigMap p" in notes(result, action=True)

    def test_what_others_share_stays_as_it_is(self) -> None:
        shared = "x: &base\n  image: kube-scheduler\n"
        text = shared + pod("--scheduler-name=mine").replace(
            "  - name:", "  - <<: *base\n    name:"
        )
        result = migrate(text, source="m.yaml").text
        assert f"\n{shared}" in f"\n{result}"
        assert next(yaml.safe_load_all(result))["spec"]["containers"][0]["volumeMounts"]
        text = text.replace(shared, f"{shared}  volumeMounts: [{{name: a, mountPath: /a}}]\n")
        with pytest.raises(InputError, match=r"m\.yaml, line \d+: volumeMounts is an alias of"):
            migrate(text, source="m.yaml")

    def test_words_in_blocks(self) -> None:
        flags = ["|\n      --scheduler-name=mine", ">-\n      --port=0", "--v=2"]
        result = migrate(pod(*flags), source="m.yaml")
        assert words(result.text)[1:] == [
            "--config=/etc/kubernetes/scheduler-config/config.yaml",
            "--v=2",
            "--leader-elect=false",
        ]
