"""What ``moor migrate`` writes is right for ``moor doctor``: every old version in every form."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.cli.command_line import Run
from tests.unit.deploy.migration.old_versions import GROUP, OLD_VERSIONS
from tests.unit.deploy.source_documents import LEFT, files_of

pytestmark = pytest.mark.usefixtures("alone")

KIND = "KubeSchedulerConfiguration"
NAME = "old"
FOLDER = "/etc/old"
#: The checks of what a migration writes: configurations, arguments, and where both meet.
MIGRATED = {
    "manifest-parses", "configmap-name", "config-version", "renamed-field", "config-invalid",
    "plugin-unknown", "removed-flag", "scheduler-kubeconfig", "config-path", "lease-shared",
}  # fmt: skip

POLICY: dict[str, Any] = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [{"name": "GeneralPredicates"}, {"name": "CheckVolumeBinding"}],
    "priorities": [{"name": "MostRequestedPriority", "weight": 2}],
    "extenders": [
        {
            "urlPrefix": "http://10.0.0.7:8888/",
            "filterVerb": "filter",
            "enableHttps": False,
            "nodeCacheCapable": True,
            "httpTimeout": 3000000000,
        }
    ],
    "hardPodAffinitySymmetricWeight": 10,
}
#: With a Policy beside it, or alone.
COMPONENT_CONFIG = {"apiVersion": "componentconfig/v1alpha1", "kind": KIND, "schedulerName": NAME}


def _own_lease(version: str, found: dict[str, Any]) -> dict[str, Any]:
    """The same with a name and a Lease that nobody else has."""
    names = {"lockObjectName": NAME, "lockObjectNamespace": "sched"}
    if "v1alpha1" not in version:
        names = {"resourceName": NAME, "resourceNamespace": "sched"}
        profiles = [{**one, "schedulerName": NAME} for one in found["profiles"]]
        return {**found, "leaderElection": {"leaderElect": True, **names}, "profiles": profiles}
    return {**found, "leaderElection": {"leaderElect": True, **names}, "schedulerName": NAME}


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "componentconfig/v1alpha1": _own_lease("v1alpha1", COMPONENT_CONFIG)
} | {
    version: _own_lease(version, {"apiVersion": f"{GROUP}/{version}", "kind": KIND, **fields})
    for version, fields in OLD_VERSIONS.items()
}


def as_json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent="\t") + "\n"


def as_yaml(data: dict[str, Any]) -> str:
    return yaml.safe_dump(data, sort_keys=False)


LANGUAGES: dict[str, Callable[[dict[str, Any]], str]] = {"json": as_json, "yaml": as_yaml}


def config_map(name: str, **data: str) -> str:
    """A ConfigMap with each value as a block of lines."""
    values = ""
    for key, text in data.items():
        lines = "".join(f"    {line}\n" for line in text.splitlines())
        values += f"  {key.replace('_', '.')}: |\n{lines}"
    meta = f"metadata: {{name: {name}, namespace: sched}}"
    return f"apiVersion: v1\nkind: ConfigMap\n{meta}\ndata:\n{values}"


def pod_spec(indent: int, command: list[str], volume: dict[str, Any] | None) -> str:
    container: dict[str, Any] = {
        "name": "scheduler",
        "image": "registry.k8s.io/kube-scheduler:v1.36.4",
        "command": command,
    }
    spec: dict[str, Any] = {"serviceAccountName": NAME, "containers": [container]}
    if volume is not None:
        container["volumeMounts"] = [{"name": "config", "mountPath": FOLDER}]
        spec["volumes"] = [{"name": "config", **volume}]
    if "--kubeconfig=/etc/old/scheduler.conf" in command:
        del spec["serviceAccountName"]
    lines = as_yaml({"spec": spec}).splitlines()
    return "".join(f"{' ' * indent}{line}\n" for line in lines)


def deployment(command: list[str], volume: dict[str, Any] | None = None) -> str:
    return (
        "apiVersion: apps/v1\nkind: Deployment\n"
        f"metadata: {{name: {NAME}, namespace: sched}}\nspec:\n"
        "  selector:\n    matchLabels: {app: old}\n"
        "  template:\n    metadata:\n      labels: {app: old}\n" + pod_spec(4, command, volume)
    )


def static_pod(command: list[str]) -> str:
    volume = {"hostPath": {"path": FOLDER}}
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: old, namespace: sched}\n" + pod_spec(
        0, command, volume
    )


IN_CONFIG_MAP = {"configMap": {"name": "old-config"}}
STATIC = "etc/kubernetes/manifests/old.yaml"
LEASE = f"--lock-object-name={NAME}"


def configured(language: str, data: dict[str, Any], form: str) -> dict[str, str]:
    """The files of a scheduler with a configuration file."""
    text = LANGUAGES[language](data)
    file = f"config.{language}"
    flags = [f"--config={FOLDER}/{file}", "--logtostderr=true"]
    command = ["kube-scheduler", *flags]
    shell = ["/bin/sh", "-c", f"exec kube-scheduler {' '.join(flags)} 2>&1"]
    in_config_map = config_map("old-config", **{f"config_{language}": text})
    if form == "file":
        return {file: text}
    if form == "ConfigMap":
        return {"map.yaml": in_config_map}
    if form == "static pod":
        with_kubeconfig = {**data, "clientConnection": {"kubeconfig": "/etc/old/scheduler.conf"}}
        kubeconfig = "--kubeconfig=/etc/old/scheduler.conf"
        return {
            STATIC: static_pod([*command, kubeconfig]),
            file: LANGUAGES[language](with_kubeconfig),
        }
    used = shell if form == "sh -c" else command
    return {"all.yaml": f"{in_config_map}---\n{deployment(used, IN_CONFIG_MAP)}"}


def with_policy(language: str, form: str) -> dict[str, str]:
    """The files of a scheduler with a Policy."""
    text = LANGUAGES[language](POLICY)
    file = f"policy.{language}"
    name = f"--scheduler-name={NAME}"
    by_file = [f"--policy-config-file={FOLDER}/{file}", name, LEASE]
    in_config_map = config_map("old-config", **{f"policy_{language}": text})
    if form == "file":
        return {file: text}
    if form == "ConfigMap":
        return {"map.yaml": in_config_map}
    if form == "static pod":
        kubeconfig = "--kubeconfig=/etc/old/scheduler.conf"
        return {STATIC: static_pod(["kube-scheduler", *by_file, kubeconfig]), file: text}
    if form == "sh -c":
        shell = ["sh", "-c", f"kube-scheduler {' '.join(by_file)}"]
        return {"all.yaml": f"{in_config_map}---\n{deployment(shell, IN_CONFIG_MAP)}"}
    if form == "Deployment":
        flags = ["--policy-configmap=old-config", "--policy-configmap-namespace=sched", name, LEASE]
        return {"map.yaml": in_config_map, "d.yaml": deployment(["kube-scheduler", *flags])}
    source = (
        {"file": {"path": f"{FOLDER}/{file}"}}
        if form == "algorithmSource file"
        else {"configMap": {"namespace": "sched", "name": "old-policy"}}
    )
    config = as_yaml({**CONFIGURATIONS["v1alpha1"], "algorithmSource": {"policy": source}})
    command = deployment(["kube-scheduler", f"--config={FOLDER}/config.yaml"], IN_CONFIG_MAP)
    if form == "algorithmSource file":
        both = config_map("old-config", config_yaml=config, **{f"policy_{language}": text})
        return {"all.yaml": f"{both}---\n{command}"}
    policy = config_map("old-policy", policy_cfg=text)
    return {
        "all.yaml": f"{config_map('old-config', config_yaml=config)}---\n{policy}---\n{command}"
    }


FORMS = ["file", "ConfigMap", "Deployment", "static pod", "sh -c"]
CASES = {
    f"{version} in {language}, {form}": configured(language, data, form)
    for version, data in CONFIGURATIONS.items()
    for language in LANGUAGES
    for form in FORMS
} | {
    f"Policy in {language}, {form}": with_policy(language, form)
    for language in LANGUAGES
    for form in (*FORMS, "algorithmSource file", "algorithmSource configMap")
}


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def migrate(moor: Run, files: list[str]) -> None:
    """Migrate files in place, and delete the backups."""
    code, _, _ = moor("migrate", "--in-place", *files)
    assert code == 0
    for backup in [one for one in Path().rglob("*") if ".bak" in one.name]:
        backup.unlink()


def said(moor: Run, *arguments: str) -> dict[str, list[str]]:
    _, out, _ = moor("doctor", *arguments, "-o", "json")
    checks = json.loads(out)["checks"]
    return {one["id"]: [each["what"] for each in one["findings"]] for one in checks}


def problems(moor: Run, *arguments: str) -> dict[str, list[str]]:
    return {name: found for name, found in said(moor, *arguments).items() if found}


BOTH = {
    "config.yaml": as_yaml(
        {
            **CONFIGURATIONS["v1alpha1"],
            "algorithmSource": {"policy": {"file": {"path": "/etc/policy.json"}}},
        }
    ),
    "policy.json": as_json(POLICY),
}


def test_a_policy_in_a_file_of_its_own_is_no_second_configuration(command_line: Run) -> None:
    write(BOTH)
    assert command_line("migrate", "--in-place", "config.yaml", "policy.json")[0] == 0
    assert problems(command_line, "--manifest", ".") == {}


@pytest.mark.parametrize("places", [["."], ["config.yaml", "policy.json"]])
def test_the_doctor_leaves_it_as_a_backup_as_well(command_line: Run, places: list[str]) -> None:
    write(BOTH)
    given = [word for place in places for word in ("--manifest", place)]
    code, _, err = command_line("doctor", *given, "--fix")
    assert code == 0
    assert "policy.json is part of the configuration now; its text is in policy.json.bak" in err
    assert sorted(one.name for one in Path().iterdir()) == [
        "config.yaml",
        "config.yaml.bak",
        "policy.json.bak",
    ]


SCORING = """\
import mooring as mr

policy = mr.Policy("half")


@policy.score
def score(pod: mr.Pod, node: mr.Node) -> int:
    return 50
"""


@pytest.mark.parametrize("version", ["1.22", "1.24"])
def test_manifests_for_an_old_version_keep_what_it_reads(command_line: Run, version: str) -> None:
    write({"policy.py": SCORING})
    made = ["--mode", "sidecar", "--kubernetes", version, "-d", "made"]
    assert command_line("manifests", "policy.py", *made)[0] == 0
    before = {one: one.read_text() for one in Path("made").iterdir()}
    assert "image-version" in problems(command_line, "--manifest", "made")
    code, out, _ = command_line("doctor", "--manifest", "made", "--policy", "policy.py", "--fix")
    assert (code, "--fix does it" in out) == (0, False)
    assert {one: one.read_text() for one in Path("made").iterdir()} == before


@pytest.mark.parametrize("case", CASES)
def test_what_is_migrated_is_clean(command_line: Run, case: str) -> None:
    files = CASES[case]
    write(files)
    before = problems(command_line, "--manifest", ".")
    assert before.keys() & {"config-version", "removed-flag"}
    migrate(command_line, list(files))
    assert problems(command_line, "--manifest", ".") == {}
    left = [name for name in files if Path(name).exists() and "config" in name]
    if left:
        assert problems(command_line, "--config", left[0]) == {}


def test_every_version_that_the_guide_names_is_among_the_cases() -> None:
    guide = (Path(__file__).parents[4] / "docs" / "guide" / "migrate.md").read_text()
    table = guide.partition("| format |")[2].partition("\n\n")[0]
    named = re.findall(r"^\| `([^`]+)`", table, re.MULTILINE)
    assert {one.removeprefix(f"{GROUP}/") for one in named} == {"Policy", *CONFIGURATIONS}


#: The guides' own mistakes, which a migration keeps: names that do not fit, a flag that is ignored.
MISTAKES = {
    "000": {"config-path", "configmap-name", "scheduler-kubeconfig"},
    "001": {"configmap-name"},
    "004": {"configmap-name", "scheduler-kubeconfig"},
}


@pytest.mark.parametrize("folder", sorted(LEFT))
def test_the_configurations_of_guides(command_line: Run, folder: str) -> None:
    files = dict(files_of(folder))
    write(files)
    before = problems(command_line, "--manifest", ".")
    assert "config-version" in before
    migrate(command_line, list(files))
    found = problems(command_line, "--manifest", ".")
    assert found.keys() & MIGRATED == MISTAKES.get(folder, set())
    command_line("doctor", "--manifest", ".", "--fix")
    found = problems(command_line, "--manifest", ".")
    assert found.keys() == LEFT[folder]
