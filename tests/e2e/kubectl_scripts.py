"""Commands for kubectl in text files, run on an API server, with answers that can be compared.

A script is in `tests/e2e/kubectl`. A line that begins with ``$`` is a command without the word
kubectl; the lines below it are its standard input. After ``$~`` only the exit code and the kind of
error count: the rest is different on purpose. After ``$!`` the answer is known to be different,
which is to be mended one day. Each script runs in a namespace of its own, which is the current one;
``@`` in a command or document stands for the namespace's name, so that objects without a namespace
have names of their own too.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import yaml

from mooring.testing.real_kubernetes import Binaries

FOLDER: Final = Path(__file__).parent / "kubectl"
_SECONDS: Final = 180.0

_SAME: Final = [
    # A watch over HTTP/1.1 that is cut off complains, on the real server too (not over HTTP/2).
    (re.compile(r"^[EWI]\d{4} .*\breflector\.go:.*\n", re.MULTILINE), ""),
    # What else kubectl logs has the time and its process' number.
    (re.compile(r"^[EWI]\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ ", re.MULTILINE), "LOG "),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"https?://(127\.0\.0\.1|localhost):\d+"), "SERVER"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4} UTC"), "TIME"),
    (re.compile(r"((?:resourceVersion|Resource Version)\"?: *\"?)\d+"), r"\1N"),
    (re.compile(r"\b10\.(0|96)\.\d+\.\d+\b"), "CLUSTER-IP"),
    (re.compile(r"/tmp/[\w./-]+(\s+\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4})?"), "FILE"),
    (re.compile(r"(?<=made\.)[a-z0-9]{5}"), "XXXXX"),
    (re.compile(r"(?<=\s)((\d+d)?\d+h|(\d+h)?\d+m|(\d+m)?\d+s|<invalid>)(?=\s|$)"), "AGE"),
]
#: Reasons and authors of events that kube-apiserver writes itself, when it finds out, sooner or
#: later, that an address or a port of a Service is not where its allocator looked for it.
# parity v1.36.4: pkg/registry/core/service/{ipallocator,portallocator}/controller
_REPAIRS: Final = re.compile(
    r"\b(ClusterIP(NotValid|OutOfRange|NotAllocated|AlreadyAllocated)"
    r"|Port(NotAllocated|AlreadyAllocated|OutOfRange|RangeFull)"
    r"|ServiceCIDRFull|(ip|port)allocator-repair-controller)\b"
)
_EVENTS_HEAD: Final = re.compile(
    r"^Events:\n +Type +Reason +Age +From +Message\n(?: +-+)+\n(?! )", re.MULTILINE
)
#: Neither as in a digest of an image nor as in a JSON path.
_NAMESPACE: Final = re.compile(r"(?<![a-z])@(?!\.)")
_SPACES: Final = re.compile(r"[ \t]+")
_EXPLAINED: Final = re.compile(r"^(?:\s*\S+\t<.*|[A-Z]+:.*\S|error.*)$", re.MULTILINE)
_RULE: Final = re.compile(r"-{3,}|={3,}")


class Command(NamedTuple):
    """One line for kubectl and its standard input.

    Attributes:
        args: the words.
        stdin: the standard input.
        mark: ``~`` if its whole answer does not count, ``!`` if it is known to be different.
    """

    args: Sequence[str]
    stdin: str
    mark: str


class Answer(NamedTuple):
    """What a command came to."""

    command: str
    code: int
    stdout: str
    stderr: str


def read_script(text: str) -> list[Command]:
    """The commands of a script."""
    found: list[Command] = []
    for line in text.splitlines():
        if line.startswith("$"):
            mark = line[1] if line[1] in "~!" else ""
            found.append(Command(shlex.split(line[1 + len(mark) :]), "", mark))
        elif found:
            last = found.pop()
            found.append(last._replace(stdin=f"{last.stdin}{line}\n"))
    return found


class Kubectl:
    """kubectl for an API server, with a current namespace.

    Args:
        binaries: where it is.
        kubeconfig: for the API server.
        folder: a place for its files.
        namespace: the current namespace.
        env: further variables of its environment.
    """

    def __init__(
        self,
        binaries: Binaries,
        kubeconfig: Path,
        folder: Path,
        namespace: str = "default",
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.namespace = namespace
        self._program = str(binaries.kubectl)
        config = yaml.safe_load(kubeconfig.read_text())
        config["contexts"][0]["context"]["namespace"] = namespace
        own = folder / "kubeconfig"
        own.write_text(yaml.safe_dump(config))
        self._cache = kubeconfig.parent / "kubectl-cache"
        self._env = {**os.environ, "KUBECONFIG": str(own), "HOME": str(folder), **(env or {})}

    def command(self, *args: str) -> list[str]:
        """The words to start it with."""
        return [self._program, f"--cache-dir={self._cache}", *args]

    def start(self, *args: str) -> "subprocess.Popen[str]":
        """Start it and leave it running; its output comes line by line."""
        return subprocess.Popen(
            self.command(*args), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=self._env,
        )  # fmt: skip

    def run(self, *args: str, stdin: str = "") -> Answer:
        """Run it to its end, which may be an error."""
        done = subprocess.run(
            self.command(*args), input=stdin, capture_output=True, text=True, timeout=_SECONDS,
            check=False, env=self._env,
        )  # fmt: skip
        return Answer(shlex.join(args), done.returncode, done.stdout, done.stderr)

    def __call__(self, *args: str, stdin: str = "") -> str:
        """Run it; what it printed. It must not fail."""
        answer = self.run(*args, stdin=stdin)
        assert answer.code == 0, answer
        return answer.stdout

    def fails(self, *args: str, stdin: str = "") -> str:
        """Run it; what it complained of. It must fail."""
        answer = self.run(*args, stdin=stdin)
        assert answer.code != 0, answer
        return answer.stderr.strip()

    def script(self, commands: Sequence[Command]) -> Iterator[Answer]:
        """Run commands one after the other, whatever comes of them."""
        for one in commands:
            args = [_NAMESPACE.sub(self.namespace, word) for word in one.args]
            yield self.run(*args, stdin=_NAMESPACE.sub(self.namespace, one.stdin))


def comparable(command: Command, answer: Answer) -> list[str]:
    """The lines of an answer, without what differs from one server or one second to the next."""
    stdout, stderr = _same(without_repairs(answer.stdout)), _same(answer.stderr)
    if command.args[0] == "explain":  # the embedded server describes nothing, it only names
        stdout = "\n".join(_EXPLAINED.findall(stdout))
    if command.mark == "~":
        stdout, stderr = "", stderr.partition(": ")[0]
    said = [*_lines(stdout), *_lines(stderr)]
    # A drain works on several pods at a time; labels are listed in the order of a Go map.
    if command.args[0] == "drain" or "--list" in command.args:
        said.sort()
    return [f"$ {answer.command}", f"exit code {answer.code}", *said]


def without_repairs(text: str) -> str:
    """Without events that kube-apiserver writes of its own accord: there is no knowing when."""
    if not _REPAIRS.search(text):
        return text
    blocks: list[str] = []
    for line in text.splitlines(keepends=True):
        # An item of a list in YAML is one block, a line of anything else is one, too.
        inside = blocks and blocks[-1].startswith("- ") and line.startswith("  ")
        if inside:
            blocks[-1] += line
        else:
            blocks.append(line)
    kept = "".join(block for block in blocks if not _REPAIRS.search(block))
    return _EVENTS_HEAD.sub("Events: <none>\n", kept)


def _same(text: str) -> str:
    for pattern, instead in _SAME:
        text = pattern.sub(instead, text)
    return text


def _lines(text: str) -> list[str]:
    # Columns are as wide as what is in them, such as an age.
    return [_RULE.sub("---", _SPACES.sub(" ", line).rstrip()) for line in text.strip().splitlines()]
