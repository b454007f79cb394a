"""Attributes that a policy's files may give to pods and nodes, or look for before they read them.

For the static look at attributes: what is named here is taken for right. Python can add an
attribute in many ways; whoever uses one of the general ways may have added any.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mooring.framework import foreign
from mooring.framework.policy_checks.attribute_types import CLOSED

#: With these one can give an object attributes that its class does not have.
_ATTACHING: Final = frozenset(("__dict__", "vars", "setattr", "force_setattr", "__setattr__"))
#: Who calls one of these with a name asks whether there is such an attribute.
_ASKING: Final = frozenset(("hasattr", "getattr", "getattr_static", "attrgetter"))


def added_attributes(trees: Iterable[ast.Module], names: Mapping[str, Any]) -> set[str] | None:
    """The attributes that files add to a class, or ask for by name; None if it may be any.

    Args:
        trees: the policy's own file and its neighbours.
        names: the names of the policy's module.
    """
    found = _of_own_classes(names)
    for tree in trees:
        if any(_name(node) in _ATTACHING for node in ast.walk(tree)):
            return None
        found.update(_added(tree))
    return None if "__getattr__" in found else found


def _added(tree: ast.Module) -> Iterator[str]:
    texts, any_text = [], False
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
                yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
        elif isinstance(node, ast.Compare):
            if any(
                isinstance(one, ast.Call) and _name(one.func) == "dir" for one in ast.walk(node)
            ):
                yield from _texts(node)
        elif isinstance(node, ast.Call) and _name(node.func) in _ASKING:
            yield from _texts(node)
            named = node.args[-1:] if _name(node.func) == "attrgetter" else node.args[1:2]
            any_text = any_text or not all(isinstance(one, ast.Constant) for one in named)
    if any_text:  # the name is asked for elsewhere: it may be any text of this file
        yield from texts


def _texts(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield from part.value.split(".")


def _name(node: ast.AST) -> object:
    return getattr(node, "id", None) or getattr(node, "attr", None)


def _of_own_classes(names: Mapping[str, Any]) -> set[str]:
    """What the classes have that a module derives from ours."""
    found: set[str] = set()
    for one in names.values():
        if isinstance(one, type) and issubclass(one, CLOSED) and foreign.is_foreign(one):
            found.update(name for kind in one.__mro__ for name in vars(kind))
    return found
