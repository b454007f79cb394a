"""The steps of a Dockerfile carried out by hand, where there is no container engine.

Each stage is a folder that its steps see as ``/``, by mount namespaces and chroot. What the base
image brings is shared with this machine, read-only: system programs and libraries, and the Python
that runs this; its pip is in a virtual environment that belongs to the stage. Files are copied only
from the build context. `BuiltImage.command` starts the entry point as its user with a root file
system that nobody can write. Called by ``tools/release/test_images.py``.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from tools.dockerfile.context import BuildContext
from tools.dockerfile.instructions import (
    DockerfileError,
    Stage,
    Step,
    filled_in,
    read_dockerfile,
)

#: The environment in which the base image's python and pip are.
_PYTHON: Final = "/base"
_PATH: Final = f"{_PYTHON}/bin:/usr/local/bin:/usr/bin:/bin"
#: Read-only from this machine, where a base image has its own.
_SHARED: Final = ("/usr", "/bin", "/lib", "/lib64", "/sbin", "/etc", sys.base_prefix)
_DEVICES: Final = ("/dev", "/proc")
#: How the package index is reached is no part of an image.
_PASSED_ON: Final = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")


class BuiltImage(msgspec.Struct):
    """A stage while its steps are carried out, and then the image.

    Attributes:
        root: the folder that is ``/``.
        environment: of ``ENV``.
        workdir: of ``WORKDIR``.
        user: of ``USER``, such as ``65532:65532``; empty is root.
        entry_point: of ``ENTRYPOINT``.
    """

    root: Path
    environment: dict[str, str] = {}
    workdir: str = "/"
    user: str = ""
    entry_point: list[str] = []

    def inside(self, path: str) -> Path:
        """Where a path of the image is on this machine."""
        return self.root / PurePosixPath(self.workdir, path).relative_to("/")

    def command(self, *arguments: str, mounts: Mapping[str, Path] | None = None) -> list[str]:
        """A command line that runs the image as a kubelet would: read-only, as its user.

        Args:
            arguments: for the entry point.
            mounts: folders of this machine by their place in the image, as volumes are.
        """
        return self._namespace(
            [*self.entry_point, *arguments], read_only=True, mounts=mounts or {}, user=self.user
        )

    def run(self, command: str, passed_on: Mapping[str, str]) -> None:
        """Carry out ``RUN``.

        Args:
            command: for a shell.
            passed_on: environment variables that only the build sees.

        Raises:
            DockerfileError: the command fails.
        """
        line = self._namespace(
            ["/bin/sh", "-c", command], mounts={}, passed_on=passed_on, user=self.user
        )
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stdout + done.stderr)[-2000:]
            raise DockerfileError(f"RUN {command} ended with {done.returncode}:\n{said}")

    def _namespace(
        self,
        command: list[str],
        *,
        mounts: Mapping[str, Path],
        user: str,
        passed_on: Mapping[str, str] | None = None,
        read_only: bool = False,
    ) -> list[str]:
        root = shlex.quote(str(self.root))
        lines = ["set -eu", f"mount --bind {root} {root}"]
        shared = {place: Path(place) for place in _SHARED if Path(place).exists()} | dict(mounts)
        for place, source in shared.items():
            target = self.inside(place)
            if source.is_symlink():  # such as /bin, which is usr/bin
                if not target.is_symlink():
                    target.symlink_to(source.readlink())
                continue
            target.mkdir(parents=True, exist_ok=True)
            at = shlex.quote(str(target))
            lines.append(f"mount --bind {shlex.quote(str(source.resolve()))} {at}")
            lines.append(f"mount -o remount,ro,bind {at}")
        for place in _DEVICES:
            self.inside(place).mkdir(parents=True, exist_ok=True)
            lines.append(f"mount --rbind {place} {shlex.quote(str(self.inside(place)))}")
        if read_only:
            lines.append(f"mount -o remount,ro,bind {root}")
        values = {"PATH": _PATH, "HOME": "/", **(passed_on or {}), **self.environment}
        given = [f"{name}={value}" for name, value in values.items()]
        inner = ["env", "-i", f"--chdir={self.workdir}", *given, *command]
        lines.append(f"exec {shlex.join(self._as_user(user))} {shlex.join(inner)}")
        unshare = ["unshare", "--mount", *([] if _is_root() else ["--user", "--map-root-user"])]
        return [*unshare, "sh", "-c", "\n".join(lines)]

    def _as_user(self, user: str) -> list[str]:
        if not user:
            return ["chroot", str(self.root)]
        number, _, group = user.partition(":")
        if _is_root():
            return ["chroot", f"--userspec={number}:{group}", "--groups=", str(self.root)]
        # In a root of its own nobody can make a namespace of users, so both come at once.
        numbers = [f"--map-user={number}", f"--map-group={group}"]
        return ["unshare", "--user", *numbers, f"--root={self.root}"]


class ImageBuilder:
    """Carries out a Dockerfile.

    Args:
        folder: where Dockerfile, .dockerignore and the files to copy are.
        work: an empty folder for the stages.
    """

    def __init__(self, folder: Path, work: Path) -> None:
        self._context = BuildContext(folder)
        self._work = work
        self._built: dict[str, BuiltImage] = {}

    def build(self) -> BuiltImage:
        """Carry out all stages; the last one is the image.

        Raises:
            DockerfileError: a step fails or is not understood.
        """
        stages = read_dockerfile((self._context.folder / "Dockerfile").read_text())
        for number, stage in enumerate(stages):
            image = self._begin(stage, self._work / f"stage{number}")
            for step in stage.steps:
                self._carry_out(step, image)
            self._built[stage.name or str(number)] = image
        return image

    def _begin(self, stage: Stage, root: Path) -> BuiltImage:
        if stage.base in self._built:
            raise DockerfileError(f"FROM {stage.base}: a stage as a base is not understood")
        running = f"python:{sys.version_info.major}.{sys.version_info.minor}-slim"
        if stage.base.partition("@")[0] != running:
            raise DockerfileError(f"FROM {stage.base}: this machine can only stand for {running}")
        root.mkdir()
        root.chmod(0o755)
        image = BuiltImage(root)
        image.inside("/tmp").mkdir(mode=0o777)  # noqa: S108
        python = f"{sys.base_prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}"
        image.run(f"{python} -m venv {_PYTHON}", {})
        return image

    def _carry_out(self, step: Step, image: BuiltImage) -> None:
        match step.name:
            case "WORKDIR":
                image.workdir = str(PurePosixPath(image.workdir, step.text))
                image.inside(".").mkdir(parents=True, exist_ok=True)
            case "ENV":
                known = {"PATH": _PATH, **image.environment}
                image.environment |= {
                    name: filled_in(value, known) for name, value in step.settings().items()
                }
            case "USER":
                image.user = step.text
            case "ENTRYPOINT":
                words = step.exec_form()
                if words is None:
                    raise DockerfileError(f"line {step.line}: ENTRYPOINT for a shell")
                image.entry_point = words
            case "RUN":
                image.run(step.text, _index_settings())
            case "COPY":
                self._copy(step, image)
            case _:
                raise DockerfileError(f"line {step.line}: {step.name} is not understood")

    def _copy(self, step: Step, image: BuiltImage) -> None:
        stage, sources, target = step.copied()
        place = str(PurePosixPath(image.workdir, target))
        if any(place == one or place.startswith(f"{one}/") for one in (*_SHARED, *_DEVICES)):
            raise DockerfileError(f"line {step.line}: {place} is read-only here")
        for source in sources:
            if stage:
                shutil.copytree(
                    self._built[stage].inside(source), image.inside(target), symlinks=True
                )
            else:
                self._copy_seen(step, source, image.inside(target), into=target.endswith("/"))

    def _copy_seen(self, step: Step, source: str, target: Path, *, into: bool) -> None:
        """As Docker does: a folder's content becomes the target's, a file gets its name."""
        files = self._context.files(source)
        if not files:
            raise DockerfileError(f"line {step.line}: COPY {source}: nothing is there")
        for path in files:
            original = self._context.folder / path
            if (self._context.folder / source).is_dir():
                copied = target / path.relative_to(source)
            else:
                copied = target / path.name if into else target
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(original, copied)


def _is_root() -> bool:
    return os.geteuid() == 0


def _index_settings() -> dict[str, str]:
    return {
        name: value for name, value in os.environ.items() if name.upper().startswith(_PASSED_ON)
    }
