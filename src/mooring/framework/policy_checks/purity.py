"""Whether a policy's function reads nothing but its arguments, so that its answers can be kept.

A look at the code of the very function that will be called: it may use its parameters, variables of
its own, constants, a few builtins, mooring's verdicts, and functions of which the same is true.
Conservative: whatever is not plain is taken for something that may change, and then the function is
asked every time. Nothing is run. Called when a policy becomes a plugin, and by ``moor check``.
"""

import ast
import functools
from collections.abc import Callable, Mapping
from types import CellType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple, cast

from mooring.framework import hook
from mooring.framework.policy_checks import scopes
from mooring.framework.policy_checks.pure_body import PureBody
from mooring.framework.policy_checks.pure_expressions import Lookup, NotPureError
from mooring.framework.policy_checks.pure_reads import (
    DECLARED,
    Holds,
    Read,
    is_constant,
    may_have_helper,
)
from mooring.framework.policy_checks.sources import Sources
from mooring.framework.rules import FilterRule, Rule, ScoreRule

#: How deep functions may call each other.
_DEEPEST: Final = 4
#: What a name stands for that has no value.
_MISSING: Final = object()


class Pin(NamedTuple):
    """Something that a function uses and that must stay what it is.

    Attributes:
        look: finds what it is now.
        value: what it was.
    """

    look: Callable[[], object]
    value: object


class Purity(NamedTuple):
    """What is known of one function.

    Attributes:
        reads: what it reads of the pod; None if its answers cannot be kept.
        pins: what else it uses, each thing once.
        why: why they cannot be kept, in a few words.
    """

    reads: frozenset[Read] | None
    pins: Mapping[object, Pin] = {}
    why: str = ""


def rule_purity(rule: Rule, sources: Sources) -> Purity:
    """Whether the answers of a filter or score can be kept."""
    if not isinstance(rule, FilterRule | ScoreRule) or rule.plural:
        return Purity(None, why="it gets all nodes at once")
    if isinstance(getattr(rule.function, "__self__", None), hook.Hook):
        return Purity(None, why="it belongs to a plugin")
    proof = function_purity(rule.function, sources)
    return Purity(DECLARED) if proof.reads is None and rule.pure else proof


def function_purity(function: Callable[..., Any], sources: Sources) -> Purity:
    """Whether a function of ``(pod, node)`` reads nothing but its arguments."""
    proof = _Proof(sources)
    try:
        answer = proof.call(function, (Holds.POD, Holds.NODE))
        if answer is not Holds.VALUE:
            raise NotPureError(f"it returns {answer.value}")
    except NotPureError as error:
        return Purity(None, why=str(error))
    except RecursionError:  # an expression may have thousands of parts
        return Purity(None, why="it is too long to be followed")
    return Purity(frozenset(proof.reads), proof.pins)


class _Proof:
    """Follows one function and those that it calls, each once for what it is given.

    Attributes:
        reads: what they read of the pod.
        pins: what else they use, each thing once.
    """

    def __init__(self, sources: Sources) -> None:
        self.reads: set[Read] = set()
        self.pins: dict[object, Pin] = {}
        self._sources = sources
        self._depth = 0
        self._returned: dict[tuple[FunctionType, tuple[Holds, ...]], Holds] = {}

    def call(self, function: object, given: tuple[Holds, ...]) -> Holds:
        """What a function returns if it is called with these."""
        if type(function) is not FunctionType:
            raise NotPureError("it is not a function written in Python")
        if (function, given) in self._returned:
            return self._returned[function, given]
        if self._depth >= _DEEPEST:
            raise NotPureError("functions call each other too deeply")
        source = self._sources.source(function.__code__.co_filename)
        definition = self._sources.place_of(function).definition
        # The file may be another one by now.
        if (
            source is None
            or not isinstance(definition, ast.FunctionDef)
            or function.__code__ not in source.codes
        ):
            raise NotPureError("its source is not at hand")
        parameters = self._parameters(function, definition, given)
        self.pin(function, "__code__", functools.partial(getattr, function, "__code__"))
        self._depth += 1
        names = _Names(function, source.bound, self)
        found = PureBody(definition, parameters, names, self.reads).follow()
        self._depth -= 1
        self._returned[function, given] = found
        return found

    def _parameters(
        self, function: FunctionType, definition: ast.FunctionDef, given: tuple[Holds, ...]
    ) -> dict[str, Holds]:
        args = definition.args
        names = [one.arg for one in scopes.parameters_of(definition)]
        defaults = self.pin(
            function, "__defaults__", functools.partial(getattr, function, "__defaults__")
        )
        values = defaults if isinstance(defaults, tuple) else ()
        if (
            args.vararg
            or args.kwarg
            or args.kwonlyargs
            or not len(names) - len(values) <= len(given) <= len(names)
        ):
            raise NotPureError("its parameters cannot be followed")
        if not is_constant(values):
            raise NotPureError("a default value can change")
        return dict(zip(names, (*given, *[Holds.VALUE] * len(values)), strict=False))

    def pin(self, owner: object, name: str, look: Callable[[], object]) -> object:
        """What something is that has to stay so.

        Args:
            owner: what has it; it lives as long as the function.
            name: its name there.
            look: finds it.
        """
        return self.pins.setdefault((id(owner), name), Pin(look, look())).value


class _Names(Lookup):
    """What the names stand for that a function does not bind itself.

    Args:
        function: the function.
        bound: how often each name of its module is bound there.
        proof: takes what is found.
    """

    def __init__(self, function: FunctionType, bound: Mapping[str, int], proof: _Proof) -> None:
        code = function.__code__
        self.own = frozenset((*code.co_varnames, *code.co_cellvars))
        self._function = function
        self._bound = bound
        self._proof = proof

    def find(self, name: str) -> object:
        function, pin = self._function, self._proof.pin
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        if name in cells:
            cell = cells[name]
            return pin(cell, name, functools.partial(_contents, cell))
        # In a class, a name with two underscores stands for another one.
        changes = name.startswith("__")
        names = function.__globals__
        found = pin(names, name, functools.partial(names.get, name, _MISSING))
        if found is _MISSING:
            # Which builtins a function uses is settled when it is made.
            names = cast("Any", function).__builtins__  # mypy knows it now and then
            found = pin(names, name, functools.partial(names.get, name, _MISSING))
        elif self._bound.get(name) != 1:
            changes = True
        if changes or found is _MISSING:
            raise NotPureError(f"{name} can change")
        return found

    def member(self, module: ModuleType, name: str) -> object:
        if not may_have_helper(module, name):
            return None
        return self._proof.pin(module, name, functools.partial(getattr, module, name, None))

    def call(self, function: object, given: tuple[Holds, ...]) -> Holds:
        if type(function) is not FunctionType or function.__globals__ is not (
            self._function.__globals__
        ):
            raise NotPureError
        return self._proof.call(function, given)


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # the variable has no value, or none yet
        return _MISSING
