"""A new policy project: what is in it, and which names it can have."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mooring.deploy.manifests.choices import Mode
from mooring.deploy.scaffold.project import project_files
from mooring.errors import InputError


def test_every_name_is_filled_in() -> None:
    files = project_files("spot-first")
    assert [path for path, text in files.items() if re.search("@[A-Z]+@", text)] == []
    assert "spot-first" in files["pyproject.toml"]
    for path in ("policy.py", "test_policy.py"):
        ast.parse(files[path])


def test_its_code_looks_as_ruff_wants_it(tmp_path: Path) -> None:
    for path in ("policy.py", "test_policy.py"):
        (tmp_path / path).write_text(project_files("spot-first")[path])
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["format", "--check"], ["check"]):
        subprocess.run([*ruff, *command, "--isolated", "--line-length=100", tmp_path], check=True)


@pytest.mark.parametrize("mode", [Mode.SCHEDULER, Mode.SIDECAR])
def test_an_edited_policy_is_applied_and_reloaded(mode: Mode) -> None:
    files = project_files("spot-first", mode)
    made = yaml.safe_load(files["kustomization.yaml"])
    policy, config = made["configMapGenerator"]
    assert policy["files"] == ["policy.py"]
    assert policy["options"]["disableNameSuffixHash"] is True
    assert "disableNameSuffixHash" not in config["options"]
    assert set(made["resources"]) <= files.keys()
    (deployment,) = (
        each
        for each in yaml.safe_load_all(files["deploy/deployment.yaml"])
        if each["kind"] == "Deployment"
    )
    spec = deployment["spec"]["template"]["spec"]
    (moor,) = (
        each
        for each in [*spec["containers"], *spec.get("initContainers", [])]
        if each["command"][0] == "moor"
    )
    assert "--reload" in moor["args"]
    assert moor["image"] == "spot-first:0.1.0"
    (mount,) = (each for each in moor["volumeMounts"] if each["name"] == "policy")
    assert moor["command"][2] == f"{mount['mountPath']}/policy.py"


@pytest.mark.parametrize("name", ["", "Spot", "9lives", "a_b", "a/b", "-x", "x-", "x" * 41, "é"])
def test_names_that_objects_cannot_have(name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name of a project"):
        project_files(name)


@pytest.mark.parametrize("name", ["mooring", "default-scheduler", "kube-system", "kube-mine"])
def test_names_of_something_else(name: str) -> None:
    with pytest.raises(InputError, match="name of something else"):
        project_files(name)
