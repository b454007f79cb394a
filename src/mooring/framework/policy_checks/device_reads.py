"""Whether a policy reads the devices of nodes, so that devices and claims have to be watched.

A look at the files in which its functions are written. Unlike other looks it rather finds too much:
what is not watched is not known, and what is watched needlessly costs little. Where it errs, the
policy says so itself (`Policy.devices`).
"""

import ast
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from mooring.framework.policy import Policy
from mooring.framework.policy_checks.policy_check import implementation, policy_functions
from mooring.framework.policy_checks.sources import Sources, code_of

_DEVICES: Final = "devices"
#: What a node is called that is a part of something, such as ``binding.node``.
_NODES: Final = ("node", "nodes")
_OWN: Final = ("self", "cls")


def reads_devices(policy: Policy) -> bool:
    """Whether the functions of a policy need to know the devices of nodes."""
    if policy.devices is not None:
        return policy.devices
    files: dict[str, Mapping[str, Any]] = {}
    for one in policy_functions(policy):
        code = code_of(one.function)
        if code is not None:
            names = getattr(implementation(one.function), "__globals__", {})
            files.setdefault(code.co_filename, names)
    sources = Sources()
    for file, names in files.items():
        source = sources.source(file)
        if source is not None and any(_is_read(one, names) for one in ast.walk(source.tree)):
            return True
    return False


def _is_read(node: ast.AST, names: Mapping[str, Any]) -> bool:
    """Whether this is ``x.devices``, where x may be a node or several."""
    if not isinstance(node, ast.Attribute) or node.attr != _DEVICES:
        return False
    owner = node.value
    if isinstance(owner, ast.Name):
        return owner.id not in _OWN and not isinstance(names.get(owner.id), ModuleType)
    if isinstance(owner, ast.Attribute):
        return owner.attr in _NODES
    return isinstance(owner, ast.Subscript | ast.Call)
