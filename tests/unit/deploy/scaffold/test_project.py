"""A new policy project: what is in it, and which names it can have."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mooring.cli.deploy.file_trees import write_files
from mooring.deploy.manifests.choices import Mode
from mooring.deploy.scaffold.project import project_files
from mooring.errors import InputError

each_mode = pytest.mark.parametrize("mode", list(Mode))


@pytest.fixture
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of a project in the mode that the test asks for."""
    folder = tmp_path / "spot-first"
    write_files(folder, project_files("spot-first", request.param))
    return folder


def run_make(folder: Path, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """With the environment of the tests for that of the project."""
    return subprocess.run(
        ["make", f"VENV={Path(sys.executable).parents[1]}", *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"},
    )  # fmt: skip


def make(folder: Path, *arguments: str, path: str = "") -> str:
    """What make prints."""
    done = run_make(folder, *arguments, path=path)
    assert done.returncode == 0, done
    return done.stdout


@each_mode
def test_every_name_is_filled_in(mode: Mode) -> None:
    files = project_files("spot-first", mode)
    assert [path for path, text in files.items() if re.search("@[A-Z_]+@", text)] == []
    assert "spot-first" in files["pyproject.toml"]
    for path in ("policy.py", "test_policy.py"):
        ast.parse(files[path])


def test_its_code_looks_as_ruff_wants_it(tmp_path: Path) -> None:
    for path in ("policy.py", "test_policy.py"):
        (tmp_path / path).write_text(project_files("spot-first")[path])
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["format", "--check"], ["check"]):
        subprocess.run([*ruff, *command, "--isolated", "--line-length=100", tmp_path], check=True)


@pytest.mark.parametrize("mode", [Mode.SCHEDULER, Mode.SIDECAR, Mode.EXTENDER])
def test_an_edited_policy_is_applied_and_reloaded(mode: Mode) -> None:
    files = project_files("spot-first", mode)
    made = yaml.safe_load(files["kustomization.yaml"])
    policy, config = made["configMapGenerator"]
    assert policy["files"] == ["policy.py"]
    assert policy["options"]["disableNameSuffixHash"] is True
    assert "disableNameSuffixHash" not in config["options"]
    assert set(made["resources"]) <= files.keys()
    assert "deploy/test-pod.yaml" in files.keys() - set(made["resources"])
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


@pytest.mark.parametrize("project", list(Mode), indirect=True)
def test_the_readme_and_the_workflow_name_what_is_there(project: Path) -> None:
    readme = (project / "README.md").read_text()
    shown = make(project, "help")
    targets = set(re.findall(r"make (\w+)", shown))
    workflow = (project / ".github" / "workflows" / "ci.yaml").read_text()
    for text in (readme, workflow):
        assert set(re.findall(r"\bmake (\w+)\b(?! keys)", text)) <= targets
    assert {"setup", "test", "demo", "image", "render", "deploy", "remove"} <= targets
    for place in re.findall(r"\]\((.*?)\)", readme):
        assert (project / place).exists()
    for place in re.findall(r"`(deploy/[^`]*?\.\w+)`", readme):
        assert (project / place).exists()


def test_an_extenders_readme_mounts_what_the_flag_names() -> None:
    readme = project_files("spot-first", Mode.EXTENDER)["README.md"]
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    pod = yaml.safe_load(block)["spec"]
    (container,), (volume,) = pod["containers"], pod["volumes"]
    (mount,) = container["volumeMounts"]
    assert mount["name"] == volume["name"]
    assert mount["mountPath"] == volume["hostPath"]["path"]
    assert container["command"][1] == f"--config={mount['mountPath']}/config.yaml"


HOOKS = """

@policy.preempt
def spare(pod: mr.Pod, node: mr.Node, victims: list[mr.Pod]) -> list[mr.Pod]:
    return victims
"""


@pytest.mark.parametrize("project", list(Mode), indirect=True)
def test_manifests_fit_the_policy_or_the_test_fails(project: Path) -> None:
    before = {one: one.read_text() for one in (project / "deploy").iterdir()}
    make(project, "fits")
    make(project, "manifests")
    assert {one: one.read_text() for one in (project / "deploy").iterdir()} == before
    config = project / "deploy" / "config.yaml"
    config.write_text(config.read_text().replace("leaderElect: true", "leaderElect: false"))
    done = run_make(project, "test")
    assert done.returncode == 2
    assert "deploy/config.yaml does not fit the policy: run make manifests" in done.stderr
    make(project, "manifests")
    assert {one: one.read_text() for one in (project / "deploy").iterdir()} == before


@pytest.mark.parametrize("project", [Mode.EXTENDER, Mode.SIDECAR], indirect=True)
def test_new_hooks_get_into_the_manifests(project: Path) -> None:
    with (project / "policy.py").open("a") as file:
        file.write(HOOKS)
    assert "does not fit the policy" in run_make(project, "fits").stderr
    make(project, "manifests")
    make(project, "fits")
    assert "preemptVerb: preempt\n" in (project / "deploy" / "config.yaml").read_text()


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A Python that writes down how it is called, and so do those of the environments it makes."""
    program = tmp_path / "python"
    program.write_text(
        f'#!/bin/sh\necho "${{0##*/bin/}} $*" >> "{tmp_path}/called"\n'
        'if [ "$1 $2" = "-m venv" ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi\n'
    )
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("project", [Mode.SCHEDULER], indirect=True)
class TestSetup:
    INSTALL = "python -m pip install --disable-pip-version-check"

    @staticmethod
    def called(project: Path, python: Path, *arguments: str) -> list[str]:
        make(project, "setup", f"PYTHON={python}", "VENV=.venv", *arguments)
        told = python.with_name("called")
        lines = told.read_text().splitlines()
        told.unlink()
        return lines

    def test_everything_is_installed_into_an_environment_of_its_own(
        self, project: Path, python: Path
    ) -> None:
        wheel = project / "wheels" / "mooring-0.1.0-py3-none-any.whl"
        wheel.touch()
        made, installed = self.called(project, python)
        assert made == f"{python} -m venv .venv"
        assert installed == f"{self.INSTALL} wheels/{wheel.name} --editable .[test]"

    @pytest.mark.parametrize("target", ["setup", "image"])
    def test_mooring_is_never_taken_from_an_index(
        self, project: Path, target: str, python: Path
    ) -> None:
        # The public one has another project of this name.
        (project / "wheels" / "other-1.0-py3-none-any.whl").touch()
        done = run_make(project, "--silent", target, f"PYTHON={python}")
        assert done.returncode == 2
        assert f"make {target} MOORING=path/to/mooring-0.1.0-py3-none-any.whl" in done.stderr
        assert not python.with_name("called").exists()
        built = (project / "Dockerfile").read_text().split("pip ")[0]
        assert "RUN ls wheels/mooring-*.whl" in built

    def test_a_wheel_of_mooring_is_installed_and_kept_for_the_image(
        self, project: Path, python: Path, tmp_path: Path
    ) -> None:
        for version in ("0.1.0", "0.2.0"):
            name = f"mooring-{version}-py3-none-any.whl"
            wheel = tmp_path / name
            wheel.touch()
            expected = f"{self.INSTALL} wheels/{name} --editable .[test]"
            for given in ([f"MOORING={wheel}"], [f"MOORING=wheels/{name}"], []):
                assert self.called(project, python, *given)[1] == expected
        assert "COPY wheels ./wheels" in (project / "Dockerfile").read_text()

    @pytest.mark.parametrize("target", ["setup", "image"])
    def test_a_wheel_that_is_not_there_is_told(self, project: Path, target: str) -> None:
        kept = project / "wheels" / "mooring-0.1.0-py3-none-any.whl"
        kept.touch()
        done = subprocess.run(
            ["make", "--silent", target, "MOORING=no.whl"],
            cwd=project, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "MOORING=no.whl is not a file; give a wheel of mooring\n" in done.stderr
        assert kept.exists()

    @pytest.mark.parametrize("target", ["test", "demo"])
    def test_nothing_runs_before_it(self, project: Path, target: str) -> None:
        done = subprocess.run(
            ["make", "--silent", target], cwd=project, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert "mooring is not installed in .venv; run make setup first\n" in done.stderr


@pytest.mark.parametrize("project", [Mode.EXTENDER], indirect=True)
def test_keys_are_made_once_and_not_given_to_git(project: Path) -> None:
    subprocess.run(["git", "init", "--quiet", project], check=True)
    made = yaml.safe_load((project / "kustomization.yaml").read_text())
    (secret,) = made["secretGenerator"]  # kube-scheduler's own are only for the nodes
    files = [Path(path) for path in secret["files"]]
    files += [Path(path.replace("-tls/", "-client/")) for path in secret["files"]]
    assert [file for file in files if (project / file).exists()] == []
    assert not any(
        "PRIVATE KEY" in one.read_text() for one in project.rglob("*.*") if one.is_file()
    )
    make(project, "certificates")
    before = {file: (project / file).read_bytes() for file in files}
    keys = [file for file in files if file.suffix == ".key"]
    assert [(project / file).stat().st_mode & 0o777 for file in keys] == [0o600] * 2
    make(project, "certificates")
    assert {file: (project / file).read_bytes() for file in files} == before
    status = ["git", "status", "--short", "--untracked-files=all"]
    seen = subprocess.run(status, cwd=project, check=True, capture_output=True, text=True).stdout
    assert "kustomization.yaml" in seen
    assert [str(file) for file in files if str(file) in seen] == []


@pytest.mark.parametrize("project", [Mode.STATIC_POD], indirect=True)
def test_a_static_pod_is_installed_on_each_node_and_removed(project: Path, tmp_path: Path) -> None:
    """The nodes are folders, and scp and ssh are scripts that work there."""
    nodes = [tmp_path / "cp-1", tmp_path / "cp-2"]
    for node in nodes:
        (node / "home").mkdir(parents=True)
        (node / "manifests").mkdir()
        (node / "manifests" / "kube-scheduler.yaml").write_text("old\n")
    for script in (project / "deploy").glob("*.sh"):
        script.write_text(script.read_text().replace("/etc/kubernetes", "$NODE"))
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "scp").write_text(f'#!/bin/sh\ncp -r "$2" "{tmp_path}/${{3%:}}/home"\n')
    (programs / "ssh").write_text(
        f'#!/bin/sh\nexport NODE="{tmp_path}/$1"; cd "$NODE/home"; shift; exec "$@"\n'
    )
    for program in programs.iterdir():
        program.chmod(0o755)
    for text in ("first = 1\n", "second = 2\n"):
        (project / "policy.py").write_text(text)
        make(project, "deploy", "NODES=cp-1 cp-2", path=str(programs))
        for node in nodes:
            assert (node / "spot-first" / "policy" / "policy.py").read_text() == text
            pod = yaml.safe_load((node / "manifests" / "kube-scheduler.yaml").read_text())
            assert "--reload" in pod["spec"]["initContainers"][0]["args"]
    make(project, "remove", "NODES=cp-1 cp-2", path=str(programs))
    for node in nodes:
        assert (node / "manifests" / "kube-scheduler.yaml").read_text() == "old\n"


@pytest.mark.parametrize("project", [Mode.STATIC_POD], indirect=True)
@pytest.mark.parametrize("target", ["deploy", "remove"])
def test_a_static_pod_needs_nodes(project: Path, target: str) -> None:
    done = subprocess.run(
        ["make", "--silent", target], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert f'say where: make {target} NODES="root@cp-1 root@cp-2"' in done.stderr


@pytest.mark.parametrize("name", ["", "Spot", "9lives", "a_b", "a/b", "-x", "x-", "x" * 41, "é"])
def test_names_that_objects_cannot_have(name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name of a project"):
        project_files(name)


@pytest.mark.parametrize("name", ["mooring", "default-scheduler", "kube-system", "kube-mine"])
def test_names_of_something_else(name: str) -> None:
    with pytest.raises(InputError, match="name of something else"):
        project_files(name)
