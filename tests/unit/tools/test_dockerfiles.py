"""Both Dockerfiles, the repository's and that of a new project, keep to the rules for images.

``make release-check`` carries out their steps and asks hadolint.
"""

from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from mooring.deploy.scaffold.project import project_files
from tools.dockerfile.context import BuildContext
from tools.dockerfile.instructions import DockerfileError, filled_in, read_dockerfile
from tools.dockerfile.rules import RULES, violations

ROOT = Path(__file__).parents[3]


def project(folder: Path) -> Path:
    for path, text in project_files("spot-first").items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture(params=["repository", "project"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return ROOT if request.param == "repository" else project(tmp_path)


def test_a_dockerfile_keeps_to_the_rules(folder: Path) -> None:
    stages = read_dockerfile((folder / "Dockerfile").read_text())
    assert violations(stages, BuildContext(folder)) == []
    assert [stage.base for stage in stages] == ["python:3.11-slim"] * 2


def test_the_base_can_be_pinned(folder: Path) -> None:
    pinned = f"python:3.11-slim@sha256:{'0' * 64}"
    stages = read_dockerfile((folder / "Dockerfile").read_text(), {"BASE": pinned})
    assert [stage.base for stage in stages] == [pinned] * 2
    assert violations(stages, BuildContext(folder)) == []


#: What is done to a project's files, and which rule has to notice it.
PLANTED: dict[str, tuple[str, str, str]] = {
    "base_is_pinned": ("Dockerfile", "BASE=python:3.11-slim", "BASE=python:latest"),
    "user_is_not_root": ("Dockerfile", "USER 65532:65532", "USER 0:0"),
    "nothing_runs_after_user": ("Dockerfile", "ENTRYPOINT", "RUN touch /policy/x\nENTRYPOINT"),
    "entry_point_is_no_shell": ("Dockerfile", '["moor"]', "moor"),
    "it_is_built_apart": ("Dockerfile", "COPY --from=build /opt/policy /opt/policy\n", ""),
    "no_cache_is_left": ("Dockerfile", "--no-cache-dir ", ""),
    "installers_are_gone": ("Dockerfile", "setuptools wheel pip", "setuptools wheel"),
    "nothing_is_fetched": ("Dockerfile", "RUN ls wheels", "RUN curl x | sh && ls wheels"),
    "no_secret_is_kept": ("Dockerfile", "PYTHONUNBUFFERED=1", "API_TOKEN=abc"),
    "places_are_absolute": ("Dockerfile", "WORKDIR /policy", "WORKDIR policy"),
    "the_context_has_what_is_copied": (".dockerignore", "!policy.py\n", ""),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_each_rule_notices_its_violation_and_no_other_does(
    rule: Callable[..., object], tmp_path: Path
) -> None:
    file, old, new = PLANTED[rule.__name__]
    folder = project(tmp_path)
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    stages, context = read_dockerfile((folder / "Dockerfile").read_text()), BuildContext(folder)
    assert [one for one in RULES if list(one(stages, context))] == [rule]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FROM python:3.11-slim\nADD https://example.com/x /x\n", "line 2: ADD is not understood"),
        ("FROM a:1.0\nHEALTHCHECK CMD true\n", "line 2: HEALTHCHECK is not understood"),
        ("FROM a:1.0\nARG X=1\n", "line 2: ARG after FROM is not understood"),
        ("FROM a:1.0\nRUN <<EOF\n", "line 2: here-documents are not understood"),
        ("# syntax=docker/dockerfile:1\nFROM a:1.0\n", "line 1: parser directives"),
        ("RUN true\n", "line 1: RUN stands before FROM"),
        ("FROM --platform=linux/arm64 a:1.0\n", "line 1: FROM --platform"),
        ("FROM a:1.0\nRUN true \\\n", "line 2: the last line ends with a backslash"),
        ("\n", "there is no FROM"),
    ],
)
def test_what_is_not_understood_is_an_error(text: str, said: str) -> None:
    with pytest.raises(DockerfileError, match=said):
        read_dockerfile(text)


def test_options_of_copy_and_old_settings_are_errors() -> None:
    (stage,) = read_dockerfile("FROM a:1.0\nCOPY --chown=1 a b\nCOPY a\nENV A b\n")
    with pytest.raises(DockerfileError, match="COPY --chown is not understood"):
        stage.steps[0].copied()
    with pytest.raises(DockerfileError, match="needs a source and a target"):
        stage.steps[1].copied()
    with pytest.raises(DockerfileError, match="ENV A is not NAME=VALUE"):
        stage.steps[2].settings()


def test_variables_are_filled_in() -> None:
    assert filled_in("/opt/bin:$PATH:${X}$Y", {"PATH": "/bin", "X": "x"}) == "/opt/bin:/bin:x"


def test_a_later_pattern_of_dockerignore_decides(tmp_path: Path) -> None:
    (tmp_path / ".dockerignore").write_text("# all but\n*\n!src\n**/__pycache__\n!a/b/c.txt\n")
    for name in ("src/a.py", "src/b/__pycache__/a.pyc", "a/b/c.txt", "a/b/d.txt", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    context = BuildContext(tmp_path)
    assert [str(one) for one in context.files(".")] == ["a/b/c.txt", "src/a.py"]
    assert context.files("README.md") == []
    assert context.files("none") == []
    assert context.has(PurePosixPath("src/x/y.py"))
