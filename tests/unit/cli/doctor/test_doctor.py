"""``moor doctor`` as users call it: files, a policy, an embedded cluster."""

import json
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from textwrap import indent

import pytest
import yaml

from mooring import testing
from mooring.deploy.doctor.registry import CHECKS
from mooring.testing.embedded_cluster import TestCluster
from tests.unit.cli.command_line import Run, rejected
from tests.unit.deploy.doctor.cases import CONFIG, POD, RIGHT, STATIC, STATIC_POD, changed

ROOT = Path(__file__).parents[4]
GUIDE = ROOT / "docs" / "guide" / "doctor.md"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cluster from outside, and a terminal of its own."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def moor(command_line: Run) -> Run:
    return partial(command_line, "doctor")


@pytest.fixture(scope="module")
def cluster() -> Iterator[TestCluster]:
    """Two nodes of which one takes ordinary pods."""
    taint = [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]
    nodes = [testing.make_node("main").raw, testing.make_node("worker").raw]
    nodes[0] = {**nodes[0], "spec": {"taints": taint}}
    with testing.cluster(nodes, scheduler=False) as running:
        yield running


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def findings(out: str) -> dict[str, list[str]]:
    return {
        one["id"]: [each["what"] for each in one["findings"]]
        for one in json.loads(out)["checks"]
        if one["findings"]
    }


def test_right_files_pass(moor: Run) -> None:
    write(RIGHT)
    code, out, err = moor("--manifest", ".")
    assert (code, err) == (0, "")
    assert out.startswith("✓ no problems; ")


class TestKustomizations:
    KUSTOMIZATION = """
        apiVersion: kustomize.config.k8s.io/v1beta1
        kind: Kustomization
        resources: [parts/deploy.yaml, https://example.com/elsewhere.yaml]
        configMapGenerator:
        - name: packer-config
          namespace: NAMESPACE
          files: [config.yaml=config.yaml]
        """

    def folder(self, name: str = "packer-config") -> None:
        objects = list(yaml.safe_load_all(RIGHT["deploy.yaml"]))
        (config,) = [one for one in objects if one["kind"] == "ConfigMap"]
        namespace = config["metadata"].get("namespace", "default")
        text = self.KUSTOMIZATION.replace("NAMESPACE", namespace)
        others = [one for one in objects if one is not config]
        write(
            {
                "kustomization.yaml": text.replace("- name: packer-config", f"- name: {name}"),
                "config.yaml": next(iter(config["data"].values())),
                "parts/deploy.yaml": yaml.safe_dump_all(others),
                "nodes.yaml": "- name: sample data\n",
                ".github/workflows/ci.yaml": "on: push\n",
            }
        )

    def test_only_what_they_name_is_read_and_what_they_make_is_there(self, moor: Run) -> None:
        self.folder()
        code, out, err = moor("--manifest", ".", "-o", "json")
        assert (code, err) == (0, "")
        assert findings(out) == {}

    def test_a_config_map_that_they_do_not_make_is_missed(self, moor: Run) -> None:
        self.folder("other")
        _, out, _ = moor("--manifest", ".", "-o", "json")
        assert "configmap-name" in findings(out)

    def test_one_that_is_no_yaml_is_named(self, moor: Run) -> None:
        write({"kustomization.yaml": "a: [\n"})
        assert "kustomization.yaml cannot be read: " in rejected(moor("--manifest", "."))

    @pytest.mark.parametrize(
        "text",
        [
            f"resources: [{'a' * 300}]",
            f"configMapGenerator: [{{files: [x={'a' * 300}.yaml, x=, '']}}]",
            "configMapGenerator: 5",
            "resources: {a: b}",
            'resources: ["a\\0b.yaml", pipe]',
            f"resources: [{', '.join(['.', '../made'] * 50)}]",
        ],
    )
    def test_strange_ones_are_read_once_and_end(self, moor: Run, text: str) -> None:
        write({"made/kustomization.yaml": text})
        os.mkfifo("made/pipe")
        code, _, err = moor("--manifest", "made")
        assert (code, err) == (0, "")

    def test_a_file_outside_is_not_theirs(self, moor: Run) -> None:
        write(
            {
                "made/kustomization.yaml": "resources: [../other.yaml, link.yaml, ../base]",
                "other.yaml": "no manifest",
                "base/kustomization.yaml": "resources: [broken.yaml]",
                "base/broken.yaml": "no manifest",
            }
        )
        Path("made/link.yaml").symlink_to("../other.yaml")
        _, out, _ = moor("--manifest", "made")
        assert ("broken.yaml" in out, "other.yaml" in out, "link.yaml" in out) == (
            True,
            False,
            False,
        )


def test_problems_come_first_and_fit_the_terminal(moor: Run) -> None:
    write(changed("          name: packer-config", "          name: other"))
    code, out, _ = moor("--manifest", "deploy.yaml", "-v")
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "✗ configmap-name"
    assert max(map(len, lines)) <= 80
    assert "  Do: Write name: packer-config (--fix does it)." in lines
    assert "passed" in lines
    assert re.match(r"✗ 1 error; \d+ checks passed, \d+ not checked$", lines[-1])


def test_warnings_alone_are_no_failure(moor: Run) -> None:
    write(changed("weight: 14", "weight: 1"))
    code, out, _ = moor("--manifest", ".")
    assert code == 0
    assert out.startswith("! policy-say\n  deploy.yaml:18, ConfigMap sched/packer-config")


def test_json_has_everything(moor: Run) -> None:
    write(changed("weight: 14", "weight: 1"))
    code, out, _ = moor("--manifest", ".", "-o", "json")
    data = json.loads(out)
    assert (code, data["errors"], data["warnings"]) == (0, 0, 1)
    assert [one["id"] for one in data["checks"]] == [one.id for one in CHECKS]
    [found] = [one for check in data["checks"] for one in check["findings"]]
    assert (found["file"], found["line"], found["fixable"]) == ("deploy.yaml", 18, False)
    assert found["edits"][0]["new"] == "14"
    missed = {one["id"]: one["reason"] for one in data["checks"] if one["reason"]}
    assert missed["clock-skew"] == "no cluster was looked at; --kubeconfig FILE names one"


def test_safe_corrections_are_made_with_a_backup_and_a_diff(moor: Run) -> None:
    files = changed("          name: packer-config", "          name: other")
    write(files)
    code, out, err = moor("--manifest", ".", "--fix")
    assert code == 0
    assert "\n-          name: other\n+          name: packer-config\n" in out
    assert err == "moor: deploy.yaml is corrected; the old text is in deploy.yaml.bak\n"
    assert Path("deploy.yaml").read_text() == RIGHT["deploy.yaml"]
    assert Path("deploy.yaml.bak").read_text() == files["deploy.yaml"]
    assert "✓ no problems" in out
    assert moor("--manifest", ".", "--fix")[2] == ""


@pytest.mark.parametrize("value", ["data:\n  password: {}", "stringData:\n  password: |\n    {}"])
def test_a_diff_shows_no_secrets(moor: Run, value: str) -> None:
    files = changed("          name: packer-config", "          name: other")
    head, separator, rest = files["deploy.yaml"].partition("---\napiVersion: apps/v1\n")
    last, _, _ = rest.partition("---\n")
    secret = "kind: Secret\napiVersion: v1\nmetadata: {name: login}\n"
    # Right below the line that changes.
    before = f"{head}{separator}{last}---\n{value.format('hunter2')}\n{secret}"
    write({"deploy.yaml": before})
    _, out, _ = moor("--manifest", ".", "--fix")
    assert "\n-          name: other\n+          name: packer-config\n ---\n " in out
    assert "hunter2" not in out
    assert Path("deploy.yaml").read_text() == before.replace("name: other", "name: packer-config")


def test_what_could_be_meant_otherwise_is_not_changed(moor: Run) -> None:
    files = changed("weight: 14", "weight: 1")
    write(files)
    moor("--manifest", ".", "--fix")
    assert Path("deploy.yaml").read_text() == files["deploy.yaml"]


def test_the_backup_of_a_static_pod_is_hidden_from_the_kubelet(moor: Run) -> None:
    old = STATIC_POD.replace("    - --kubeconfig", "    - --port=10251\n    - --kubeconfig")
    write({STATIC: old})
    code, _, _ = moor("--manifest", STATIC, "--fix")
    assert code == 0
    folder = Path(STATIC).parent
    assert sorted(one.name for one in folder.iterdir()) == [
        ".kube-scheduler.yaml.bak",
        "kube-scheduler.yaml",
    ]
    assert Path(STATIC).read_text() == STATIC_POD


def test_all_checks_are_listed(moor: Run) -> None:
    _, out, _ = moor("--list")
    assert [line.split()[0] for line in out.splitlines() if line[:1].strip()][1:] == [
        one.id for one in CHECKS
    ]
    assert max(map(len, out.splitlines())) <= 80
    _, text, _ = moor("--list", "-o", "json")
    assert [one["id"] for one in json.loads(text)] == [one.id for one in CHECKS]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "there is nothing to look at: give --config FILE"),
        (["--config", "missing.yaml"], "missing.yaml does not exist"),
        (["--manifest", "empty"], "empty has no .json, .yaml or .yml files"),
        (["--no-cluster", "--as", "x"], "--no-cluster and --as are mutually exclusive"),
        (["--no-cluster", "--context", "x"], "--no-cluster and --context are mutually exclusive"),
        (["--policy", "missing.py"], "missing.py"),
        (["--kubeconfig", "missing"], "missing"),
    ],
)
def test_bad_input_is_one_sentence(moor: Run, arguments: list[str], says: str) -> None:
    Path("empty").mkdir()
    assert says in rejected(moor(*arguments))


def test_a_policy_in_the_profile_of_the_configuration(moor: Run) -> None:
    policy = (ROOT / "docs" / "samples" / "night_batch.py").read_text()
    light = policy.replace('mr.Policy("night-batch")', 'mr.Policy("night-batch", weight=1)')
    assert light != policy
    write({"policy.py": light, "config.yaml": CONFIG})
    _, out, _ = moor("--policy", "policy.py", "--config", "config.yaml", "-o", "json")
    [said] = findings(out)["policy-say"]
    assert "policy night-batch can decide 3% of a node's total score (weight 1 of 29)" in said
    write({"policy.py": policy})
    _, out, _ = moor("--policy", "policy.py", "--config", "config.yaml", "-o", "json")
    assert "policy-say" not in findings(out)


def test_a_cluster_and_what_it_lacks(moor: Run, cluster: TestCluster) -> None:
    write({"pod.yaml": POD, "config.yaml": CONFIG})
    kubeconfig = ["--kubeconfig", cluster.kubeconfig]
    _, out, err = moor(
        "--config", "config.yaml", "--manifest", "pod.yaml", "-o", "json", *kubeconfig
    )
    assert err == ""
    assert findings(out)["one-feasible-node"] == [
        "shop/web fits on one node alone (of 2), so no score is asked about it."
    ]
    checks = {one["id"]: one for one in json.loads(out)["checks"]}
    passed = "cluster-reachable", "versions", "clock-skew", "permissions", "second-scheduler"
    assert [checks[one]["severity"] for one in passed] == ["ok"] * len(passed)


def test_pods_of_the_cluster_that_nobody_places(moor: Run, cluster: TestCluster) -> None:
    lost = POD.replace("name: web", "name: lost").replace("packer", "paker")
    cluster.apply(lost.replace("namespace: shop", "namespace: default"))
    try:
        code, out, _ = moor("--kubeconfig", cluster.kubeconfig, "-o", "json")
    finally:
        cluster.delete("Pod", "lost", "default")
    assert code == 1
    [said] = findings(out)["scheduler-name"]
    assert "1 pod with schedulerName paker waited for a scheduler that nobody has seen" in said
    code, out, _ = moor("--kubeconfig", cluster.kubeconfig, "-o", "json")
    assert "scheduler-name" not in findings(out)


def test_a_scheduler_that_runs_in_the_cluster_is_looked_at(moor: Run, cluster: TestCluster) -> None:
    cluster.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: sched}\n")
    cluster.apply(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: packer, namespace: sched}"
    )
    cluster.apply(RIGHT["deploy.yaml"])
    cluster.wait_for(
        lambda: (
            any(pod["metadata"]["namespace"] == "sched" for pod in cluster.list_objects("Pod"))
            or None
        ),
        "the scheduler's pod",
    )
    _, out, _ = moor("--kubeconfig", cluster.kubeconfig, "-o", "json")
    assert findings(out)["scheduler-unused"] == [
        "No pod has schedulerName packer, so this scheduler places nothing."
    ]


def test_a_cluster_that_is_not_there(moor: Run, cluster: TestCluster) -> None:
    text = cluster.kubeconfig.read_text().replace(cluster.url, "http://127.0.0.1:1")
    write({"kubeconfig": text, "config.yaml": CONFIG})
    code, out, _ = moor("--kubeconfig", "kubeconfig", "--config", "config.yaml", "-o", "json")
    assert code == 1
    assert list(findings(out)) == ["cluster-reachable"]


def test_extenders_are_asked_only_if_wanted(moor: Run) -> None:
    config = CONFIG.replace("packer-extender.sched.svc:8888", "127.0.0.1:1")
    write({"config.yaml": config})
    assert moor("--config", "config.yaml")[0] == 0
    code, out, _ = moor("--config", "config.yaml", "--ask-extenders", "-o", "json")
    assert code == 1
    assert "cannot be reached" in findings(out)["extender-reachable"][0]


def test_every_check_has_a_section_in_the_guide() -> None:
    headings = re.findall(r"^### (.+)$", GUIDE.read_text(), re.MULTILINE)
    assert headings == [one.id for one in CHECKS]


def test_the_guide_shows_what_is_printed(moor: Run) -> None:
    text = GUIDE.read_text()
    flags = re.MULTILINE | re.DOTALL
    (manifest,) = re.findall(r"^```yaml\n(.*?)^```$", text, flags)
    write({"packer.yaml": manifest})
    blocks = re.findall(
        r"^```console\n\$ moor doctor (.*?)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )
    assert len(blocks) == 2
    for arguments, shown in blocks:
        assert moor(*arguments.split())[1] == shown


def test_what_tools_make_manifests_of_is_left_out(moor: Run) -> None:
    chart = {"chart/Chart.yaml": "name: c\n", "chart/templates/a.yaml": "a: {{ .Values.b }}\n"}
    write({**RIGHT, **chart, "more/kustomization.yaml": "resources: [pod.yaml]\n"})
    assert moor("--manifest", ".")[1].startswith("✓ no problems")
    write({"other.yaml": "groups: []\n"})
    code, out, _ = moor("--manifest", ".")
    assert code == 0
    assert "This is not a manifest: an object has no kind." in out


@pytest.mark.parametrize("option", ["--config", "--manifest"])
def test_standard_input_cannot_be_corrected(moor: Run, option: str) -> None:
    code, _, err = moor(option, "-", "--fix")
    assert (code, err) == (2, "moor: --fix corrects files, and - is none; name the file\n")


def test_a_chart_alone_has_to_be_rendered_first(moor: Run) -> None:
    write({"chart/Chart.yaml": "name: c\n", "chart/templates/a.yaml": "a: {{ .Values.b }}\n"})
    code, _, err = moor("--manifest", "chart")
    assert code == 2
    assert err == (
        "moor: chart is a Helm chart; give what it makes: helm template chart | "
        "moor doctor --manifest -\n"
    )


def test_a_configuration_may_leave_its_kind_out(moor: Run) -> None:
    write({"config.yaml": CONFIG.partition("kind: KubeSchedulerConfiguration\n")[2]})
    assert moor("--config", "config.yaml")[1].startswith("✓ no problems")


OLD_POD = """\
---
apiVersion: v1
kind: Pod
metadata:
  name: kube-scheduler
  namespace: kube-system
spec:
  containers:
  - name: kube-scheduler
    image: registry.k8s.io/kube-scheduler:v1.36.4
    command:
    - kube-scheduler
    - --policy-config-file=/p.json
    livenessProbe:
      httpGet:
        path: /healthz
        port: 10251
"""
OLD_CONFIG = """\
{"apiVersion": "kubescheduler.config.k8s.io/v1beta3", "kind": "KubeSchedulerConfiguration",
 "profiles": [{"schedulerName": "default-scheduler"}]}
"""


MOUNTING_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: kube-scheduler, namespace: kube-system}
spec:
  containers:
  - name: main
    image: registry.k8s.io/kube-scheduler:v1.36.4
    command: [kube-scheduler, --config=/cfg/wrong.yaml, --kubeconfig=/etc/scheduler.conf]
    volumeMounts: [{name: cfg, mountPath: /cfg}]
  volumes:
  - {name: cfg, configMap: {name: cfg}}
"""


def test_a_correction_that_shows_another_one_is_followed_by_it(moor: Run) -> None:
    lines = ["kind: ConfigMap", "apiVersion: v1", "metadata: {name: cfg, namespace: kube-system}"]
    config_map = "\n".join([*lines, "data:", "  old.yaml: |", indent(OLD_CONFIG, "    ")])
    write({"pod.yaml": MOUNTING_POD, "map.yaml": config_map})
    _, out, err = moor("--manifest", "pod.yaml", "--manifest", "map.yaml", "--fix")
    assert "--fix does it" not in out
    assert "--config=/cfg/old.yaml" in Path("pod.yaml").read_text()
    migrated = yaml.safe_load(yaml.safe_load(Path("map.yaml").read_text())["data"]["old.yaml"])
    assert migrated["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    assert migrated["clientConnection"] == {"kubeconfig": "/etc/scheduler.conf"}
    assert err.count("map.yaml is corrected") == 1
    assert Path("map.yaml.bak").read_text() == config_map
    assert not Path("map.yaml.bak-1").exists()
    assert moor("--manifest", "pod.yaml", "--manifest", "map.yaml", "--fix")[2] == ""


class TestWhatCannotBeFixed:
    def test_a_policy_that_is_not_given_does_not_stop_other_corrections(self, moor: Run) -> None:
        write({"pod.yaml": OLD_POD, "old.yaml": OLD_CONFIG})
        code, out, err = moor("--manifest", "pod.yaml", "--manifest", "old.yaml", "--fix")
        assert code == 1
        assert "pod.yaml is corrected" in err
        assert "old.yaml is corrected" in err
        found = yaml.safe_load(Path("pod.yaml").read_text())["spec"]["containers"][0]
        assert found["livenessProbe"]["httpGet"]["port"] == 10259
        assert found["command"][-1] == "--policy-config-file=/p.json"
        assert "✗ removed-flag\n  pod.yaml:13, " in out
        assert "✗ probe-port" not in out
        assert "--fix does it" not in out

    def test_it_is_not_promised_either(self, moor: Run) -> None:
        write({"pod.yaml": OLD_POD})
        _, out, _ = moor("--manifest", "pod.yaml", "-o", "json")
        checks = {one["id"]: one["findings"] for one in json.loads(out)["checks"]}
        [flag], [probe] = checks["removed-flag"], checks["probe-port"]
        assert (flag["fixable"], probe["fixable"]) == (False, True)
        assert flag["advice"].startswith("Give the Policy, too")

    def test_what_migrate_rejects_is_said_and_the_rest_is_fixed(self, moor: Run) -> None:
        broken = OLD_CONFIG.replace('"default-scheduler"', '"a", "percentageOfNodesToScore": 300')
        broken = broken.replace("v1beta3", "v1beta2").replace("}]}", '}], "parallelism": -1}')
        write(
            {"a.json": broken, "pod.yaml": OLD_POD.replace("--policy-config-file=/p.json", "-v=2")}
        )
        code, out, err = moor("--manifest", "a.json", "--manifest", "pod.yaml", "--fix")
        assert code == 1
        assert Path("a.json").read_text() == broken
        assert "moor: a.json stays as it is: a.json, line " in err
        assert "pod.yaml is corrected" in err
        assert "✗ config-version" in out
        assert "--fix does it" not in out

    def test_a_policy_that_a_rejected_file_may_use_stays(self, moor: Run) -> None:
        broken = OLD_CONFIG.replace("}]}", '}], "parallelism": -1}')
        policy = (
            '{"apiVersion": "v1", "kind": "Policy", "predicates": [{"name": "GeneralPredicates"}]}'
        )
        write({"a.json": broken, "p.json": policy})
        _, _, err = moor("--manifest", "a.json", "--manifest", "p.json", "--fix")
        assert Path("p.json").read_text() == policy
        assert "moor: p.json stays as it is" in err


def test_json_stays_json(moor: Run) -> None:
    write({"mine.json": OLD_CONFIG})
    code, _, _ = moor("--config", "mine.json", "--fix")
    assert code == 0
    found = json.loads(Path("mine.json").read_text())
    assert found["apiVersion"] == "kubescheduler.config.k8s.io/v1"


def test_a_configuration_that_cannot_be_parsed_is_bad_input(moor: Run) -> None:
    write({"bad.yaml": "a: [\n"})
    said = rejected(moor("--config", "bad.yaml"))
    assert said.startswith("bad.yaml is not YAML: ")
    write({"list.yaml": "- a\n"})
    assert "list.yaml is not a configuration" in rejected(moor("--config", "list.yaml"))
    code, out, _ = moor("--manifest", "bad.yaml")
    assert code == 1
    assert "✗ manifest-parses" in out


STATIC_LINES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: kube-system}
data: {a: 'bREAKb'}
---
apiVersion: v1
kind: Pod
metadata: {name: kube-scheduler, namespace: kube-system}
spec:
  containers:
  - name: kube-scheduler
    image: registry.k8s.io/kube-scheduler:v1.36.4
    livenessProbe: {httpGet: {path: /healthz, port: 10251}}
    command:
    - kube-scheduler
    - --kubeconfig=/etc/kubernetes/scheduler.conf
    - --port=0"""


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("inside", ["", "\u2028", "\x85", "\u2029"])
def test_a_fix_finds_its_line_whatever_ends_lines(moor: Run, ending: str, inside: str) -> None:
    before = STATIC_LINES.replace("READ", inside)
    Path("pod.yaml").write_bytes(before.replace("\n", ending).encode())
    assert moor("--manifest", "pod.yaml", "--fix")[0] == 0
    after = before.replace("port: 10251", "scheme: HTTPS, port: 10259")
    after = after.removesuffix("    - --port=0").replace("\n", ending)
    assert Path("pod.yaml").read_bytes().decode() == after
