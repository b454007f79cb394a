"""Decorators that are none: ``@policy.filters``, or one with an option that it does not have.

Python stops at such a line with an error about lists or attributes; here it becomes a sentence
about the policy.
"""

import ast
import difflib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mooring.framework.policy import Policy
from mooring.framework.policy_checks.scopes import FUNCTION_NODES
from mooring.framework.policy_checks.sources import Problem, Source

DECORATORS: Final = ("filter", "filter_nodes", "score", "score_nodes", "preempt", "bind")
#: What people call them elsewhere: in kube-scheduler's old configuration and in the extender API.
_OTHER_WORDS: Final = {
    "predicate": "filter", "prioritize": "score", "priority": "score", "preemption": "preempt",
    "binding": "bind", "rule": "filter",
}  # fmt: skip


def decorator_problems(source: Source, names: Mapping[str, Any]) -> list[Problem]:
    """The decorators in a file that look like a policy's and are not.

    Args:
        source: the file.
        names: the names of the module, as far as it ran.
    """
    return [
        Problem(source.file, line, text) for line, text in _wrong_decorators(source.tree, names)
    ]


def _wrong_decorators(tree: ast.Module, names: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, (*FUNCTION_NODES, ast.ClassDef)):
            continue
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            path = ast.unparse(call.func if call is not None else decorator).split(".")
            owner, *parts = path
            # A policy's own class may have decorators of its own.
            if not parts or type(names.get(owner)) is not Policy:
                continue
            if len(parts) > 1 or parts[0] not in DECORATORS:
                yield decorator.lineno, _no_decorator(owner, parts)
            elif call is not None and (wrong := _wrong_option(call, parts[0])):
                yield decorator.lineno, f"@{owner}.{parts[0]} has no option {wrong}"


def _no_decorator(owner: str, parts: list[str]) -> str:
    if parts == ["add"]:
        advice = f"write {owner}.add(...) below the class, with an instance of it"
    else:
        advice = f"did you mean @{owner}.{_meant(parts[0])}?"
        if not _meant(parts[0]):
            listed = ", ".join(f"@{owner}.{one}" for one in DECORATORS)
            advice = f"the decorators are {listed}"
    return f"@{owner}.{'.'.join(parts)} is not a decorator; {advice}"


def _meant(name: str) -> str:
    for word in (name, name.removesuffix("s"), name.removesuffix("ies") + "y"):
        if word in DECORATORS:
            return word
        if word in _OTHER_WORDS:
            return _OTHER_WORDS[word]
    near = difflib.get_close_matches(name.lower(), DECORATORS, n=1, cutoff=0.6)
    return near[0] if near else ""


def _wrong_option(call: ast.Call, kind: str) -> str:
    """The first keyword that a decorator does not know, with those that it does."""
    known = list(inspect.signature(getattr(Policy, kind)).parameters)[2:]
    wrong = [one.arg for one in call.keywords if one.arg is not None and one.arg not in known]
    if not wrong:
        return ""
    near = difflib.get_close_matches(wrong[0], known, n=1, cutoff=0.6)
    advice = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
    return f"{wrong[0]!r}; {advice}"
