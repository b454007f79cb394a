"""``moor __complete`` as shells call it: an answer, and nothing else, whatever goes wrong."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.moor import environment

SCRIPTS = Path(sys.executable).parent


def answer(folder: Path, *words: str, script: str = "moor") -> "subprocess.CompletedProcess[str]":
    start = [str(SCRIPTS / script), *(["__complete"] if script == "moor" else [])]
    return subprocess.run(
        [*start, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(folder, MOORING_COMPLETION_SECONDS="100"),
        check=False,
    )


@pytest.mark.parametrize("script", ["moor", "kubectl_complete-moor"])
def test_an_answer(tmp_path: Path, script: str) -> None:
    done = answer(tmp_path, "explain", "--output", "", script=script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "table\nwide\njson\n:4\n", "")
    done = answer(tmp_path, "snap", script=script)
    reader = "moor explain" if script == "moor" else "kubectl moor explain"
    assert done.stdout == f"snapshot\tWrite the state of the cluster to a file for {reader}\n:4\n"


@pytest.mark.parametrize(
    "words",
    [(), ("",), ("--",), ("xplain", ""), ("explain", "--nonsense", ""), ("explain", "--", "-")],
    ids=repr,
)
def test_half_a_command_line_is_no_error(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = answer(tmp_path, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith(":")


def test_programs_that_get_credentials_are_not_heard(tmp_path: Path) -> None:
    program = tmp_path / "credentials"
    program.write_text("#!/bin/sh\necho noise >&2\ntouch asked\nexit 1\n")
    program.chmod(0o755)
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": str(program),
            "interactiveMode": "IfAvailable",
        }
    }
    (tmp_path / "config").write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": user}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "c",
            }
        )
    )
    done = answer(tmp_path, "bind", "--kubeconfig", "config", "pod", "")
    assert (done.returncode, done.stdout, done.stderr) == (0, ":4\n", "")
    assert (tmp_path / "asked").exists()


def test_names_that_a_shell_would_run_are_left_out(tmp_path: Path) -> None:
    names = [
        "arn:aws:eks:eu-1:1:cluster/a_b",
        "me@gke.x",
        "$(touch x)",
        "a b",
        "it's",
        "`x`",
        "a;b",
    ]
    (tmp_path / "config").write_text(
        yaml.safe_dump(
            {
                "contexts": [
                    {"name": one, "context": {"cluster": "c", "user": "u"}}
                    for one in [*names, "two\nlines", "\x1b[31m"]
                ]
            }
        )
    )
    done = answer(tmp_path, "explain", "--kubeconfig", "config", "--context", "")
    assert done.stdout.splitlines() == [*names[:2], ":4"]
