"""The package as users get it: the wheel, built as the image's is, in an environment of its own.

Only what the wheel needs comes from the environment of the tests; mooring itself does not.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]


class InstalledPackage(NamedTuple):
    """An environment in which the wheel is installed.

    Attributes:
        wheel: the wheel itself.
        packages: its ``site-packages``.
        scripts: its ``bin``, with ``moor`` and ``kubectl-moor``.
    """

    wheel: Path
    packages: Path
    scripts: Path


def install_package(folder: Path) -> InstalledPackage:
    """Build the wheel and install it into an environment in a folder."""
    wheel = _build(folder)
    environment = folder / "environment"
    _run(sys.executable, "-m", "venv", "--without-pip", environment)
    packages = environment / "lib" / Path(sysconfig.get_path("purelib")).parent.name
    packages /= "site-packages"
    # The wheel's dependencies; other .pth files there, such as that of this clone, do not count.
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    pip = (sys.executable, "-m", "pip", "--python", environment / "bin" / "python")
    _run(*pip, "install", "--quiet", "--no-deps", "--no-index", "--no-compile", wheel)
    return InstalledPackage(wheel, packages, environment / "bin")


def _build(folder: Path) -> Path:
    source = folder / "source"
    source.mkdir()
    for line in re.findall(r"^COPY (.*) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE):
        for name in line.split():
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / name)
            elif (ROOT / name).is_file():
                shutil.copy(ROOT / name, source / name)
    build = (sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder)
    _run(*build, cwd=source)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _run(*command: str | Path, cwd: Path | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, timeout=600)
