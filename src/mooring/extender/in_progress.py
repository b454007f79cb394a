"""What a thread is doing: in which function of the policy it is, for which pod and node.

Read from the stack by another thread, so that asking a function costs nothing more. Names a
function that does not return; never used while functions are asked in the ordinary way.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from mooring.framework.binding import Binding
from mooring.framework.rules import Rule
from mooring.model.node import Node
from mooring.model.pod import Pod


@dataclass(frozen=True)
class InProgress:
    """A function that has not returned yet.

    Attributes:
        rule: the function.
        pod: the pod it was asked about, as ``namespace/name``; may be empty.
        node: the node it was asked about; empty if it decides all at once.
        line: where it is in the policy, as ``file:line``; may be empty.
    """

    rule: Rule
    pod: str = ""
    node: str = ""
    line: str = ""

    def __str__(self) -> str:
        return f"{self.rule.kind} {self.rule.name!r}{f' on node {self.node}' if self.node else ''}"

    @property
    def where(self) -> str:
        """The pod and the line, as far as they are known, to be put behind a sentence."""
        parts = [f"pod {self.pod}" if self.pod else "", f"at {self.line}" if self.line else ""]
        known = ", ".join(part for part in parts if part)
        return f" ({known})" if known else ""


def in_progress(thread_id: int | None) -> InProgress | None:
    """The function that a thread is in; None if it is in none."""
    frame = sys._current_frames().get(thread_id) if thread_id is not None else None  # noqa: SLF001
    innermost = frame
    while frame is not None:
        names = frame.f_code.co_varnames
        if names[:1] == ("self",) and frame.f_code.co_filename == _RULES:
            found = frame.f_locals
            if isinstance(found.get("self"), Rule):
                return _described(found, innermost, frame)
        frame = frame.f_back
    return None


_RULES = Rule.ask_each.__code__.co_filename


def _described(found: dict[str, Any], frame: FrameType | None, end: FrameType) -> InProgress:
    rule: Rule = found["self"]
    pod, node, binding = found.get("pod"), found.get("node"), found.get("binding")
    nodes, answers = found.get("nodes"), found.get("answers")
    name = node.name if isinstance(node, Node) else ""
    if not rule.plural and isinstance(answers, list) and nodes and len(answers) < len(nodes):
        name = nodes[len(answers)].name
    key = pod.key if isinstance(pod, Pod) else ""
    if isinstance(binding, Binding):
        key, name = binding.key, binding.node_name
    return InProgress(rule, key, name, _line(rule, frame, end))


def _line(rule: Rule, frame: FrameType | None, end: FrameType) -> str:
    """The innermost line in the policy's own file, or else the innermost of all."""
    own = getattr(getattr(rule.function, "__code__", None), "co_filename", None)
    first = ""
    while frame is not None and frame is not end:
        line = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        if frame.f_code.co_filename == own:
            return line
        first = first or line
        frame = frame.f_back
    return first
