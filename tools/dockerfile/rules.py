"""What an image of ours keeps to, as rules over a Dockerfile and its build context.

Checked in every test run; hadolint, which knows many more rules but is a large program, is asked
before a release. Each rule is a function that yields one sentence for each violation.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from tools.dockerfile.context import IGNORE_FILE, BuildContext
from tools.dockerfile.instructions import Stage, Step

Rule = Callable[[list[Stage], BuildContext], Iterator[str]]
#: python:3.11-slim, or that with a digest.
_PINNED: Final = re.compile(r"[\w./-]+:\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})?")
_SECRET: Final = re.compile(r"(?i)(token|password|secret|_key)")
_NUMBERS: Final = re.compile(r"[1-9]\d*:[1-9]\d*")


def violations(stages: list[Stage], context: BuildContext) -> list[str]:
    """Everything that is not as it should be; empty if the file keeps to all rules."""
    return [said for rule in RULES for said in rule(stages, context)]


def base_is_pinned(stages: list[Stage], _context: BuildContext) -> Iterator[str]:
    """The base is a version of something, never latest."""
    own = {stage.name for stage in stages}
    for stage in stages:
        if stage.base not in own and not _PINNED.fullmatch(stage.base):
            yield f"FROM {stage.base} names no version"


def user_is_not_root(stages: list[Stage], _context: BuildContext) -> Iterator[str]:
    """It runs as somebody else, by number: the kubelet can check that for runAsNonRoot."""
    users = [step.text for step in stages[-1].steps if step.name == "USER"]
    if not users:
        yield "there is no USER, so it runs as root"
    elif not _NUMBERS.fullmatch(users[-1]):
        yield f"USER {users[-1]} is not UID:GID with two numbers above 0"


def nothing_runs_after_user(stages: list[Stage], _context: BuildContext) -> Iterator[str]:
    """Whoever runs it owns no file of it."""
    seen = False
    for step in stages[-1].steps:
        if seen and step.name in ("RUN", "COPY"):
            yield f"line {step.line}: {step.name} after USER makes files of that user"
        seen = seen or step.name == "USER"


def entry_point_is_no_shell(stages: list[Stage], _context: BuildContext) -> Iterator[str]:
    """Signals reach the program itself: one entry point, as a JSON array."""
    found = [step for step in stages[-1].steps if step.name == "ENTRYPOINT"]
    if len(found) != 1:
        yield f"there are {len(found)} ENTRYPOINTs in the last stage, not one"
    for step in found:
        if step.exec_form() is None:
            yield f"line {step.line}: ENTRYPOINT is for a shell; write it as a JSON array"


def it_is_built_apart(stages: list[Stage], _context: BuildContext) -> Iterator[str]:
    """What only the build needs stays in another stage."""
    if not any(
        step.name == "COPY" and step.copied()[0] in {stage.name for stage in stages[:-1]}
        for step in stages[-1].steps
    ):
        yield "the last stage copies nothing from a stage before"


def no_cache_is_left(stages: list[Stage], _context: BuildContext) -> Iterator[str]:
    """Installers leave nothing behind that nobody needs."""
    for step, command in _commands(stages):
        if (
            re.search(r"\bpip (?:--python \S+ )?(install|wheel|download)\b", command)
            and "--no-cache-dir" not in command
        ):
            yield f"line {step.line}: pip without --no-cache-dir leaves its cache"
        if "apt-get install" in command and "/var/lib/apt/lists" not in step.text:
            yield f"line {step.line}: apt-get leaves /var/lib/apt/lists"


def installers_are_gone(stages: list[Stage], _context: BuildContext) -> Iterator[str]:
    """The last stage cannot install anything."""
    removed = [
        {"setuptools", "wheel", "pip"} <= set(command.partition("pip uninstall")[2].split())
        for _, command in _commands(stages[-1:])
    ]
    if not any(removed):
        yield "the last stage keeps pip"


def nothing_is_fetched(stages: list[Stage], _context: BuildContext) -> Iterator[str]:
    """Files come from the context or from pip, which checks them."""
    for step, command in _commands(stages):
        found = re.search(r"\b(curl|wget)\b|https?://", command)
        if found:
            yield f"line {step.line}: {found[0]} fetches something that nobody checks"


def no_secret_is_kept(stages: list[Stage], _context: BuildContext) -> Iterator[str]:
    """Values of ENV are in the image for everybody to read."""
    for stage in stages:
        for step in stage.steps:
            if step.name == "ENV":
                for name in step.settings():
                    if _SECRET.search(name):
                        yield f"line {step.line}: ENV {name} looks like a secret"


def places_are_absolute(stages: list[Stage], _context: BuildContext) -> Iterator[str]:
    """Where things are does not depend on steps before."""
    for stage in stages:
        for step in stage.steps:
            if step.name == "WORKDIR" and not step.text.startswith("/"):
                yield f"line {step.line}: WORKDIR {step.text} is relative"


def the_context_has_what_is_copied(stages: list[Stage], context: BuildContext) -> Iterator[str]:
    """.dockerignore lets through what is copied, and nothing else."""
    if not (context.folder / IGNORE_FILE).exists():
        yield f"there is no {IGNORE_FILE}, so a build sends everything"
    copied = set()
    for stage in stages:
        for step in stage.steps:
            if step.name != "COPY" or step.copied()[0]:
                continue
            for source in step.copied()[1]:
                files = context.files(source)
                copied |= set(files)
                if not files:
                    yield f"line {step.line}: {source} is not there, or {IGNORE_FILE} hides it"
    for path in context.files("."):
        if path not in copied and path.name not in ("Dockerfile", IGNORE_FILE):
            yield f"{path} is sent to the build and not copied"


def _commands(stages: list[Stage]) -> Iterator[tuple[Step, str]]:
    for stage in stages:
        for step in stage.steps:
            if step.name == "RUN":
                for command in step.text.split("&&"):
                    yield step, command


RULES: Final[tuple[Rule, ...]] = (
    base_is_pinned,
    user_is_not_root,
    nothing_runs_after_user,
    entry_point_is_no_shell,
    it_is_built_apart,
    no_cache_is_left,
    installers_are_gone,
    nothing_is_fetched,
    no_secret_is_kept,
    places_are_absolute,
    the_context_has_what_is_copied,
)
