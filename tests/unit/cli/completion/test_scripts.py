"""The scripts in the shells they are for: what a user sees who presses the tabulator key.

bash is everywhere; zsh and fish are asked where they are installed, and elsewhere their scripts are
read for what a shell would stumble over first.
"""

import contextlib
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mooring.cli.completion.scripts import SCRIPTS
from mooring.testing import TestCluster, cluster
from mooring.testing.real_kubernetes import wait_for
from tests.unit.cli.moor import environment

MOOR = Path(sys.executable).parent / "moor"
#: However busy the machine is.
PATIENT = {"MOORING_COMPLETION_SECONDS": "100"}
#: Prints what the function would have the shell show.
BASH = """
{script}
COMP_WORDS=({words}) COMP_CWORD=$(({count} - 1))
compopt() {{ echo "compopt $*"; }}
__moor_complete
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
_BRACKETS = [("{", "}"), ("(", ")")]
#: What opens and what closes a part of a script, in each shell's language.
PAIRS = {
    "bash": [*_BRACKETS, ("if", "fi")],
    "zsh": [*_BRACKETS, ("if", "fi"), ("for", "done")],
    "fish": [("(", ")"), ("function if for", "end else")],
}


@pytest.fixture(scope="module")
def running() -> Iterator[TestCluster]:
    with cluster(2) as made:
        made.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        made.create_pod("till", namespace="shop")
        made.create_pod("web")
        yield made


@pytest.fixture
def bash(running: TestCluster, tmp_path: Path) -> Callable[..., list[str]]:
    def call(*words: str) -> list[str]:
        """What bash would show for these words; the last is the one at the cursor."""
        quoted = " ".join(map(shlex.quote, (str(MOOR), *words)))
        done = subprocess.run(
            ["bash", "--norc", "--noprofile"],
            input=BASH.format(script=SCRIPTS["bash"], words=quoted, count=len(words) + 1),
            env=environment(tmp_path, KUBECONFIG=str(running.kubeconfig), **PATIENT),
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout.splitlines()

    return call


def test_bash(bash: Callable[..., list[str]]) -> None:
    assert bash("expl") == ["compopt +o default", "explain"]
    assert bash("bind", "we") == ["compopt +o default", "web"]
    assert bash("bind", "sh") == ["compopt -o nospace", "compopt +o default", "shop/"]
    assert bash("bind", "shop/") == ["compopt +o default", "shop/till"]
    assert bash("bind", "web", "node-") == ["compopt +o default", "node-1", "node-2"]
    # Nothing of ours: bash completes files.
    assert bash("run", "pol") == [""]


def test_bash_breaks_words_at_equals_signs_and_colons(bash: Callable[..., list[str]]) -> None:
    assert bash("explain", "--output", "=", "j") == ["compopt +o default", "json"]
    assert bash("explain", "--output", "=") == ["compopt +o default", "table", "wide", "json"]
    assert bash("bind", "-n", "shop", "--context", "=", "mooring", "") == [
        "compopt +o default", "till",
    ]  # fmt: skip


def test_bash_keeps_what_stands_before_a_colon(
    bash: Callable[..., list[str]], running: TestCluster, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_text("contexts: [{name: 'arn:aws:one', context: {}}, {name: two, context: {}}]")
    words = ("bind", "--kubeconfig", str(file), "--context")
    assert bash(*words, "arn", ":", "aws", ":") == ["compopt +o default", "one"]
    assert bash(*words, "") == ["compopt +o default", "arn:aws:one", "two"]


class Terminal:
    """A shell on a terminal, and what it shows."""

    def __init__(self, command: list[str], folder: Path, **env: str) -> None:
        own, its = pty.openpty()
        self._own = own
        self.process = subprocess.Popen(
            command,
            stdin=its,
            stdout=its,
            stderr=its,
            cwd=folder,
            env=environment(folder, TERM="xterm", PS1="ready> ", INPUTRC="/dev/null", **env),
            start_new_session=True,
        )
        os.close(its)
        os.set_blocking(own, False)
        self._written = ""

    def type(self, keys: str) -> None:
        os.write(self._own, keys.encode())

    def wait(self, pattern: str) -> None:
        """Wait until it shows something."""

        def look() -> bool:
            with contextlib.suppress(OSError):
                self._written += os.read(self._own, 65536).decode(errors="replace")
            return re.search(pattern, self.shown) is not None

        wait_for(look, pattern)

    @property
    def shown(self) -> str:
        """What it wrote, without what moves the cursor or sets colours."""
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._written)
        kept: list[str] = []
        for one in text:
            if one == "\b":
                del kept[-1:]
            else:
                kept.append(one)
        return "".join(kept)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._own)


#: How each shell is started at a prompt, and what loads the script there.
PROMPTS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(moor completion bash)"),
    "zsh": (
        ["zsh", "-f", "-i"], "autoload -U compinit; compinit -D; source <(moor completion zsh)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [one for one in PROMPTS if one == "bash" or shutil.which(one)])
def test_at_a_prompt(name: str, running: TestCluster, tmp_path: Path) -> None:
    shell, load = PROMPTS[name]
    path = f"{MOOR.parent}:{os.environ['PATH']}"
    kubeconfig = str(running.kubeconfig)
    terminal = Terminal(shell, tmp_path, PATH=path, KUBECONFIG=kubeconfig, **PATIENT)
    try:
        terminal.type(f"{load}; echo load''ed\n")
        terminal.wait("loaded")
        terminal.type("moor bi\t")
        terminal.wait(r"moor bind ")
        terminal.type("we\t")
        terminal.wait(r"bind web ")
        terminal.type("node-2\t")
        terminal.wait(r"web node-2 ")
        terminal.type("--kubec\t")
        terminal.wait(r"node-2 --kubeconfig ")
        assert "Traceback" not in terminal.shown
    finally:
        terminal.end()


if shutil.which("fish"):

    def test_fish(running: TestCluster, tmp_path: Path) -> None:
        def completed(line: str) -> list[str]:
            load = "moor completion fish | source"
            done = subprocess.run(
                ["fish", "--no-config", "-c", f"{load}; complete -C '{line}'"],
                env=environment(
                    tmp_path,
                    PATH=f"{MOOR.parent}:{os.environ['PATH']}",
                    KUBECONFIG=str(running.kubeconfig),
                    **PATIENT,
                ),
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=True,
            )
            assert done.stderr == ""
            return [line.partition("\t")[0] for line in done.stdout.splitlines()]

        (tmp_path / "policy.py").touch()
        assert completed("moor bi") == ["bind"]
        assert completed("moor bind we") == ["web"]
        assert completed("moor bind shop/") == ["shop/till"]
        assert completed("moor bind web ") == ["node-1", "node-2"]
        assert completed("moor explain --output=j") == ["--output=json"]
        assert completed("moor run pol") == ["policy.py"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_every_script_needs(name: str) -> None:
    """A weak stand-in for the shells that are not installed; one that is has the last word."""
    script = SCRIPTS[name]
    code = [line.partition(" #")[0] for line in script.splitlines() if not line.startswith("#")]
    words = [word for line in code for word in re.findall(r"[\w-]+|[{}()]", line)]
    for opened, closed in PAIRS[name]:
        numbers = [sum(map(words.count, one.split())) for one in (opened, closed)]
        assert numbers[0] == numbers[1] > 0, (opened, closed)
    # It asks for completions, in silence, and has the shell ask it.
    assert sum("__complete" in line and "2>/dev/null" in line for line in code) == 1
    assert sum(line.lstrip().startswith(("complete ", "compdef ")) for line in code) == 1
    if shutil.which(name):
        subprocess.run([name, "-n"], input=script, text=True, check=True, capture_output=True)


def test_every_script_says_how_it_is_loaded() -> None:
    for name, script in SCRIPTS.items():
        assert f"moor completion {name}" in script.partition("complete() {")[0].partition("\n\n")[0]
