"""All checks of a policy that was just loaded: what is wrong with it, before it is asked anything.

Called by `loading`. Reads the files that the policy's functions are written in and runs none of
them. Every problem is one sentence with file and line.
"""

import ast
import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MethodType, ModuleType
from typing import Any

from mooring.framework import foreign, hook
from mooring.framework.policy import Policy
from mooring.framework.policy_checks.added_attributes import added_attributes
from mooring.framework.policy_checks.attribute_look import attribute_problems, roles_of
from mooring.framework.policy_checks.attribute_types import KnownType
from mooring.framework.policy_checks.decorators import decorator_problems
from mooring.framework.policy_checks.scopes import FunctionNode
from mooring.framework.policy_checks.signatures import (
    HOOKS,
    Signed,
    called_with,
    signature_problem,
)
from mooring.framework.policy_checks.sources import Problem, Sources, code_of, neighbours
from mooring.framework.rules import Rule


def policy_problems(policy: Policy, module: ModuleType, place: str) -> list[Problem]:
    """Everything that is wrong with a policy, in the order in which it is written.

    Args:
        policy: the policy.
        module: where it was found.
        place: how the user named that.
    """
    own_file = str(getattr(module, "__file__", None) or "")
    sources = Sources(place)
    own = sources.source(own_file) if own_file else None
    found = decorator_problems(own, vars(module)) if own is not None else []
    if found:
        return found
    file = sources.shown(own_file or place)
    if not all(isinstance(rule, Rule) for rule in policy.rules):
        return [Problem(file, 0, f"policy {policy.name!r} has been modified from outside; {_NONE}")]
    functions = list(policy_functions(policy))
    if not functions:
        line = _made_in(own.tree, policy, vars(module)) if own is not None else 0
        return [Problem(file, line, f"policy {policy.name!r} has no functions; {_NONE}")]
    well_signed = []
    for signed in functions:
        problem = signature_problem(signed)
        if problem:
            where = sources.place_of(signed.function)
            found.append(Problem(where.file, where.line, problem))
        else:
            well_signed.append(signed)
    found += _unknown_attributes(well_signed, sources, {own_file: vars(module)})
    return sorted(dict.fromkeys(found))


_NONE = "decorate one with @policy.filter or @policy.score, or add a plugin with policy.add"


def hook_problem(plugin: hook.Hook) -> str:
    """What is wrong with the signature of a plugin's hooks, and where; empty if nothing is."""
    if not foreign.is_foreign(type(plugin)):
        return ""
    sources = Sources()
    for signed in _hooks(plugin):
        problem = signature_problem(signed)
        if problem:
            where = sources.place_of(signed.function)
            return str(Problem(where.file, where.line, problem)) if where.line else problem
    return ""


def policy_functions(policy: Policy) -> Iterator[Signed]:
    """A policy's functions, and the hooks of its plugins."""
    plugins: dict[int, hook.Hook] = {id(one): one for one in policy.plugins}
    for rule in policy.rules:
        owner = getattr(rule.function, "__self__", None)
        if isinstance(owner, hook.Hook):
            plugins[id(owner)] = owner
        else:
            yield Signed(rule.kind, rule.name, rule.function)
    for plugin in plugins.values():
        yield from _hooks(plugin)


def _hooks(plugin: hook.Hook) -> Iterator[Signed]:
    """The hooks that a plugin implements itself."""
    name = hook.plugin_name(plugin)
    for method, kind in HOOKS.items():
        if not isinstance(plugin, kind):
            continue
        function = None
        with contextlib.suppress(Exception):  # it may do anything; whoever asks it will say so
            function = getattr(plugin, method)
        if callable(function) and foreign.is_foreign(implementation(function)):
            yield Signed(method, name, function)


def implementation(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method without its object: whose code it is, and not whose object, is asked."""
    return function.__func__ if isinstance(function, MethodType) else function


def known_parameters(signed: Signed, definition: FunctionNode) -> dict[str, KnownType] | None:
    """What a function's parameters hold; None if some may be given before it is called.

    Args:
        signed: the function, which may also be a partial or an object.
        definition: where it is written.
    """
    if getattr(implementation(signed.function), "__code__", None) is not code_of(signed.function):
        return None
    types, method = called_with(signed.kind).types, isinstance(signed.function, MethodType)
    return roles_of(definition, types, method=method)


def _unknown_attributes(
    functions: list[Signed], sources: Sources, names: dict[str, Mapping[str, Any]]
) -> Iterator[Problem]:
    roles: dict[str, dict[ast.AST, dict[str, KnownType]]] = {one: {} for one in names if one}
    for signed in functions:
        code, definition = code_of(signed.function), sources.place_of(signed.function).definition
        if code is None or definition is None:
            continue
        names.setdefault(
            code.co_filename, getattr(implementation(signed.function), "__globals__", {})
        )
        in_file = roles.setdefault(code.co_filename, {})
        given = known_parameters(signed, definition)
        if given is None:
            continue
        before = in_file.get(definition, given)
        # One function of two kinds may get two things in one place.
        in_file[definition] = {one: what for one, what in given.items() if before.get(one) == what}
    for file, in_file in roles.items():
        source = sources.source(file)
        near = map(sources.source, map(str, neighbours(Path(file)))) if source is not None else ()
        trees = [one.tree for one in (source, *near) if one is not None]
        added = added_attributes(trees, names[file])
        if source is not None and added is not None:
            yield from attribute_problems(source, in_file, names[file], added)


def _made_in(tree: ast.Module, policy: Policy, names: Mapping[str, Any]) -> int:
    """The line in which the policy is made; 0 if it cannot be told."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for target in node.targets:
                if isinstance(target, ast.Name) and names.get(target.id) is policy:
                    return node.lineno
    return 0
