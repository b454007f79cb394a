"""Which functions of a policy read what only somebody who watches the cluster's pods knows.

For a warning before such a function fails: `extender.policy_warnings` gives it. Only what a look at
the code can plainly tell is found; calls of other functions are not followed.
"""

import ast
import contextlib
from collections.abc import Mapping
from typing import Any, Final

from mooring.framework.nodes import Nodes
from mooring.framework.policy import Policy
from mooring.framework.policy_checks.attribute_look import AttributeLook, Roles
from mooring.framework.policy_checks.policy_check import implementation, known_parameters
from mooring.framework.policy_checks.signatures import Signed
from mooring.framework.policy_checks.sources import Sources
from mooring.state.node_info import NodeInfo

_USAGE: Final = ("used", "free", "pods")


def usage_reads(policy: Policy) -> list[str]:
    """What filters, scores and preempts read of a node's usage, such as ``filter 'f' reads ...``.

    What a function reads where it catches errors, or where it may never come, is not told.
    """
    sources = Sources()
    found = []
    for rule in (*policy.filters, *policy.scores, *policy.preempts):
        definition = sources.place_of(rule.function).definition
        signed = Signed(rule.kind, rule.name, rule.function)
        given = known_parameters(signed, definition) if definition is not None else None
        if definition is None or given is None:
            continue
        names = getattr(implementation(rule.function), "__globals__", {})
        look = _UsageLook({definition: given}, names)
        # An expression may have thousands of parts.
        with contextlib.suppress(RecursionError):
            look.visit(definition)
        if look.reads:
            found.append(f"{rule.kind} {rule.name!r} reads {' and '.join(look.reads)}")
    return found


class _UsageLook(AttributeLook):
    """Collects what is read, each once, as it is written."""

    def __init__(self, roles: Roles, names: Mapping[str, Any]) -> None:
        super().__init__(roles, names)
        self.reads: dict[str, None] = {}

    def read(self, kind: type, node: ast.Attribute) -> None:
        if issubclass(kind, NodeInfo | Nodes) and node.attr in _USAGE:
            self.reads[ast.unparse(node)] = None
