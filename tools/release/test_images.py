"""Both Dockerfiles, step by step by hand, and what they make: an image that runs and has nothing.

There may be no container engine here, so `tools.dockerfile.build` carries out their steps. Needs
the package index, Linux and util-linux; hadolint comes from the package index, too.
"""

import http.client
import os
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.deploy.scaffold.project import project_files
from mooring.testing.child_process import ChildProcess, free_port
from mooring.testing.embedded_control_plane import EmbeddedControlPlane
from tools.dockerfile.build import BuiltImage, ImageBuilder
from tools.dockerfile.instructions import DockerfileError

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "04-ssd-filter"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean checkout, with nothing that somebody's working folder has."""
    folder = tmp_path_factory.mktemp("source") / "mooring"
    command = ["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", str(folder)]
    subprocess.run(command, check=True)
    return folder


@pytest.fixture(scope="module")
def repository_image(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> BuiltImage:
    return ImageBuilder(clone, tmp_path_factory.mktemp("image")).build()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for path, text in project_files("spot-first").items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture(scope="module")
def project_image(
    project: Path, repository_image: BuiltImage, tmp_path_factory: pytest.TempPathFactory
) -> BuiltImage:
    """A new project's image, with the wheel that the other one was made of."""
    dist = repository_image.root.parent / "stage0" / "build" / "dist"
    (wheel,) = dist.glob("*.whl")
    shutil.copy(wheel, project / "wheels")  # as make image MOORING=... does
    return ImageBuilder(project, tmp_path_factory.mktemp("image")).build()


@pytest.fixture(params=["repository", "project"])
def image(request: pytest.FixtureRequest) -> BuiltImage:
    found = request.getfixturevalue(f"{request.param}_image")
    assert isinstance(found, BuiltImage)
    return found


def answer(port: int, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    """What somebody at a port of this machine says; 0 if there is nobody."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST" if body else "GET", path, body)
        reply = connection.getresponse()
        return reply.status, reply.read()
    except OSError:
        return 0, b""
    finally:
        connection.close()


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A folder as a ConfigMap is mounted: anybody can read it."""
    folder = tmp_path / "policy"
    folder.mkdir(mode=0o755)
    shutil.copy(EXAMPLE / "policy.py", folder)
    return folder


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """A folder with a kubeconfig of an embedded cluster."""
    with EmbeddedControlPlane(tmp_path / "cluster") as cluster:
        folder = tmp_path / "kubeconfig"
        folder.mkdir(mode=0o755)
        (folder / "config").write_text(Path(cluster.kubeconfig).read_text())
        yield folder


def test_the_extender_answers_as_a_user_without_rights(
    image: BuiltImage, policy: Path, tmp_path: Path
) -> None:
    port, health = free_port(), free_port()
    command = image.command(
        "serve", "/policy/policy.py", "--no-node-cache", f"--port={port}",
        f"--health-port={health}", "--drain=0", mounts={"/policy": policy},
    )  # fmt: skip
    running = ChildProcess("moor serve", command, tmp_path / "serve.log")
    try:
        running.wait_ready(lambda: answer(health, "/readyz") == (200, b"ok"), 60)
        asked = (EXAMPLE / "request.json").read_bytes()
        expected = (EXAMPLE / "response.json").read_bytes().strip()
        assert answer(port, "/filter", asked) == (200, expected)
        # The program itself gets the signal, not a shell.
        os.kill(running.pid, signal.SIGTERM)
        assert running.wait_ended(30) == 0
    finally:
        running.stop()


def test_the_scheduler_answers_as_a_user_without_rights(
    image: BuiltImage, policy: Path, kubeconfig: Path, tmp_path: Path
) -> None:
    port = free_port()
    command = image.command(
        "run", "/policy/policy.py", "--kubeconfig=/kubeconfig/config", f"--port={port}",
        mounts={"/policy": policy, "/kubeconfig": kubeconfig},
    )  # fmt: skip
    running = ChildProcess("moor run", command, tmp_path / "run.log")
    try:
        running.wait_ready(lambda: answer(port, "/readyz")[0] == 200, 60)
    finally:
        running.stop()


def inside(image: BuiltImage, *command: str) -> str:
    """What a program of the image says as its user, with a root that nobody can write."""
    other = BuiltImage(image.root, image.environment, image.workdir, image.user, [])
    done = subprocess.run(other.command(*command), capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_nothing_can_be_written_or_installed(image: BuiltImage) -> None:
    assert inside(image, "id") == "uid=65532 gid=65532 groups=65532\n"
    assert "Read-only file system" in inside(image, "touch", "/policy/x")
    (packages,) = image.inside("/opt").glob("*/lib/python3*/site-packages")
    there = f"/{packages.relative_to(image.root)}/x"
    assert "Read-only file system" in inside(image, "touch", there)
    assert "No module named pip" in inside(image, "python", "-m", "pip", "--version")
    assert {one.name for one in packages.iterdir()} & {"pip", "setuptools", "wheel"} == set()
    owners = {(one.lstat().st_uid, one.lstat().st_gid) for one in packages.rglob("*")}
    assert (65532, 65532) not in owners


def test_only_what_is_needed_is_there(repository_image: BuiltImage, clone: Path) -> None:
    """The sources and what built them stayed in the first stage."""
    assert not repository_image.inside("/build").exists()
    (packages,) = repository_image.inside("/opt/mooring").glob("lib/python3*/site-packages")
    locked = (clone / "locks" / "runtime.txt").read_text()
    names = {line.split("==")[0] for line in locked.splitlines() if "==" in line}
    installed = {
        one.name.split("-")[0].replace("_", "-").lower() for one in packages.glob("*.dist-info")
    }
    assert installed - {"mooring"} <= {name.replace("_", "-").lower() for name in names}


def test_a_step_that_fails_or_is_unknown_ends_the_build(project: Path, tmp_path: Path) -> None:
    text = (project / "Dockerfile").read_text()
    for number, (old, new, said) in enumerate((
        ("RUN ls wheels", "RUN no-such-program && ls wheels", "no-such-program"),
        ("WORKDIR /build", "WORKDIR /build\nHEALTHCHECK NONE", "HEALTHCHECK is not understood"),
        ("COPY pyproject.toml", "COPY README.md pyproject.toml", "COPY README.md"),
        ("=python:3.11", "=python:2.7", "can only stand for"),
    )):  # fmt: skip
        assert old in text
        folder = tmp_path / str(number)
        shutil.copytree(project, folder)
        (folder / "Dockerfile").write_text(text.replace(old, new))
        (tmp_path / f"work{number}").mkdir()
        with pytest.raises(DockerfileError, match=said):
            ImageBuilder(folder, tmp_path / f"work{number}").build()


@pytest.fixture(scope="module")
def hadolint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hadolint")
    venv.create(folder)
    lock = Path(__file__).with_name("hadolint.txt")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")),
            *("install", "--quiet", "--only-binary", ":all:", "--require-hashes"),
            *("--requirement", str(lock)),
        ],
        check=True,
    )
    return folder / "bin" / "hadolint"


def test_hadolint_finds_nothing(hadolint: Path, clone: Path, project: Path) -> None:
    for folder in (clone, project):
        done = subprocess.run(
            [hadolint, "--no-color", folder / "Dockerfile"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_hadolint_would_find_something(hadolint: Path, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM python\nWORKDIR build\nRUN cd /x\n")
    done = subprocess.run(
        [hadolint, tmp_path / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    for code in ("DL3006", "DL3000", "DL3003"):
        assert code in done.stdout
